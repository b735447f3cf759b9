// Enterprise-managed authorization (ID-JAG): the identity provider issues an assertion for the person, which the
// authorization server exchanges for tokens. The ID token is configured, stored, or obtained by a log-in there.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject } from "../../base/json/json.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import { chooseMethod } from "./client.js";
import { isSameIssuer, namedServer } from "./discovery.js";
import { type AddressRules, OAuthHttp, OAuthRefusal } from "./http.js";
import { expiryOf, readClaims } from "./jwt.js";
import { loginCommand, loginRefused, visible } from "./messages.js";
import { type Flow, logInOnPage } from "./pages.js";
import type { Grant, GrantKey, IdentityProvider, LoginOptions, LoginWay, OAuthOptions, OAuthSettings } from "./port.js";
import { resourceOf } from "./port.js";
import { refresh, replaceStored } from "./refresh.js";
import { chooseScope } from "./scopes.js";
import type { TokenContext, UnattendedTokens } from "./tokens.js";
import { askTokenEndpoint, grantOf, JWT_BEARER, requestToken } from "./tokens.js";

/** The options of a log-in, with the name of the MCP server. */
export interface PersonQuery extends LoginOptions {
  readonly server: string;
}

/** Tokens to be had without a page of the authorization server. */
export interface UnattendedQuery extends TokenContext {
  readonly scope: string | undefined;
  readonly resourceIndicator: string | undefined;
  readonly serverUrl: string;
  /** The issuer name of the authorization server. */
  readonly audience: string;
  readonly person: PersonQuery;
}

interface Identity {
  readonly idToken: string;
  /** The provider may refuse a stored ID token but accept a new one. */
  readonly source: "configured" | "stored" | "new";
  readonly isRenewable: boolean;
}

const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token";
const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const WHAT = "the token exchange at the identity provider";

/** The ID token is refused: the first by RFC 8693, the second is what many providers send. */
const TOKEN_REFUSED: ReadonlySet<string | undefined> = new Set(["invalid_request", "invalid_grant"]);

/** Rejects with `mcp.unauthorized` if one of the two servers refuses; the message names it. */
export async function enterpriseTokens(http: OAuthHttp, query: UnattendedQuery): Promise<UnattendedTokens> {
  const { assertion, isRenewable } = await assertionFor(query, http.signal);
  const { scope, audience, person } = query;
  const request = { ...query, grantType: JWT_BEARER, params: { assertion, scope, resource: resourceFor(query) } };
  const tokens = await requestToken(http, request);
  if (!(tokens instanceof OAuthRefusal)) return { tokens, isRenewable };
  const idp = visible(nameOf(providerOf(person.oauth.settings)));
  const text = `the authorization server ${visible(audience)} refused the assertion of the identity provider ${idp}`;
  const hint =
    tokens.error === "invalid_client"
      ? "Check clientId and clientSecret of the server's oauth settings: those of its authorization server."
      : "The administrator of that server has to trust the identity provider, and to know the client of oauth.clientId.";
  throw loginRefused(`${text}: ${tokens.words}`, hint);
}

function resourceFor({ resourceIndicator, serverUrl }: UnattendedQuery): string {
  return resourceIndicator ?? resourceOf(serverUrl);
}

/** If the provider refuses a stored ID token and a person is present, they log in there once more. */
async function assertionFor(
  query: UnattendedQuery,
  signal: AbortSignal,
): Promise<{ readonly assertion: string; readonly isRenewable: boolean }> {
  const { person } = query;
  const { way } = person.oauth;
  let identity = await identityOf(person, signal);
  let assertion = await exchange(query, identity, signal);
  const isRefused = assertion instanceof OAuthRefusal && TOKEN_REFUSED.has(assertion.error);
  if (isRefused && identity.source === "stored" && way) {
    identity = await logInAtProvider(person, way, signal);
    assertion = await exchange(query, identity, signal);
  }
  if (typeof assertion === "string") return { assertion, isRenewable: identity.isRenewable };
  const idp = visible(nameOf(providerOf(person.oauth.settings)));
  const text = `the identity provider ${idp} gave no assertion for ${visible(query.audience)}: ${assertion.words}`;
  throw loginRefused(text, exchangeHint(assertion, identity.source));
}

function exchangeHint({ error }: OAuthRefusal, source: Identity["source"]): string {
  if (error === "invalid_client") return "Check clientId and clientSecret of oauth.idp.";
  if (!TOKEN_REFUSED.has(error)) return "The administrator of the identity provider decides who may use this server.";
  return source === "configured"
    ? "The ID token may be too old, or not for the client of oauth.idp: renew it where oauth.idp.idToken takes it from."
    : "Log in again, or ask the administrator of the identity provider whether you may use this server.";
}

