// The endpoints of the lab's authorization server: checks each request as a strict server does, and answers by its options.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { isLoopbackHost } from "../../../base/io/net-policy.js";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../../base/json/json.js";
import { isUrl } from "../../../base/text/url.js";
import type {
  AuthAnswer,
  AuthEndpoint,
  AuthParams,
  AuthRecord,
  AuthServerOptions,
  ClientAuthMethod,
  LabClient,
} from "./options.js";
import { isFor, type Permit, readJwt, signedJwt, TokenTable } from "./tokens.js";

/** The issuer, and the URL of each endpoint. */
export type AuthPlaces = Readonly<Record<"issuer" | (typeof NAMES)[number], string>>;

interface Code extends Permit {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly family: number;
  isUsed: boolean;
}

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const GRANT = "urn:ietf:params:oauth:grant-type:";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token";
const JAG_TYPE = "oauth-id-jag+jwt";
const JAG_SECONDS = 300;
const DEVICE_SECONDS = 600;
const HOUR_MS = 3_600_000;
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/u;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/u;
const METHODS: readonly ClientAuthMethod[] = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];
/** The endpoints at `/<name>`. */
const NAMES = ["authorize", "token", "register", "revoke", "device"] as const;

export function endpointOf(pathname: string): AuthEndpoint {
  const name = NAMES.find((one) => pathname === `/${one}`);
  return name ?? (pathname.includes("/.well-known/") ? "metadata" : "other");
}

/** An OAuth error answer: thrown by the checks, answered by `answer`. */
class Refusal extends Error {
  readonly answer: AuthAnswer;

  constructor(error: string, detail: string, status = 400) {
    super(detail);
    this.answer = { status, body: { error, error_description: detail }, error, detail };
  }
}

/** Throws the first problem that applies. */
function refuseIf(error: string, problems: readonly (readonly [boolean, string])[], status?: number): void {
  const found = problems.find(([applies]) => applies);
  if (found) throw new Refusal(error, found[1], status);
}

export class Endpoints {
  readonly tokens: TokenTable = new TokenTable();
  readonly #origin: string;
  readonly #currentOptions: () => AuthServerOptions;
  readonly #codes = new Map<string, Code>();
  readonly #devices = new Map<string, { readonly permit: Permit; polls: number }>();
  readonly #registered = new Map<string, LabClient>();
  /** Codes, verifiers and JWTs. */
  readonly #given: string[] = [];
  /** The ids of client assertions and identity assertions: each is accepted once. */
  readonly #seenIds = new Set<unknown>();
  #pair: { readonly privateKey: KeyObject; readonly publicKey: KeyObject } | undefined;

  constructor(origin: string, options: () => AuthServerOptions) {
    this.#origin = origin;
    this.#currentOptions = options;
  }

