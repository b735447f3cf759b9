// Tokens by the word of an identity provider (ID-JAG): it vouches for the person to the authorization server, which needs no page then.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { chooseMethod } from "./client-auth.js";
import { namedServer } from "./discovery.js";
import { OAuthHttp } from "./http.js";
import { type Asker, type Identity, identityOf, nameOf, placesOf, providerOf } from "./identity.js";
import type { IdentityProvider, OAuthClient } from "./port.js";
import { askEndpoint, JWT_BEARER, requestToken, type TokenRefusal, type TokenRequest, type Tokens } from "./token.js";
import { visible } from "./words.js";

export interface EnterpriseQuery extends Omit<TokenRequest, "params"> {
  readonly scope: string | undefined;
  readonly resourceIndicator: string;
  /** What the authorization server calls itself. */
  readonly audience: string;
  readonly asker: Asker;
}

export interface Vouched {
  readonly tokens: Tokens;
  /** Whether the provider can be asked again without anybody. */
  readonly isRenewable: boolean;
}

const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token";
const WHAT = "the token exchange at the identity provider";

/** By RFC 8693 the first, by the habit of many the second: the ID token is not good any more, or never was. */
const TOKEN_REFUSED: ReadonlySet<string> = new Set(["invalid_request", "invalid_grant"]);

/** Rejects with `mcp.unauthorized` where one of the two refuses, and says which. */
export async function enterpriseTokens(http: OAuthHttp, query: EnterpriseQuery, signal: AbortSignal): Promise<Vouched> {
  const { assertion, isRenewable } = await assertionFor(query, signal);
  const { scope, resourceIndicator: resource } = query;
  const params = { grant_type: JWT_BEARER, assertion, scope, resource };
  const answer = await requestToken(http, { ...query, params }, signal);
  if (answer.kind === "tokens") return { tokens: answer.tokens, isRenewable };
  const { settings } = query.asker.oauth;
  const text = `the authorization server ${visible(query.audience)} refused what the identity provider ${visible(nameOf(providerOf(settings)))} vouched for: ${answer.words}`;
  throw new TenonError("mcp.unauthorized", text, { hint: refusedThere(answer) });
}

interface Assertion {
  readonly assertion: string;
  readonly isRenewable: boolean;
}

/** Where a kept ID token is refused and a person is there, they are asked who they are once more. */
async function assertionFor(query: EnterpriseQuery, signal: AbortSignal): Promise<Assertion> {
  const { asker } = query;
  const identity = await identityOf(asker, signal);
  const answer = await exchange(query, identity, signal);
  if (typeof answer === "string") return { assertion: answer, isRenewable: identity.isRenewable };
  const mayAsk = identity.source === "kept" && asker.oauth.way !== undefined && TOKEN_REFUSED.has(answer.error);
  if (!mayAsk) throw notVouched(query, identity, answer);
  const anew = await identityOf(asker, signal, true);
  const second = await exchange(query, anew, signal);
  if (typeof second !== "string") throw notVouched(query, anew, second);
  return { assertion: second, isRenewable: anew.isRenewable };
}

/** The one place where an ID token is sent: to the provider of the configuration, which may not pass it on. */
async function exchange(
  query: EnterpriseQuery,
  { idToken }: Identity,
  signal: AbortSignal,
): Promise<string | TokenRefusal> {
  const { asker, audience, resourceIndicator: resource, scope } = query;
  const idp = providerOf(asker.oauth.settings);
  using http = new OAuthHttp(placesOf(idp, asker));
  http.world.trace?.hide([idToken]);
  const { endpoint, client, issuer } = await endpointOf(http, idp, signal);
  const params = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    requested_token_type: ID_JAG,
    subject_token: idToken,
    subject_token_type: ID_TOKEN,
    audience,
    resource,
    scope,
  };
  const reply = await askEndpoint(http, { endpoint, client, issuer, settings: {}, params, what: WHAT }, signal);
  if (reply.kind === "refused") return reply;
  const { access_token: assertion, issued_token_type: type } = reply.json ?? {};
  if (typeof assertion !== "string" || assertion === "") {
    throw new TenonError("mcp.protocol", `${WHAT}: the answer holds no token (status ${reply.status})`);
  }
  http.world.trace?.hide([assertion]);
  if (type === ID_JAG) return assertion;
  const given = typeof type === "string" ? `one of the type ${visible(type)}` : "one that does not say its type";
  throw new TenonError("mcp.protocol", `${WHAT}: it gave no identity assertion grant (${ID_JAG}), but ${given}`, {
    hint: "The identity provider has to support enterprise-managed authorization (ID-JAG, cross-app access).",
  });
}

interface ProviderEndpoint {
  readonly endpoint: string;
  readonly client: OAuthClient;
  readonly issuer: string;
}

async function endpointOf(http: OAuthHttp, idp: IdentityProvider, signal: AbortSignal): Promise<ProviderEndpoint> {
  const { tokenEndpoint, issuer = nameOf(idp), clientId, clientSecret, authMethod } = idp;
  const server = tokenEndpoint === undefined ? await namedServer(http, issuer, signal) : undefined;
  const endpoint = tokenEndpoint ?? server?.tokenEndpoint;
  if (endpoint === undefined) {
    const text = `the identity provider ${visible(issuer)} does not say where tokens are had`;
    throw new TenonError("mcp.unauthorized", text, { hint: "Give oauth.idp.tokenEndpoint of the server." });
  }
  const client = { clientId, ...defined({ clientSecret }) };
  const settings = authMethod === undefined ? {} : { authMethod };
  return {
    endpoint,
    issuer,
    client: { ...client, authMethod: chooseMethod(client, settings, server?.tokenAuthMethods) },
  };
}

function notVouched({ asker, audience }: EnterpriseQuery, { source }: Identity, answer: TokenRefusal): TenonError {
  const idp = visible(nameOf(providerOf(asker.oauth.settings)));
  const text = `the identity provider ${idp} did not vouch for you to ${visible(audience)}: ${answer.words}`;
  return new TenonError("mcp.unauthorized", text, { hint: notVouchedHint(answer, source) });
}

function notVouchedHint({ error }: TokenRefusal, source: Identity["source"]): string {
  if (error === "invalid_client") return "Check clientId and clientSecret of oauth.idp.";
  if (!TOKEN_REFUSED.has(error)) return "The administrator of the identity provider decides who may use this server.";
  return source === "configured"
    ? "The ID token may be too old, or not for the client of oauth.idp: renew it where oauth.idp.idToken takes it from."
    : "Log in again, or ask the administrator of the identity provider whether you may use this server.";
}

function refusedThere({ error }: TokenRefusal): string {
  return error === "invalid_client"
    ? "Check clientId and clientSecret of the server's oauth settings: those of its authorization server."
    : "The administrator of that server has to trust the identity provider, and to know the client of oauth.clientId.";
}
