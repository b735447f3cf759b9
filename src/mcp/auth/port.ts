// The types of log-ins to remote servers: settings, stored grants, and how a person reaches a log-in page.
import type { World } from "../../base/ports/world.js";

/** Identifies one log-in: the same resource with another issuer or account is another log-in. */
export interface GrantKey {
  readonly issuer: string;
  /** `resourceOf` the server's URL, not the name in its metadata: it must be known before any request. */
  readonly resource: string;
  /** Distinguishes several log-ins at one server; `default` unless configured. */
  readonly account: string;
}

/** A client registration of Tenon at an authorization server. */
export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** Milliseconds since the epoch; absent when it does not expire. */
  readonly secretExpiresAtMs?: number;
  readonly redirectUris?: readonly string[];
  /** `token_endpoint_auth_method`. */
  readonly authMethod?: string;
}

/** The tokens of a log-in, with everything a refresh needs, so that no discovery precedes the next call. */
export interface Grant {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Milliseconds since the epoch, as is the next. Together they give the lifetime, so short ones are not renewed constantly. */
  readonly expiresAtMs?: number;
  readonly obtainedAtMs?: number;
  /** The granted scope, or the requested one if the server did not say. */
  readonly scope?: string;
  readonly client: OAuthClient;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  /** The `resource` parameter of every token request (RFC 8707); absent for servers older than that. */
  readonly resourceIndicator?: string;
  /** PEM: the key the tokens are bound to (DPoP). */
  readonly dpopKey?: string;
  /** A scope that a call needed and this log-in lacks: the next log-in requests it too. */
  readonly missingScope?: string;
  /** ID token of a log-in at an identity provider, sent only to that provider; `expiresAtMs` is its expiry. */
  readonly idToken?: string;
  /** The issuer name of the authorization server, for assertions of an identity provider. */
  readonly audience?: string;
}

/**
 * Stores grants across processes. A grant is locked while it is changed, also against other processes.
 *
 * @example
 * const runtime = await createRuntime({ model, grants: myGrantStore });
 */
export interface GrantStore {
  read(key: GrantKey): Promise<Grant | undefined>;
  /** The keys of all grants for a resource and an account, the newest first: normally none or one. */
  find(resource: string, account: string): Promise<readonly GrantKey[]>;
  /**
   * `change` receives the stored grant and returns the new one: the same object for no change, undefined to remove it.
   * Concurrent changes of one grant run one after the other, and each sees the result of the previous one.
   * If `change` rejects, nothing is stored and `update` rejects with the same reason.
   */
  update(
    key: GrantKey,
    change: (current: Grant | undefined) => Promise<Grant | undefined>,
    signal: AbortSignal,
  ): Promise<Grant | undefined>;
  /** A dynamic registration. Tenon registers again if none of its redirect URIs fits. */
  readClient(issuer: string): Promise<OAuthClient | undefined>;
  writeClient(issuer: string, client: OAuthClient | undefined): Promise<void>;
  /**
   * Calls `onChange` after a grant for the resource and account may have changed, also in another process. It may call too
   * often and never keeps the process alive. Without it, only the next call finds a new log-in.
   */
  watch?(resource: string, account: string, onChange: () => void): { close(): void };
}

/** The facts known before a log-in begins. */
export interface LoginStart {
  /** The server, as the person calls it. */
  readonly server: string;
  readonly issuer: string;
  /** Redirect URIs that are registered already: using one of these saves a registration. */
  readonly redirectUris: readonly string[];
  /** Every answer of it says whose it is (`iss`, RFC 9207); one that does not is refused. */
  readonly namesIssuer?: true;
}

/** The person opens a page, which redirects to a redirect URI. Tenon shows the page and never fetches it. */
export interface RedirectWay {
  readonly kind: "redirect";
  /** Opens the listener for the redirect URI. */
  start(start: LoginStart, signal: AbortSignal): Promise<LoginAttempt>;
}

export interface LoginAttempt extends AsyncDisposable {
  readonly redirectUri: string;
  /**
   * Shows the URL and resolves with the query of the request to `redirectUri`. The caller checks `state` and `iss`; a
   * listener that others can reach should still ignore requests without the URL's `state`.
   */
  finish(url: URL, signal: AbortSignal): Promise<URLSearchParams>;
}

