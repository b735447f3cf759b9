// One log-in from discovery to the stored grant, and its renewal: by a person, by client credentials, or by an assertion.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import type { RemoteSpec } from "../spec.js";
import { userHeaders } from "../transport/http/headers.js";
import { knownClient } from "./client.js";
import { type Discovered, discover, isSameIssuer } from "./discovery.js";
import { enterpriseTokens, type PersonQuery, type UnattendedQuery } from "./enterprise.js";
import { OAuthHttp, OAuthRefusal, type ServerRefusal } from "./http.js";
import { DPOP_ALGORITHM, newDpopKey } from "./jwt.js";
import { loginCommand, loginRefused, visible } from "./messages.js";
import { type Flow, logInOnPage, type Obtained, tokenContext } from "./pages.js";
import type { Grant, GrantKey, LoggedIn, LoginOptions, OAuthSettings } from "./port.js";
import { needsNoPage, resourceOf, settingsSecrets } from "./port.js";
import { NOT_ABORTED, type Renewal, type Renewed, refresh, renewalContext, replaceStored } from "./refresh.js";
import { chooseScope } from "./scopes.js";
import { grantOf, JWT_BEARER, requestToken, type UnattendedTokens } from "./tokens.js";

/** See `login`. With `refusal`, the server is not asked first which log-in it wants. */
export async function logIn(
  spec: RemoteSpec,
  options: LoginOptions,
  signal: AbortSignal,
  refusal?: ServerRefusal,
): Promise<LoggedIn> {
  using deadline = options.world.deadline(OAUTH_LIMITS.loginMs, signal);
  try {
    if (userHeaders(spec).hasAuthorization) {
      const hint = "Remove its token or Authorization header first.";
      throw new TenonError("mcp.invalid_spec", `the server "${spec.name}" has credentials of its own`, { hint });
    }
    options.world.trace?.hide(settingsSecrets(options.oauth.settings));
    using http = new OAuthHttp({ ...options, serverUrl: spec.url }, deadline.signal);
    return await run(spec, options, http, refusal ?? (await http.probe(spec)));
  } catch (thrown) {
    if (!deadline.expired) throw thrown;
    const text = `the log-in was not finished within ${OAUTH_LIMITS.loginMs / 60_000} minutes`;
    throw new TenonError("mcp.unauthorized", text, { cause: thrown, hint: "Try again." });
  }
}

async function run(
  spec: RemoteSpec,
  options: LoginOptions,
  http: OAuthHttp,
  { status, challenge }: ServerRefusal,
): Promise<LoggedIn> {
  const { oauth } = options;
  const found = await discover(http, { url: spec.url, challenge, wantedIssuer: oauth.settings.issuer });
  checkIssuer(found, spec.url, oauth.settings);
  if (found.isGuess && status !== 401) {
    throw loginRefused(`the server "${spec.name}" asks for no log-in`, "Use it as it is.");
  }
  const { token_endpoint: tokenEndpoint } = found.server;
  if (tokenEndpoint === undefined) throw loginRefused(`${visible(found.issuer)} does not say where tokens are had`);
  http.check(tokenEndpoint, "the token request"); // before a person is sent to a page in vain
  const key = { issuer: found.issuer, resource: resourceOf(spec.url), account: oauth.account };
  const before = await oauth.store.read(key);
  const isStepUp = challenge?.error === "insufficient_scope" || before?.missingScope !== undefined;
  const scope = chooseScope({
    challenged: challenge?.scope,
    configured: oauth.settings.scopes,
    resourceScopes: found.scopesSupported,
    serverScopes: found.server.scopes_supported,
    before: isStepUp ? [before?.scope, before?.missingScope] : [],
    wantsRefresh: !needsNoPage(oauth.settings),
  });
  const mayBind =
    found.wantsBoundTokens && found.server.dpop_signing_alg_values_supported?.includes(DPOP_ALGORITHM) === true;
  const dpopKey = mayBind ? newDpopKey() : undefined;
  const flow: Flow = { name: spec.name, options, http, found, tokenEndpoint, scope, dpopKey };
  return await store(flow, key, await obtain(flow, spec));
}

async function obtain(flow: Flow, spec: RemoteSpec): Promise<Obtained & UnattendedTokens> {
  const { http, found, scope, options } = flow;
  const { settings, way, command = loginCommand(flow.name) } = options.oauth;
  if (!needsNoPage(settings)) {
    if (way) return { ...(await logInOnPage(flow, way)), isRenewable: false };
    throw loginRefused("a person has to log in", `Log in with \`${command}\`.`);
  }
  const client = knownClient(flow);
  if (!client) {
    const hint = "Give oauth.clientId of the server.";
    throw new TenonError("mcp.invalid_spec", `the grant ${settings.grant} needs a client id`, { hint });
  }
  const { issuer, server, resourceIndicator } = found;
  if (settings.grant === "enterprise" && !isSameIssuer(issuer, server.issuer)) {
    // Its name would be the audience of the assertion, which the server with that name would accept.
    const text = `the authorization server at ${visible(issuer)} calls itself ${visible(server.issuer)}`;
    throw loginRefused(`${text}: it is not used`);
  }
  const target = { scope, resourceIndicator, serverUrl: spec.url, audience: server.issuer };
  const query = { ...tokenContext(flow, client), ...target, person: { ...options, server: flow.name } };
  return { client, ...(await tokensWithoutPage(http, query)) };
}