  get places(): AuthPlaces {
    const at = (path: string) => `${this.#origin}${path}`;
    const endpoints = { authorize: at("/authorize"), token: at("/token"), register: at("/register") };
    return { issuer: at(this.#options.issuerPath ?? ""), ...endpoints, revoke: at("/revoke"), device: at("/device") };
  }

  /** Everything that must not appear in any output or file. */
  get secrets(): readonly string[] {
    const clients = [...this.#registered.values(), ...(this.#options.clients ?? [])];
    const known = clients.flatMap(({ clientSecret }) => clientSecret ?? []);
    return [...this.tokens.all.map(({ token }) => token), ...this.#given, ...known];
  }

  /** PEM: verifies the JWTs of this server. */
  get publicKey(): string {
    return this.#keys.publicKey.export({ type: "spki", format: "pem" }).toString();
  }

  /** Registered clients become unknown, as after a lost database. */
  forgetClients(): void {
    this.#registered.clear();
  }

  answer(record: AuthRecord, pathname: string): AuthAnswer {
    const { endpoint, method, params } = record;
    if (endpoint === "other") return { status: 404, error: "not_found" };
    const isGet = endpoint === "metadata" || endpoint === "authorize";
    if (method !== (isGet ? "GET" : "POST")) return { status: 405, error: "method" };
    try {
      switch (endpoint) {
        case "metadata":
          return this.#metadata(pathname);
        case "authorize":
          return this.#authorize(params);
        case "token":
          return this.#token(params, record.headers["authorization"]);
        case "register":
          return this.#register(record.json);
        case "revoke":
          return this.#revoke(params["token"] ?? "");
        default:
          return this.#startDevice(params);
      }
    } catch (thrown) {
      if (thrown instanceof Refusal) return thrown.answer;
      throw thrown;
    }
  }

  idToken({ account, clientId }: Pick<Permit, "account" | "clientId">): string {
    const nowMs = Date.now();
    const expiresMs = nowMs + (this.#options.identity?.idTokenMs ?? HOUR_MS);
    const times = { iat: Math.floor(nowMs / 1_000), exp: Math.floor(expiresMs / 1_000) };
    return this.#sign({ iss: this.places.issuer, sub: account, aud: clientId, ...times }, "JWT");
  }

  get #options(): AuthServerOptions {
    return this.#currentOptions();
  }

  get #keys(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
    this.#pair ??= generateKeyPairSync("ec", { namedCurve: "P-256" });
    return this.#pair;
  }

  #sign(claims: JsonObject, type: string): string {
    return this.#give(signedJwt(claims, this.#keys.privateKey, type));
  }

  #give(secret: string): string {
    this.#given.push(secret);
    return secret;
  }

  #metadata(pathname: string): AuthAnswer {
    const { issuerPath = "", metadataAt = ["oauth", "oidc"], registration = "open", iss = "right" } = this.#options;
    const { scopes, clientDocuments, device, metadata = {} } = this.#options;
    const paths = {
      oauth: [`/.well-known/oauth-authorization-server${issuerPath}`],
      oidc: [`/.well-known/openid-configuration${issuerPath}`, `${issuerPath}/.well-known/openid-configuration`],
    };
    if (!metadataAt.flatMap((kind) => paths[kind]).includes(pathname)) return { status: 404, error: "not_found" };
    const { places } = this;
    const all: JsonObject = {
      issuer: places.issuer,
      authorization_endpoint: places.authorize,
      token_endpoint: places.token,
      revocation_endpoint: places.revoke,
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: METHODS,
      token_endpoint_auth_signing_alg_values_supported: ["ES256", "RS256", "EdDSA"],
      ...defined({
        registration_endpoint: registration === "none" ? undefined : places.register,
        device_authorization_endpoint: device && places.device,
        scopes_supported: scopes,
        client_id_metadata_document_supported: clientDocuments && true,
        authorization_response_iss_parameter_supported: iss === "right" || undefined,
      }),
      ...metadata,
    };
    return { status: 200, body: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)) };
  }

  /** The log-in page: approves at once, and redirects with a code. */
  #authorize(params: AuthParams): AuthAnswer {
    const { client_id: clientId = "", redirect_uri: redirectUri = "", code_challenge: challenge = "" } = params;
    const { iss = "right", denies, account = "alice" } = this.#options;
    const client = this.#find(clientId);
    // Without a known client and redirect URI it is not safe to redirect.
    if (!client) throw new Refusal("invalid_client", `no client "${clientId}"`);
    refuseIf("invalid_request", [
      [!mayRedirect(client, redirectUri), `redirect_uri "${redirectUri}" is not registered`],
    ]);
    const back = new URL(redirectUri);
    const { state } = params;
    const common = defined({ state, iss: iss === "missing" ? undefined : iss === "right" ? this.places.issuer : iss });
    const redirect = (answer: Record<string, string>, more: Partial<AuthAnswer> = {}): AuthAnswer => {
      for (const [name, value] of Object.entries({ ...common, ...answer })) back.searchParams.set(name, value);
      return { status: 302, headers: { location: back.href }, ...more };
    };
    try {
      const { response_type: type, code_challenge_method: method, resource } = params;
      refuseIf("unsupported_response_type", [[type !== "code", `response_type is ${type}`]]);
      refuseIf("invalid_request", [
        [method !== "S256", `code_challenge_method is ${method}, not S256`],
        [!CHALLENGE.test(challenge), "code_challenge is missing or malformed"],
      ]);
      this.#checkResource(resource);
      if (denies) return redirect({ error: "access_denied" }, { error: "access_denied", detail: "the person said no" });
      const permit = this.#permit(account, clientId, params);
      const code = this.#give(`code-${randomBytes(18).toString("base64url")}`);
      const family = this.tokens.newFamily();
      this.#codes.set(code, { ...permit, family, redirectUri, challenge, isUsed: false });
      return redirect({ code });
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      const { error = "", detail = "" } = thrown.answer;
      return redirect({ error, error_description: detail }, { error, detail });
    }
  }

  #token(params: AuthParams, authorization: string | string[] | undefined): AuthAnswer {
    const client = this.#authenticate(params, String(authorization ?? ""));
    this.#checkResource(params["resource"]);
    switch (params["grant_type"]) {
      case "authorization_code":
        return this.#fromCode(params, client);
      case "refresh_token":
        return this.#fromRefresh(params, client);
      case "client_credentials":
        return this.#fromCredentials(params, client);
      case `${GRANT}device_code`:
        return this.#fromDevice(params["device_code"] ?? "", client);
      case `${GRANT}token-exchange`:
        return this.#exchange(params, client);
      case `${GRANT}jwt-bearer`:
        return this.#fromAssertion(params, client);
      default:
        throw new Refusal("unsupported_grant_type", `no grant type "${params["grant_type"] ?? ""}"`);
    }
  }

  #fromCode(params: AuthParams, client: LabClient): AuthAnswer {
    const { code_verifier: verifier = "", redirect_uri: redirectUri, resource } = params;
    const code = this.#codes.get(params["code"] ?? "");
    if (verifier !== "") this.#give(verifier);
    if (!code) throw new Refusal("invalid_grant", "the code is unknown");
    if (code.isUsed) this.tokens.revokeWhere(({ family }) => family === code.family);
    refuseIf("invalid_grant", [[code.isUsed, "the code has been used before"]]);
    code.isUsed = true;
    const hash = createHash("sha256").update(verifier).digest("base64url");
    refuseIf("invalid_grant", [
      [code.clientId !== client.clientId, "the code was given to another client"],
      [code.redirectUri !== redirectUri, "redirect_uri is not that of the authorization"],
      [!VERIFIER.test(verifier), "code_verifier is missing or malformed"],
      [hash !== code.challenge, "code_verifier does not fit the challenge"],
      [code.resource !== resource, `resource is ${resource}, the authorization was for ${code.resource}`],
    ]);
    return this.#issue(code, code.family);
  }

  #fromRefresh(params: AuthParams, client: LabClient): AuthAnswer {
    const { rotates = true, reuseRevokes = true, identity } = this.#options;
    const token = params["refresh_token"] ?? "";
    const owner = this.tokens.find(token);
    refuseIf("invalid_grant", [
      [owner !== undefined && owner.clientId !== client.clientId, "the token is another client's"],
    ]);
    const isElsewhere = owner !== undefined && params["resource"] !== owner.resource;
    refuseIf("invalid_target", [[isElsewhere, "the token is for another resource"]]);
    const taken = this.tokens.takeRefresh(token, { rotates, reuseRevokes });
    if (typeof taken === "string") throw new Refusal("invalid_grant", taken);
    const scopes = params["scope"]?.split(" ") ?? taken.scopes;
    const isMore = scopes.some((scope) => !taken.scopes.includes(scope));
    refuseIf("invalid_scope", [[isMore, "a refresh cannot bring more than was granted"]]);
    const hasIdToken = identity?.refreshes !== false;
    return this.#issue({ ...taken, scopes }, taken.family, {
      hasIdToken,
      ...defined({ kept: rotates ? undefined : token }),
    });
  }

  #fromCredentials(params: AuthParams, { clientId, authMethod, clientSecret }: LabClient): AuthAnswer {
    const isPublic = authMethod === "none" || (authMethod === undefined && clientSecret === undefined);
    const text = "only a client with a secret or a key may have its own tokens";
    refuseIf("unauthorized_client", [[isPublic, text]]);
    return this.#issue(this.#permit(clientId, clientId, params), this.tokens.newFamily(), { hasRefresh: false });
  }

  #startDevice(params: AuthParams): AuthAnswer {
    const { device } = this.#options;
    const client = this.#find(params["client_id"] ?? "");
    if (!client) throw new Refusal("invalid_client", "no such client", 401);
    if (!device) return { status: 404, error: "no_device_flow" };
    const code = this.#give(`device-${randomBytes(18).toString("base64url")}`);
    this.#devices.set(code, { permit: this.#permit("", client.clientId, params), polls: 0 });
    const body = {
      device_code: code,
      user_code: randomBytes(4).toString("hex").toUpperCase(),
      verification_uri: `${this.#origin}/activate`,
      expires_in: DEVICE_SECONDS,
      interval: device.intervalSeconds ?? 1,
    };
    return { status: 200, body };
  }

  /** Approved at the poll that the options name. */
  #fromDevice(code: string, { clientId }: LabClient): AuthAnswer {
    const { denies, device, account = "alice" } = this.#options;
    const waiting = this.#devices.get(code);
    if (waiting?.permit.clientId !== clientId) throw new Refusal("invalid_grant", "the device code is unknown");
    waiting.polls += 1;
    if (denies) throw new Refusal("access_denied", "the person said no");
    refuseIf("slow_down", [[waiting.polls === 1 && device?.slowsDown === true, "more patience, please"]]);
    refuseIf("authorization_pending", [[waiting.polls < (device?.approvedAtPoll ?? 1), "not yet"]]);
    this.#devices.delete(code);
    return this.#issue({ ...waiting.permit, account }, this.tokens.newFamily());
  }

  /** RFC 8693: exchanges an ID token for an identity assertion (ID-JAG). */
  #exchange(params: AuthParams, { clientId }: LabClient): AuthAnswer {
    const { identity } = this.#options;
    if (!identity) throw new Refusal("unsupported_grant_type", "this server is no identity provider");
    const { subject_token: token = "", subject_token_type: type, requested_token_type: wanted } = params;
    const { audience = "", resource = "", scope = "" } = params;
    refuseIf("invalid_request", [
      [type !== ID_TOKEN, `subject_token_type is ${type}`],
      [wanted !== ID_JAG, `requested_token_type is ${wanted}`],
      [audience === "" || resource === "", "no audience or resource"],
    ]);
    const { isGenuine = false, claims = {} } = readJwt(token, this.publicKey) ?? {};
    const { issuer: iss } = this.places;
    refuseIf("invalid_grant", [
      [!isGenuine || claims["iss"] !== iss || typeof claims["sub"] !== "string", "the ID token is not of this server"],
      [!isFor(claims, [clientId]), "the ID token is for another client"],
      [!isInFuture(claims["exp"]), "the ID token has expired"],
    ]);
    const isAllowed = identity.audiences?.includes(audience) ?? true;
    refuseIf("invalid_target", [[!isAllowed, `nobody is vouched for to ${audience}`]]);
    const iat = Math.floor(Date.now() / 1_000);
    const jti = randomBytes(12).toString("base64url");
    const { clientIdThere = clientId } = identity;
    const about = { sub: claims["sub"] ?? "", aud: audience, client_id: clientIdThere, resource, scope };
    const body = {
      access_token: this.#sign({ iss, ...about, jti, iat, exp: iat + JAG_SECONDS }, JAG_TYPE),
      issued_token_type: identity.issuedType ?? ID_JAG,
      token_type: "N_A",
      expires_in: JAG_SECONDS,
    };
    return { status: 200, headers: { "cache-control": "no-store" }, body };
  }

  /** RFC 7523: accepts an identity assertion of a trusted provider, for this server and client, once. */
  #fromAssertion(params: AuthParams, { clientId }: LabClient): AuthAnswer {
    const { trusts = [] } = this.#options;
    const read = trusts.map((provider) => ({ provider, jwt: readJwt(params["assertion"] ?? "", provider.publicKey) }));
    const { provider, jwt } = read.find((one) => one.jwt?.isGenuine) ?? {};
    if (!provider || !jwt) throw new Refusal("invalid_grant", "the assertion is by nobody who is trusted here");
    const { header, claims } = jwt;
    const { iss, sub, aud, jti, resource, scope, client_id: forClient } = claims;
    refuseIf("invalid_grant", [
      [header["typ"] !== JAG_TYPE, `the assertion is a ${JSON.stringify(header["typ"])}`],
      [iss !== provider.issuer, `the assertion is by ${JSON.stringify(iss)}`],
      [!isFor(claims, [this.places.issuer]), `the assertion is for ${JSON.stringify(aud)}`],
      [forClient !== clientId, `the assertion is for the client ${JSON.stringify(forClient)}`],
      [!isInFuture(claims["exp"]), "the assertion has expired"],
      [jti === undefined || this.#seenIds.has(jti), "the assertion has been used before"],
    ]);
    this.#seenIds.add(jti);
    if (typeof sub !== "string" || typeof resource !== "string") {
      throw new Refusal("invalid_grant", "the assertion is about nobody");
    }
    const isElsewhere = params["resource"] !== undefined && params["resource"] !== resource;
    refuseIf("invalid_target", [[isElsewhere, "the assertion is for another resource"]]);
    const permit = this.#permit(sub, clientId, { scope: typeof scope === "string" ? scope : "", resource });
    return this.#issue(permit, this.tokens.newFamily(), { hasRefresh: false });
  }

  #issue(
    permit: Permit,
    family: number,
    { kept, hasRefresh = true, hasIdToken = true }: { kept?: string; hasRefresh?: boolean; hasIdToken?: boolean } = {},
  ): AuthAnswer {
    const { accessTokenMs = HOUR_MS, saysExpiry = true, refreshTokens = "always", identity } = this.#options;
    const { scopes } = permit;
    const isLasting =
      refreshTokens === "always" || (refreshTokens === "offline_access" && scopes.includes("offline_access"));
    const access = this.tokens.issue(permit, "access", family, accessTokenMs);
    const isNew = hasRefresh && isLasting && kept === undefined;
    const body: JsonObject = {
      access_token: access,
      token_type: "Bearer",
      scope: scopes.join(" "),
      ...defined({
        expires_in: saysExpiry ? Math.ceil(accessTokenMs / 1_000) : undefined,
        refresh_token: isNew ? this.tokens.issue(permit, "refresh", family) : kept,
        id_token: identity && hasIdToken && scopes.includes("openid") ? this.idToken(permit) : undefined,
      }),
    };
    return { status: 200, headers: { "cache-control": "no-store" }, body };
  }

  /** RFC 7009: an unknown token is no error; a refresh token revokes all tokens of its log-in. */
  #revoke(token: string): AuthAnswer {
    const found = this.tokens.find(token);
    this.tokens.revokeWhere((one) => one.family === found?.family && (found.kind === "refresh" || one.token === token));
    return { status: 200 };
  }

  #checkResource(resource: string | undefined): void {
    const { requiresResource = true, resources } = this.#options;
    refuseIf("invalid_target", [
      [resource === undefined && requiresResource, "the request names no resource"],
      [resource !== undefined && resources?.includes(resource) === false, `no tokens are given for "${resource}"`],
    ]);
  }

  #permit(account: string, clientId: string, { scope = "", resource }: AuthParams): Permit {
    const words = scope.split(" ").filter((word) => word !== "");
    return {
      account,
      clientId,
      scopes: words.filter((word) => this.#options.scopes?.includes(word) ?? true),
      resource,
    };
  }

  #find(clientId: string): LabClient | undefined {
    const { clients = [], clientDocuments = {} } = this.#options;
    const known = clients.find((client) => client.clientId === clientId) ?? this.#registered.get(clientId);
    const document = Object.hasOwn(clientDocuments, clientId) ? clientDocuments[clientId] : undefined;
    if (known || !document) return known;
    const authMethod = METHODS.find((name) => name === document["token_endpoint_auth_method"]) ?? "none";
    return { clientId, redirectUris: textsOf(document["redirect_uris"]), authMethod };
  }

  #register(json: JsonObject | undefined): AuthAnswer {
    const { registration = "open" } = this.#options;
    if (registration === "none") return { status: 404, error: "no_registration" };
    if (!json) throw new Refusal("invalid_client_metadata", "the body is no JSON object");
    const redirectUris = textsOf(json["redirect_uris"]);
    const grants = textsOf(json["grant_types"]);
    const needsRedirect = grants.length === 0 || grants.includes("authorization_code");
    refuseIf("invalid_redirect_uri", [[needsRedirect && redirectUris.length === 0, "no redirect_uris"]]);
    const asked = METHODS.find((method) => method === json["token_endpoint_auth_method"]) ?? "none";
    const authMethod = registration === "secret" && asked === "none" ? "client_secret_basic" : asked;
    const clientId = `client-${randomBytes(8).toString("hex")}`;
    const hasSecret = authMethod.startsWith("client_secret");
    const clientSecret = hasSecret ? `secret-${randomBytes(16).toString("base64url")}` : undefined;
    this.#registered.set(clientId, { clientId, redirectUris, authMethod, ...defined({ clientSecret }) });
    const secret = { client_secret: clientSecret, client_secret_expires_at: hasSecret ? 0 : undefined };
    const body = { ...json, client_id: clientId, token_endpoint_auth_method: authMethod, ...defined(secret) };
    return { status: 201, body };
  }

  /** The client that sent a request to the token endpoint. */
  #authenticate(params: AuthParams, authorization: string): LabClient {
    const [, encoded] = /^Basic (.+)$/iu.exec(authorization) ?? [];
    const [user, ...password] = encoded === undefined ? [] : Buffer.from(encoded, "base64").toString("utf8").split(":");
    const { client_assertion: assertion = "", client_secret: posted } = params;
    const [, claims = ""] = assertion.split(".");
    const [, subject] = /"sub":"([^"]+)"/u.exec(Buffer.from(claims, "base64url").toString("utf8")) ?? [];
    const clientId = (user === undefined ? undefined : decodeURIComponent(user)) ?? params["client_id"] ?? subject;
    const client = clientId === undefined ? undefined : this.#find(clientId);
    if (!client) throw new Refusal("invalid_client", `no client "${clientId ?? ""}"`, 401);
    const expected = client.authMethod ?? (client.clientSecret === undefined ? "none" : "client_secret_basic");
    const bySecret = posted === undefined ? "none" : "client_secret_post";
    const used = user !== undefined ? "client_secret_basic" : assertion === "" ? bySecret : "private_key_jwt";
    refuseIf("invalid_client", [[used !== expected, `the client used ${used} instead of ${expected}`]], 401);
    if (used === "private_key_jwt") this.#checkAssertion(client, params);
    const secret = user === undefined ? posted : decodeURIComponent(password.join(":"));
    const needsSecret = used === "client_secret_basic" || used === "client_secret_post";
    refuseIf("invalid_client", [[needsSecret && secret !== client.clientSecret, "the secret is wrong"]], 401);
    return client;
  }

  /** A client that authenticates with a key (`private_key_jwt`, RFC 7523). */
  #checkAssertion({ clientId, publicKey }: LabClient, params: AuthParams): void {
    const jwt = publicKey === undefined ? undefined : readJwt(params["client_assertion"] ?? "", publicKey);
    const { header = {}, claims = {}, isGenuine = false } = jwt ?? {};
    const { iss, sub, aud, exp, jti } = claims;
    const { issuer, token } = this.places;
    const isLong = typeof exp === "number" && exp * 1_000 > Date.now() + HOUR_MS;
    const problems: readonly (readonly [boolean, string])[] = [
      [params["client_assertion_type"] !== ASSERTION_TYPE, "client_assertion_type is wrong"],
      [publicKey === undefined, "the client has no public key"],
      [jwt === undefined, "the client assertion is no JWT"],
      [!isGenuine, `the signature of the client assertion (${JSON.stringify(header["alg"])}) is wrong`],
      [iss !== clientId || sub !== clientId, "the client assertion is not by and about the client"],
      [
        !isFor(claims, [issuer, `${issuer}/`, token]),
        `the client assertion is for ${JSON.stringify(aud)}, not for this server`,
      ],
      [!isInFuture(exp), "the client assertion has expired"],
      [isLong, "the client assertion holds for too long"],
      [typeof jti !== "string" || jti === "", "the client assertion has no id"],
      [this.#seenIds.has(jti), "the client assertion has been used before"],
    ];
    refuseIf("invalid_client", problems, 401);
    this.#seenIds.add(jti);
  }
}

function isInFuture(seconds: JsonValue | undefined): boolean {
  return typeof seconds === "number" && seconds * 1_000 > Date.now();
}

/** Exactly a registered redirect URI, except for the port of a loopback address. */
function mayRedirect(client: LabClient, uri: string): boolean {
  if (client.redirectUris === undefined) return isUrl(uri);
  return client.redirectUris.some((registered) => registered === uri || withoutPort(registered) === withoutPort(uri));
}

function withoutPort(text: string): string {
  const url = isUrl(text) ? new URL(text) : undefined;
  if (!url || !isLoopbackHost(url.hostname)) return text;
  url.port = "";
  return url.href;
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