/** The code a person types on another device (RFC 8628). */
export interface DevicePrompt {
  readonly server: string;
  readonly userCode: string;
  readonly verificationUri: URL;
  /** The same page with the code in its URL, if the server offers one. */
  readonly verificationUriComplete?: URL;
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** The person opens a page on any device and types a code; Tenon polls until then. */
export interface DeviceWay {
  readonly kind: "device";
  show(prompt: DevicePrompt): Promise<void>;
}

export type LoginWay = RedirectWay | DeviceWay;

/** The identity provider of an enterprise. Its secrets are sent nowhere else. */
export interface IdentityProvider {
  /** Without an issuer, `tokenEndpoint` is set. */
  readonly issuer?: string;
  /** Takes precedence over the issuer's metadata. */
  readonly tokenEndpoint?: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly authMethod?: string;
  /** The ID token of the person; without it they log in at the provider. */
  readonly idToken?: string;
}

/** The log-in settings of a server's entry, with references resolved. */
export interface OAuthSettings {
  /** The only authorization server that may see these credentials, whichever one the server names. */
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The URL of a client ID metadata document (CIMD), used instead of a registration. */
  readonly clientMetadataUrl?: string;
  readonly scopes?: readonly string[];
  /**
   * `client_credentials` and `jwt_bearer` (RFC 7523, with `assertion`) need no person. With `enterprise` the identity
   * provider issues an assertion for a person who is logged in there.
   */
  readonly grant?: "authorization_code" | "client_credentials" | "jwt_bearer" | "enterprise";
  readonly idp?: IdentityProvider;
  readonly assertion?: string;
  /** PEM, for `private_key_jwt`. */
  readonly privateKey?: string;
  /** Algorithm of that key; `ES256` unless given. */
  readonly signingAlgorithm?: string;
  /** The `kid` of that key. */
  readonly keyId?: string;
  /** `token_endpoint_auth_method`; chosen from the methods the server offers unless given. */
  readonly authMethod?: string;
  readonly callbackPort?: number;
}

/** The log-in options of a connection. Not used for a server with a configured token or `Authorization` header. */
export interface OAuthOptions {
  readonly store: GrantStore;
  readonly account: string;
  /** The account of the log-in at the identity provider, shared by all servers; `account` unless given. */
  readonly person?: string | undefined;
  readonly settings: OAuthSettings;
  /** The command line that logs in; by the name of the server unless given. */
  readonly command?: string | undefined;
  /** If given, the connection starts a log-in when the server asks for one; otherwise its error names the command. */
  readonly way?: LoginWay;
}

export interface LoginOptions {
  readonly world: World;
  /** With a `way` if a person is to log in. */
  readonly oauth: OAuthOptions;
  /** As in the connection's options. */
  readonly allowHosts?: readonly string[];
  readonly urlSource?: "typed" | "project";
}

export interface LoggedIn {
  readonly key: GrantKey;
  readonly scope?: string;
  readonly expiresAtMs?: number;
  /** Whether it is renewed without the person. */
  readonly isRenewable: boolean;
}

export interface LogoutOptions extends Omit<LoginOptions, "oauth"> {
  readonly oauth: Omit<OAuthOptions, "way">;
}

/** The result for each stored log-in. */
export interface LoggedOut {
  readonly key: GrantKey;
  /** Whether the authorization server revoked the tokens. The grant is removed here in any case. */
  readonly revocation: "done" | "not_offered" | "failed";
  /** The reason of a failure. */
  readonly reason?: string;
}

/** Log-ins are stored under this form of the server's URL: no fragment, otherwise as the URL parser spells it. */
export function resourceOf(url: string): string {
  const parsed = new URL(url);
  parsed.hash = "";
  return parsed.href;
}

/** Whether tokens are requested without a page of the authorization server, now and for every renewal. */
export function needsNoPage({ grant = "authorization_code" }: OAuthSettings): boolean {
  return grant !== "authorization_code";
}

/** Whether a person may have to log in, at the authorization server or at the identity provider. */
export function isForPeople({ grant = "authorization_code", idp }: OAuthSettings): boolean {
  return grant === "authorization_code" || (grant === "enterprise" && idp?.idToken === undefined);
}

export function settingsSecrets({ clientSecret, privateKey, assertion, idp }: OAuthSettings): readonly string[] {
  const all = [clientSecret, privateKey, assertion, idp?.clientSecret, idp?.idToken];
  return all.filter((secret) => secret !== undefined);
}

/** Every secret of a grant. */
export function grantSecrets({ accessToken, refreshToken, client, dpopKey, idToken }: Grant): readonly string[] {
  return [accessToken, refreshToken, client.clientSecret, dpopKey, idToken].filter((secret) => secret !== undefined);
}