/** The only place that sends an ID token: to the configured provider, without following redirects. */
async function exchange(
  query: UnattendedQuery,
  { idToken }: Identity,
  signal: AbortSignal,
): Promise<string | OAuthRefusal> {
  const { person, audience, scope } = query;
  const idp = providerOf(person.oauth.settings);
  using http = new OAuthHttp(providerAddresses(idp, person), signal);
  http.world.trace?.hide([idToken]);
  const subject = { subject_token: idToken, subject_token_type: ID_TOKEN, requested_token_type: ID_JAG };
  const params = { ...subject, audience, resource: resourceFor(query), scope };
  const context = await providerContext(http, idp);
  const answer = await askTokenEndpoint(http, { ...context, grantType: TOKEN_EXCHANGE, params });
  if (answer instanceof OAuthRefusal) return answer;
  const { access_token: assertion, issued_token_type: type } = answer;
  http.world.trace?.hide([assertion]);
  if (type === ID_JAG) return assertion;
  const given = typeof type === "string" ? `one of the type ${visible(type)}` : "one that does not say its type";
  throw new TenonError("mcp.protocol", `${WHAT}: it gave no identity assertion grant (${ID_JAG}), but ${given}`, {
    hint: "The identity provider has to support enterprise-managed authorization (ID-JAG, cross-app access).",
  });
}

async function providerContext(http: OAuthHttp, idp: IdentityProvider): Promise<TokenContext> {
  const { tokenEndpoint, issuer = nameOf(idp), clientId, clientSecret, authMethod } = idp;
  const server = tokenEndpoint === undefined ? await namedServer(http, issuer) : undefined;
  const endpoint = tokenEndpoint ?? server?.token_endpoint;
  if (endpoint === undefined) {
    const text = `the identity provider ${visible(issuer)} does not say where tokens are had`;
    throw loginRefused(text, "Give oauth.idp.tokenEndpoint of the server.");
  }
  const client = { clientId, ...defined({ clientSecret }) };
  const method = chooseMethod(client, defined({ authMethod }), server?.token_endpoint_auth_methods_supported);
  return { endpoint, issuer, client: { ...client, authMethod: method }, settings: {}, what: WHAT };
}

/** Rejects with `mcp.unauthorized` if there is no ID token and no person to log in. */
async function identityOf(person: PersonQuery, signal: AbortSignal): Promise<Identity> {
  const { oauth, world, server } = person;
  const { way, command = loginCommand(server) } = oauth;
  const idp = providerOf(oauth.settings);
  if (idp.idToken !== undefined) {
    checkConfiguredToken(idp, idp.idToken, world.now());
    return { idToken: idp.idToken, source: "configured", isRenewable: false };
  }
  const stored = await storedIdentity(person, signal);
  if (typeof stored !== "string") return stored;
  if (way) return await logInAtProvider(person, way, signal);
  const there = `the identity provider ${visible(nameOf(idp))}`;
  const text = stored === "" ? `nobody is logged in at ${there}` : `the log-in at ${there} has ended (${stored})`;
  const hint = `Log in with \`${command}\`; it serves all servers with this identity provider.`;
  throw loginRefused(`${text}; log in with \`${command}\``, hint);
}

/** Throws `mcp.invalid_spec` if the settings have none. */
export function providerOf({ idp }: OAuthSettings): IdentityProvider {
  if (idp && (idp.issuer ?? idp.tokenEndpoint) !== undefined) return idp;
  throw new TenonError("mcp.invalid_spec", "the grant enterprise needs an identity provider", {
    hint: "Give oauth.idp of the server: its issuer and a client id.",
  });
}

function nameOf({ issuer, tokenEndpoint = "" }: IdentityProvider): string {
  return issuer ?? new URL(tokenEndpoint).origin;
}

/** The provider's addresses come from the configuration; its metadata is bound to them, not to the MCP server's. */
export function providerAddresses(
  { issuer = "", tokenEndpoint }: IdentityProvider,
  { world, allowHosts, urlSource }: Pick<PersonQuery, "world" | "allowHosts" | "urlSource">,
): AddressRules {
  return { world, serverUrl: tokenEndpoint ?? issuer, ...defined({ allowHosts, urlSource }) };
}

/** No server has such an address, so an ID token stored here is never sent as a token of one. */
export function identityKey({ idp }: OAuthSettings, oauth: Pick<OAuthOptions, "account" | "person">): GrantKey {
  const { issuer = "", clientId = "" } = idp ?? {};
  return { issuer, resource: `urn:tenon:identity:${clientId}`, account: oauth.person ?? oauth.account };
}