/** Requested once: a server that refuses the client's credentials refuses them again. */
async function tokensWithoutPage(http: OAuthHttp, query: UnattendedQuery): Promise<UnattendedTokens> {
  const { settings, scope, resourceIndicator: resource } = query;
  if (settings.grant === "enterprise") return await enterpriseTokens(http, query);
  const isAssertion = settings.grant === "jwt_bearer";
  const params = { scope, resource, assertion: isAssertion ? settings.assertion : undefined };
  const request = { ...query, grantType: isAssertion ? JWT_BEARER : "client_credentials", params };
  const tokens = await requestToken(http, request);
  if (!(tokens instanceof OAuthRefusal)) return { tokens, isRenewable: true };
  const text = `the authorization server refused the client's own credentials: ${tokens.words}`;
  throw loginRefused(text, "Check the oauth settings of the server.");
}

async function store(
  flow: Flow,
  key: GrantKey,
  { client, tokens, isRenewable }: Obtained & UnattendedTokens,
): Promise<LoggedIn> {
  const { options, found, tokenEndpoint, scope, name, http } = flow;
  const { store: grants, settings } = options.oauth;
  const optional = defined({
    revocationEndpoint: found.server.revocation_endpoint,
    resourceIndicator: found.resourceIndicator,
    scope,
    audience: settings.grant === "enterprise" ? found.server.issuer : undefined,
  });
  const grant = grantOf(tokens, { client, tokenEndpoint, ...optional }, options.world.now());
  await grants.update(key, async () => grant, http.signal);
  // If the server has changed its authorization server, it does not accept tokens of the previous one.
  for (const old of await grants.find(key.resource, key.account)) {
    if (old.issuer !== key.issuer) await grants.update(old, async () => undefined, http.signal);
  }
  options.world.log.info("oauth.logged_in", { server: name, issuer: key.issuer, account: key.account });
  return {
    key,
    ...defined({ scope: grant.scope, expiresAtMs: grant.expiresAtMs }),
    isRenewable: isRenewable || grant.refreshToken !== undefined,
  };
}

/**
 * A secret is for one authorization server, named by the user. The server's own choice is enough only on its own host:
 * otherwise a server could have any secret of its entry sent anywhere.
 */
function checkIssuer({ issuer }: Discovered, url: string, settings: OAuthSettings): void {
  const { issuer: wanted, clientSecret, assertion } = settings;
  if (wanted === undefined) {
    const isSecret = clientSecret !== undefined || assertion !== undefined;
    if (!isSecret || new URL(issuer).hostname === new URL(url).hostname) return;
    const text = `the server names the authorization server ${visible(issuer)}, but the configuration does not say that the secret of its entry is for that one`;
    throw loginRefused(text, `If it is, set oauth.issuer of the server to ${visible(issuer)}.`);
  }
  if (isSameIssuer(issuer, wanted)) return;
  const text = `the server names the authorization server ${visible(issuer)}, not ${visible(wanted)} as configured`;
  throw loginRefused(text, "If it has really moved, change oauth.issuer of the server.");
}

type ConnectionRenewal = Renewal & { readonly person: PersonQuery };

/** Renews the grant of a connection in the way it was obtained. Rejects as `replaceStored` does. */
export function renew(renewal: ConnectionRenewal, signal: AbortSignal): ReturnType<typeof replaceStored> {
  return replaceStored(renewal, (current) => renewStored(renewal, current), signal);
}

async function renewStored(renewal: ConnectionRenewal, current: Grant): Promise<Renewed> {
  const { settings, world, key, serverUrl } = renewal;
  if (!needsNoPage(settings)) return await refresh(renewal, current);
  using http = new OAuthHttp(renewal, NOT_ABORTED);
  const context = renewalContext(renewal, current);
  const { scope, resourceIndicator, audience = key.issuer } = current;
  // A renewal happens during a call: nobody is asked to log in.
  const { way: _way, ...oauth } = renewal.person.oauth;
  const person = { ...renewal.person, oauth };
  try {
    const query = { ...context, scope, resourceIndicator, serverUrl, audience, person };
    const { tokens } = await tokensWithoutPage(http, query);
    return { grant: grantOf(tokens, { ...current, ...context }, world.now()) };
  } catch (thrown) {
    const isOver = thrown instanceof TenonError && thrown.code === "mcp.unauthorized";
    if (settings.grant !== "enterprise" || !isOver) throw thrown;
    // Only the person or the configuration can help: the grant stays until the server refuses it.
    return { grant: current, why: thrown.message };
  }
}
