// What the log-in of a remote server stands on: where grants are kept, and how a person is brought to a log-in page and back.

/** One log-in at one server: the same resource with another issuer or account is another. */
export interface GrantKey {
  readonly issuer: string;
  /** `resourceOf` the server's URL, whatever its metadata calls it: it must be known before anything is asked. */
  readonly resource: string;
  /** Which of several log-ins at the server; `default` unless the configuration names one. */
  readonly account: string;
}

/** How Tenon is known to an authorization server. */
export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** Milliseconds since the epoch; absent when it does not expire. */
  readonly secretExpiresAtMs?: number;
  readonly redirectUris?: readonly string[];
  /** `token_endpoint_auth_method`. */
  readonly authMethod?: string;
}

/** What a log-in brought, with all that a refresh needs: no discovery comes before the next call. */
export interface Grant {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Milliseconds since the epoch, both: when it ends, and when it was given, so that a short life is not renewed all the time. */
  readonly expiresAtMs?: number;
  readonly obtainedAtMs?: number;
  /** What was granted, or asked for where the server did not say. */
  readonly scope?: string;
  readonly client: OAuthClient;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  /** The `resource` parameter of every token request (RFC 8707); absent for servers older than that. */
  readonly resourceIndicator?: string;
  /** PEM: the key the tokens are bound to (DPoP); without it they are worth nothing. */
  readonly dpopKey?: string;
  /** A scope some call wanted and this log-in lacks: the next log-in asks for it too. */
  readonly missingScope?: string;
  /** Of a log-in at an identity provider: what says who the person is, and `expiresAtMs` is when it ends. Only for that provider. */
  readonly idToken?: string;
  /** What the authorization server calls itself, where an identity provider vouches for the person to it. */
  readonly audience?: string;
}

/** Kept across processes. Whoever changes a grant holds it alone meanwhile, also against other processes. */
export interface GrantStore {
  read(key: GrantKey): Promise<Grant | undefined>;
  /** The keys of all grants for a resource and an account, the newest first: normally none or one. */
  find(resource: string, account: string): Promise<readonly GrantKey[]>;
  /**
   * `change` is given what is kept now and returns what shall be kept: the same object for no change, undefined to remove
   * it. Of several who change the same grant one comes after the other, and each sees what the one before it left.
   * When `change` rejects, nothing changes and the rejection is passed on.
   */
  update(
    key: GrantKey,
    change: (current: Grant | undefined) => Promise<Grant | undefined>,
    signal: AbortSignal,
  ): Promise<Grant | undefined>;
  /** A dynamic registration. It is asked for anew when none of its redirect URIs is the one at hand. */
  readClient(issuer: string): Promise<OAuthClient | undefined>;
  writeClient(issuer: string, client: OAuthClient | undefined): Promise<void>;
  /**
   * Calls back after a grant for the resource and account may have appeared, changed or gone, also by another process. It
   * may call too often and never keeps the process alive. Without it, only the next call finds a new log-in.
   */
  watch?(resource: string, account: string, onChange: () => void): { close(): void };
}

/** What is known of the log-in before it begins. */
export interface LoginStart {
  /** The server, as the person calls it. */
  readonly server: string;
  readonly issuer: string;
  /** Redirect URIs the authorization server knows already: one of these spares a registration. */
  readonly redirectUris: readonly string[];
}

/** The person is sent to a page, which sends them back to a redirect URI. The page is never fetched, only shown. */
export interface RedirectWay {
  readonly kind: "redirect";
  /** Opens whatever the answer comes back through. */
  start(start: LoginStart, signal: AbortSignal): Promise<LoginAttempt>;
}

export interface LoginAttempt extends AsyncDisposable {
  readonly redirectUri: string;
  /**
   * Shows the URL and waits for what came back to `redirectUri`: its query, as it is. `state` and `iss` in it are checked by
   * whoever calls; a listener that others can reach should all the same ignore what does not carry the URL's `state`.
   */
  finish(url: URL, signal: AbortSignal): Promise<URLSearchParams>;
}

/** What a person types in on another device (RFC 8628). */
export interface DevicePrompt {
  readonly server: string;
  readonly userCode: string;
  readonly verificationUri: URL;
  /** The same with the code in it, where the server offers that. */
  readonly verificationUriComplete?: URL;
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** The person opens a page on any device and types a code; Tenon asks until they have. */
export interface DeviceWay {
  readonly kind: "device";
  show(prompt: DevicePrompt): Promise<void>;
}

/** How an authorization is brought to a person. */
export type LoginWay = RedirectWay | DeviceWay;

/** Who vouches for the person to the authorization servers of an enterprise. Secrets of it go nowhere else. */
export interface IdentityProvider {
  /** Without it there is a token endpoint. */
  readonly issuer?: string;
  /** Stronger than what the issuer says of itself. */
  readonly tokenEndpoint?: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly authMethod?: string;
  /** Who the person is, by the provider's word; without it they log in there. */
  readonly idToken?: string;
}

/** What a server's entry says about its log-in, references filled in. */
export interface OAuthSettings {
  /** The only authorization server these credentials are for: whatever the server names instead never sees them. */
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** A client id metadata document (CIMD) to be known by instead of a registration. */
  readonly clientMetadataUrl?: string;
  readonly scopes?: readonly string[];
  /**
   * Two need no person: `client_credentials`, and `jwt_bearer`, which brings `assertion`, by which a workload is known
   * (RFC 7523). For `enterprise` the identity provider vouches for a person who is known to it.
   */
  readonly grant?: "authorization_code" | "client_credentials" | "jwt_bearer" | "enterprise";
  readonly idp?: IdentityProvider;
  readonly assertion?: string;
  /** PEM, for `private_key_jwt`. */
  readonly privateKey?: string;
  /** Of that key: `ES256` (unless given), `RS256` and their like. */
  readonly signingAlgorithm?: string;
  /** Which key it is (`kid`), where the server has several. */
  readonly keyId?: string;
  /** `token_endpoint_auth_method` of a client of one's own; chosen from what the server offers unless given. */
  readonly authMethod?: string;
  readonly callbackPort?: number;
}

/** What a connection is given to log in with. A server with a token or an `Authorization` header of its own never uses it. */
export interface OAuthOptions {
  readonly store: GrantStore;
  readonly account: string;
  /** Whose log-in at an identity provider is used, which serves all their servers; the account's own unless given. */
  readonly person?: string | undefined;
  readonly settings: OAuthSettings;
  /** What logs in to it on the command line; by its name unless given, which only servers of the configuration have there. */
  readonly command?: string | undefined;
  /** Given one, a connection begins a log-in by itself when the server asks for it; without, it says which command does. */
  readonly way?: LoginWay;
}