/** Throws if it has expired or is of another provider: it is not sent then. */
function checkConfiguredToken(idp: IdentityProvider, idToken: string, nowMs: number): void {
  const claims = readClaims(idToken);
  const expiresAtMs = expiryOf(claims) ?? Number.POSITIVE_INFINITY;
  const hint = "Renew it where oauth.idp.idToken of the server takes it from, or leave that out and log in.";
  if (expiresAtMs <= nowMs) {
    const when = new Date(expiresAtMs).toISOString().slice(0, 16).replace("T", " ");
    const text = `the ID token for the identity provider ${visible(nameOf(idp))} has expired (${when} UTC)`;
    throw loginRefused(`${text}: oauth.idp.idToken of the server needs a new one`, hint);
  }
  const issuer = claims?.["iss"];
  if (idp.issuer !== undefined && typeof issuer === "string" && !isSameIssuer(issuer, idp.issuer)) {
    const text = `the ID token is one of ${visible(issuer)}, not of the identity provider ${visible(idp.issuer)}`;
    throw loginRefused(`${text}: it is not sent`, hint);
  }
}

/** Or the reason why it has ended; empty if there was none. */
async function storedIdentity(person: PersonQuery, signal: AbortSignal): Promise<Identity | string> {
  const { oauth, world } = person;
  const { store, settings } = oauth;
  const key = identityKey(settings, oauth);
  const current = await store.read(key);
  if (!current) return "";
  const { expiresAtMs = Number.POSITIVE_INFINITY, obtainedAtMs = 0 } = current;
  const { ms, share } = OAUTH_LIMITS.renewAhead;
  const isDue = world.now() >= expiresAtMs - Math.min(ms, (expiresAtMs - obtainedAtMs) * share);
  if (!isDue) return readStored(current) ?? "";
  const rules = providerAddresses(providerOf(settings), person);
  const known = { ...rules, store, settings: clientSettings(settings), key };
  const renewal = { ...known, staleToken: current.accessToken, isRefused: false };
  try {
    const { grant, why } = await replaceStored(renewal, (grant) => refresh(renewal, grant), signal);
    const isAlive = grant && (grant.expiresAtMs ?? Number.POSITIVE_INFINITY) > world.now();
    return isAlive ? (readStored(grant) ?? "") : (why ?? "it is too old");
  } catch (thrown) {
    // Not every provider sends an ID token with a refresh.
    if (!(thrown instanceof TenonError) || thrown.code !== "mcp.protocol") throw thrown;
    return expiresAtMs > world.now() ? (readStored(current) ?? "") : thrown.message;
  }
}

function readStored({ idToken, refreshToken }: Grant): Identity | undefined {
  return idToken === undefined ? undefined : { idToken, source: "stored", isRenewable: refreshToken !== undefined };
}

/** The client at the provider is another one than at the authorization servers. */
function clientSettings({ idp, callbackPort }: OAuthSettings): OAuthSettings {
  const { clientId, clientSecret, authMethod } = idp ?? {};
  return defined({ clientId, clientSecret, authMethod, callbackPort });
}

async function logInAtProvider(person: PersonQuery, way: LoginWay, signal: AbortSignal): Promise<Identity> {
  const { oauth, world, server: name } = person;
  const { store, settings } = oauth;
  const idp = providerOf(settings);
  const { issuer } = idp;
  if (issuer === undefined) {
    const text = "one cannot log in at an identity provider of which only the token endpoint is known";
    throw new TenonError("mcp.invalid_spec", text, { hint: "Give oauth.idp.issuer of the server, or idToken." });
  }
  using http = new OAuthHttp({ ...providerAddresses(idp, person), serverUrl: issuer }, signal);
  const server = await namedServer(http, issuer);
  const tokenEndpoint = idp.tokenEndpoint ?? server.token_endpoint;
  if (tokenEndpoint === undefined) throw loginRefused(`${visible(issuer)} does not say where tokens are had`);
  const flow: Flow = {
    name,
    options: { ...person, oauth: { ...oauth, settings: clientSettings(settings) } },
    http,
    found: { issuer, server, wantsBoundTokens: false, isGuess: false },
    tokenEndpoint,
    scope: chooseScope({ configured: ["openid"], serverScopes: server.scopes_supported, wantsRefresh: true }),
    wantsIdToken: true,
  };
  const { client, tokens } = await logInOnPage(flow, way);
  const idToken = checkedToken(tokens.idToken, issuer, idp);
  const kept = { client, tokenEndpoint, ...defined({ revocationEndpoint: server.revocation_endpoint }) };
  const grant = grantOf(tokens, kept, world.now());
  await store.update(identityKey(settings, oauth), async () => grant, signal);
  world.log.info("oauth.identified", { server: name, issuer });
  return { idToken, source: "new", isRenewable: grant.refreshToken !== undefined };
}

/** By OpenID Connect an ID token must be issued by this provider and for this client. */
function checkedToken(idToken: string | undefined, issuer: string, { clientId }: IdentityProvider): string {
  const { iss, aud } = (idToken === undefined ? undefined : readClaims(idToken)) ?? {};
  const audiences = isJsonObject(aud) ? [] : [aud].flat();
  const isOurs = typeof iss === "string" && isSameIssuer(iss, issuer) && audiences.includes(clientId);
  if (idToken !== undefined && isOurs) return idToken;
  throw loginRefused(`the ID token that ${visible(issuer)} gave is not by itself and for the client of oauth.idp`);
}
