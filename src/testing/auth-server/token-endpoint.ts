// The token endpoint: each grant is checked to the letter, and says in words what was wrong.
import type { JsonObject } from "../../base/json/json.js";
import { type Codes, grantedScopes, resourceProblem } from "./authorize.js";
import { type Clients, isClient } from "./clients.js";
import { type Devices, isPermit } from "./device.js";
import { type IdentityDesk, JWT_BEARER, TOKEN_EXCHANGE } from "./identity.js";
import { type AuthAnswer, type AuthParams, type AuthServerOptions, type LabClient, refusal } from "./options.js";
import type { Permit, TokenBook } from "./tokens.js";

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const DEFAULT_LIFETIME_MS = 3_600_000;

export interface TokenContext {
  readonly options: AuthServerOptions;
  readonly clients: Clients;
  readonly codes: Codes;
  readonly devices: Devices;
  readonly book: TokenBook;
  readonly identity: IdentityDesk;
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly authorization: string | undefined;
  readonly nowMs: number;
}

export function answerToken(params: AuthParams, context: TokenContext): AuthAnswer {
  const { authorization, audiences, nowMs, options } = context;
  const client = context.clients.authenticate({ params, authorization, audiences, nowMs });
  if (!isClient(client)) return client;
  const resource = resourceProblem(params["resource"], options);
  if (resource !== undefined) return refusal("invalid_target", resource);
  switch (params["grant_type"]) {
    case "authorization_code":
      return fromCode(params, client, context);
    case "refresh_token":
      return fromRefresh(params, client, context);
    case "client_credentials":
      return fromCredentials(params, client, context);
    case DEVICE_GRANT:
      return fromDevice(params, client, context);
    case TOKEN_EXCHANGE:
      return context.identity.exchange(params, client, context);
    case JWT_BEARER:
      return fromAssertion(params, client, context);
    default:
      return refusal("unsupported_grant_type", `no grant type "${params["grant_type"] ?? ""}"`);
  }
}

function fromCode(params: AuthParams, client: LabClient, context: TokenContext): AuthAnswer {
  const { code, redirect_uri: redirectUri, code_verifier: verifier, resource } = params;
  const taken = context.codes.take({ code, client, redirectUri, verifier, resource });
  if (!("why" in taken)) return tokens(taken, taken.family, context);
  const { again } = taken;
  if (again !== undefined) context.book.revokeWhere(({ family }) => family === again);
  return refusal("invalid_grant", taken.why);
}

function fromRefresh(params: AuthParams, client: LabClient, context: TokenContext): AuthAnswer {
  const { rotates = true, reuseRevokes = true } = context.options;
  const token = params["refresh_token"] ?? "";
  const owner = context.book.find(token);
  if (owner && owner.clientId !== client.clientId) return refusal("invalid_grant", "the token is another client's");
  if (owner && params["resource"] !== owner.resource)
    return refusal("invalid_target", "the token is for another resource");
  const taken = context.book.takeRefresh(token, { rotates, reuseRevokes });
  if (taken.kind === "bad") return refusal("invalid_grant", taken.why);
  const { permit, family } = taken;
  const asked = params["scope"]?.split(" ");
  if (asked?.some((scope) => !permit.scopes.includes(scope)))
    return refusal("invalid_scope", "a refresh cannot bring more than was granted");
  const { identity } = context.options;
  const { identity: _provider, ...others } = context.options;
  const options = identity?.refreshes === false ? others : context.options;
  const kept = rotates ? undefined : token;
  return tokens({ ...permit, scopes: asked ?? permit.scopes }, family, { ...context, options }, kept);
}

function fromCredentials(params: AuthParams, client: LabClient, context: TokenContext): AuthAnswer {
  const { clientId, authMethod, clientSecret } = client;
  if (authMethod === "none" || (authMethod === undefined && clientSecret === undefined))
    return refusal("unauthorized_client", "only a client with a secret or a key may have its own tokens");
  const scopes = grantedScopes(params["scope"], context.options);
  const permit: Permit = { account: clientId, clientId, scopes, resource: params["resource"] };
  return tokens(permit, context.book.newFamily(), withoutRefresh(context));
}

function fromAssertion(params: AuthParams, client: LabClient, context: TokenContext): AuthAnswer {
  const found = context.identity.believed(params, client, context);
  return isPermit(found) ? tokens(found, context.book.newFamily(), withoutRefresh(context)) : found;
}

function withoutRefresh(context: TokenContext): TokenContext {
  return { ...context, options: { ...context.options, refreshTokens: "never" } };
}

function fromDevice(params: AuthParams, client: LabClient, context: TokenContext): AuthAnswer {
  const found = context.devices.poll(params["device_code"], client.clientId, context.options);
  return isPermit(found) ? tokens(found, context.book.newFamily(), context) : found;
}

function tokens(permit: Permit, family: number, context: TokenContext, keptRefresh?: string): AuthAnswer {
  const { options, book, identity } = context;
  const { accessTokenMs: lifetimeMs = DEFAULT_LIFETIME_MS, saysExpiry = true, refreshTokens = "always" } = options;
  const isLasting =
    refreshTokens === "always" || (refreshTokens === "offline_access" && permit.scopes.includes("offline_access"));
  const issued = book.issue(permit, family, { lifetimeMs, refresh: isLasting && keptRefresh === undefined });
  const refresh = issued.refresh ?? keptRefresh;
  const body: JsonObject = {
    access_token: issued.access,
    token_type: "Bearer",
    scope: permit.scopes.join(" "),
    ...(saysExpiry && { expires_in: Math.ceil(lifetimeMs / 1_000) }),
    ...(refresh !== undefined && { refresh_token: refresh }),
    ...(options.identity && permit.scopes.includes("openid") && { id_token: identity.idToken(permit, context) }),
  };
  return { status: 200, headers: { "cache-control": "no-store" }, body };
}
