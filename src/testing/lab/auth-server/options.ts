// The options of the lab's authorization server, for correct and for wrong behaviour; and its requests and answers.
import type { JsonObject } from "../../../base/json/json.js";

export type AuthEndpoint = "metadata" | "authorize" | "token" | "register" | "revoke" | "device" | "other";

export type ClientAuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** A client the server knows beforehand. */
export interface LabClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** What it must use at the token endpoint; `none` when left out and there is no secret, else `client_secret_basic`. */
  readonly authMethod?: ClientAuthMethod;
  /** Any when left out. The port of a loopback address does not count (RFC 8252). */
  readonly redirectUris?: readonly string[];
  /** PEM, for `private_key_jwt`. */
  readonly publicKey?: string;
}

/** An identity provider that another server trusts. */
export interface LabProvider {
  readonly issuer: string;
  /** PEM. */
  readonly publicKey: string;
}

/** Where a server of the lab is, and what it calls itself. */
export interface LabPlace {
  /** The address it listens at; 127.0.0.1 when left out. */
  readonly address?: string;
  /** The host name in every URL instead of that address; the test resolves it for the client. */
  readonly hostname?: string;
}

export interface AuthServerOptions extends LabPlace {
  /** The issuer is `<origin><this>`; empty when left out. */
  readonly issuerPath?: string;
  /** Where its metadata is found. Both when left out; none: clients have to guess. */
  readonly metadataAt?: readonly ("oauth" | "oidc")[];
  /** Laid over its metadata; null takes a field away. */
  readonly metadata?: JsonObject;
  /** `right`, `missing`, or the wrong one itself: what an authorization response says who it is from. */
  readonly iss?: string;
  /** `scopes_supported`, beyond which nothing is granted. Everything is when left out. */
  readonly scopes?: readonly string[];
  /** How long an access token holds. An hour when left out. */
  readonly accessTokenMs?: number;
  /** Whether it says `expires_in`. True when left out. */
  readonly saysExpiry?: boolean;
  /** `offline_access`: only where that scope was granted. `always` when left out. */
  readonly refreshTokens?: "always" | "offline_access" | "never";
  /** A refresh token is good for one refresh. True when left out. */
  readonly rotates?: boolean;
  /** Using a refresh token twice ends everything that came of its log-in, as the strict servers do. True when left out. */
  readonly reuseRevokes?: boolean;
  readonly clients?: readonly LabClient[];
  /** Dynamic registration. `secret` gives every client a secret. `open` when left out. */
  readonly registration?: "open" | "secret" | "none";
  /** Client ids that are https URLs: the documents by their URL. None are taken when left out. */
  readonly clientDocuments?: Readonly<Record<string, JsonObject>>;
  /** The resources tokens are given for. Any when left out. */
  readonly resources?: readonly string[];
  /** Refuses requests that name no resource. True when left out. */
  readonly requiresResource?: boolean;
  /** Who sits at the browser: whose account is logged in by the next approval. `alice` when left out. */
  readonly account?: string;
  /** The person says no. */
  readonly denies?: boolean;
  /** The device flow; the server has none when left out. */
  readonly device?: {
    readonly intervalSeconds?: number;
    /** It is approved at that poll, counted from 1. */
    readonly approvedAtPoll: number;
    /** Asks for more patience at the first poll. */
    readonly slowsDown?: boolean;
  };
  /** It is an identity provider: who logs in with the scope `openid` gets an ID token too, and may exchange it. */
  readonly identity?: {
    /** How long an ID token holds. An hour when left out. */
    readonly idTokenMs?: number;
    /** Whether a refresh brings a new one. True when left out. */
    readonly refreshes?: boolean;
    /** The audiences it issues assertions for. All when left out. */
    readonly audiences?: readonly string[];
    /** The client id in its assertions; the same as here when left out. */
    readonly clientIdThere?: string;
    /** The `issued_token_type` of what it gives in exchange; the right one when left out. */
    readonly issuedType?: string;
  };
  /** Identity providers it believes (ID-JAG). */
  readonly trusts?: readonly LabProvider[];
  /** How long an answer takes, by endpoint. */
  readonly delaysMs?: { readonly [endpoint in AuthEndpoint]?: number };
}

/** What a request brought: the query of a GET, the form of a POST. */
export type AuthParams = Readonly<Record<string, string>>;

export interface AuthAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  /** The OAuth error it is, and what the lab found, in words for the test. */
  readonly error?: string;
  readonly detail?: string;
}

/** One request as the server saw it. */
export interface AuthRecord {
  readonly endpoint: AuthEndpoint;
  readonly method: string;
  readonly path: string;
  readonly params: AuthParams;
  /** A registration, or whatever else came as JSON. */
  readonly json: JsonObject | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Undefined while it has not been answered, and for ever when the answer was a planted fault. */
  readonly answer: AuthAnswer | undefined;
}
