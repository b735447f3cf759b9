// One log-in from the question to the kept grant: who gives out tokens, which client we are, the person or the machine, the tokens.
import { orAborted } from "../../base/deadline.js";
import { TenonError } from "../../base/errors.js";
import { OAUTH_LIMITS } from "../../base/limits-oauth.js";
import { userHeaders } from "../remote/headers.js";
import type { RemoteSpec } from "../spec.js";
import { checkServer, prepareAuthorization, readAuthorization } from "./authorize.js";
import type { Challenge } from "./challenge.js";
import { authorizeDevice } from "./device.js";
import { type Discovered, discover, isSameIssuer } from "./discovery.js";
import { DPOP_ALGORITHM, newDpopKey } from "./dpop.js";
import { OAuthHttp } from "./http.js";
import type { LoggedIn, LoginOptions } from "./login.js";
import { isMachine, machineTokens } from "./machine.js";
import type { DeviceWay, GrantKey, OAuthClient, OAuthSettings, RedirectWay } from "./port.js";
import { probe } from "./probe.js";
import { keptClient, knownClient, registerClient } from "./registration.js";
import { resourceOf } from "./resource.js";
import { chooseScope } from "./scopes.js";
import { grantOf, requestToken, type Tokens } from "./token.js";
import { loginCommand, visible } from "./words.js";

/** What a server said when it refused a request; without it, it is asked first. */
export interface Heard {
  readonly status: number;
  readonly challenge?: Challenge | undefined;
}

/** See `login`. */
export async function logIn(
  spec: RemoteSpec,
  options: LoginOptions,
  signal: AbortSignal,
  heard?: Heard,
): Promise<LoggedIn> {
  using deadline = options.world.deadline(OAUTH_LIMITS.loginMs, signal);
  try {
    return await run(spec, options, { signal: deadline.signal, heard });
  } catch (thrown) {
    if (!deadline.expired) throw thrown;
    const text = `the log-in was not finished within ${OAUTH_LIMITS.loginMs / 60_000} minutes`;
    throw new TenonError("mcp.unauthorized", text, { cause: thrown, hint: "Try again." });
  }
}

/** All that the steps of one log-in share. */
interface Flow {
  readonly spec: RemoteSpec;
  readonly options: LoginOptions;
  readonly http: OAuthHttp;
  readonly found: Discovered;
  readonly tokenEndpoint: string;
  readonly scope: string | undefined;
  readonly dpopKey: string | undefined;
  readonly signal: AbortSignal;
}

interface Obtained {
  readonly client: OAuthClient;
  readonly tokens: Tokens;
}

async function run(
  spec: RemoteSpec,
  options: LoginOptions,
  { signal, heard }: { readonly signal: AbortSignal; readonly heard: Heard | undefined },
): Promise<LoggedIn> {
  const { world, oauth } = options;
  if (userHeaders(spec).hasAuthorization) {
    const hint = "Remove its token or Authorization header first.";
    throw new TenonError("mcp.invalid_spec", `the server "${spec.name}" has credentials of its own`, { hint });
  }
  const { clientSecret, privateKey, assertion } = oauth.settings;
  world.trace?.hide([clientSecret, privateKey, assertion].filter((secret) => secret !== undefined));
  using http = new OAuthHttp({ ...options, serverUrl: spec.url });
  const { status, challenge } = heard ?? (await probe(spec, options, signal));
  const wantedIssuer = oauth.settings.issuer;
  const found = await discover(http, { url: spec.url, challenge, wantedIssuer }, signal);
  checkIssuer(found, spec.url, oauth.settings);
  if (found.isGuess && status !== 401) {
    throw new TenonError("mcp.unauthorized", `the server "${spec.name}" asks for no log-in`, {
      hint: "Use it as it is.",
    });
  }
  const { tokenEndpoint } = found.server;
  if (tokenEndpoint === undefined) throw refused(`${visible(found.issuer)} does not say where tokens are had`);
  http.check(tokenEndpoint, "the token request"); // before anybody is sent to a page in vain
  const key = { issuer: found.issuer, resource: resourceOf(spec.url), account: oauth.account };
  const scope = await scopeFor(options, { found, key, challenge });
  const mayBind = found.wantsBoundTokens && found.server.dpopAlgorithms?.includes(DPOP_ALGORITHM) === true;
  const dpopKey = mayBind ? newDpopKey() : undefined;
  const flow: Flow = { spec, options, http, found, tokenEndpoint, scope, dpopKey, signal };
  const obtained = await obtain(flow);
  return await keep(flow, key, obtained);
}

async function scopeFor(
  { oauth }: LoginOptions,
  {
    found,
    key,
    challenge,
  }: { readonly found: Discovered; readonly key: GrantKey; readonly challenge: Challenge | undefined },
): Promise<string | undefined> {
  const before = await oauth.store.read(key);
  const isStepUp = challenge?.error === "insufficient_scope" || before?.missingScope !== undefined;
  return chooseScope({
    challenged: challenge?.scope,
    configured: oauth.settings.scopes,
    resourceScopes: found.scopesSupported,
    serverScopes: found.server.scopesSupported,
    before: isStepUp ? [before?.scope, before?.missingScope] : [],
    wantsRefresh: !isMachine(oauth.settings),
  });
}

async function obtain(flow: Flow): Promise<Obtained> {
  const { settings, way, command = loginCommand(flow.spec.name) } = flow.options.oauth;
  if (isMachine(settings)) return await asMachine(flow);
  if (!way) {
    const hint = `Log in with \`${command}\`.`;
    throw new TenonError("mcp.unauthorized", "a person has to log in", { hint });
  }
  return way.kind === "device" ? await onDevice(flow, way) : await throughBrowser(flow, way);
}

async function asMachine(flow: Flow): Promise<Obtained> {
  const { http, signal, options } = flow;
  const client = knownClient(queryOf(flow));
  if (!client) {
    const hint = "Give oauth.clientId of the server.";
    throw new TenonError("mcp.invalid_spec", `the grant ${options.oauth.settings.grant} needs a client id`, { hint });
  }
  return { client, tokens: await machineTokens(http, { ...requestOf(flow, client), ...aimOf(flow) }, signal) };
}

async function onDevice(flow: Flow, way: DeviceWay): Promise<Obtained> {
  const { http, found, signal, spec, options } = flow;
  const query = queryOf(flow);
  const known = knownClient(query) ?? (await keptClient(query, options.world.now()));
  // Nobody is sent back anywhere, but a registration without a redirect URI is refused by many.
  const client = known ?? (await registerClient(http, query, { redirectUri: "http://127.0.0.1/callback", signal }));
  const deviceEndpoint = found.server.deviceAuthorizationEndpoint;
  const device = { ...requestOf(flow, client), ...aimOf(flow), deviceEndpoint, server: spec.name };
  return { client, tokens: await authorizeDevice(http, device, { way, signal }) };
}

async function throughBrowser(flow: Flow, way: RedirectWay): Promise<Obtained> {
  const { http, found, signal, spec, options } = flow;
  const { issuer, server } = found;
  checkServer(server);
  const query = queryOf(flow);
  const known = knownClient(query);
  const kept = known ? undefined : await keptClient(query, options.world.now());
  const redirectUris = kept?.redirectUris ?? [];
  await using attempt = await way.start({ server: spec.name, issuer, redirectUris }, signal);
  const { redirectUri } = attempt;
  const isKept = kept !== undefined && redirectUris.includes(redirectUri);
  const client = known ?? (isKept ? kept : await registerClient(http, query, { redirectUri, signal }));
  const authorization = prepareAuthorization(http, { server, clientId: client.clientId, redirectUri, ...aimOf(flow) });
  const response = await orAborted(attempt.finish(authorization.url, signal), signal);
  const code = readAuthorization(response, authorization, server);
  options.world.trace?.hide([code, authorization.verifier]);
  const params = {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: authorization.verifier,
    resource: found.resourceIndicator,
  };
  const answer = await requestToken(http, { ...requestOf(flow, client), params }, signal);
  if (answer.kind === "tokens") return { client, tokens: answer.tokens };
  // It has forgotten the registration: the next log-in makes a new one.
  if (isKept && answer.error === "invalid_client") await options.oauth.store.writeClient(issuer, undefined);
  throw refused(`the authorization server gave no token: ${answer.words}`);
}

async function keep(flow: Flow, key: GrantKey, { client, tokens }: Obtained): Promise<LoggedIn> {
  const { options, found, tokenEndpoint, scope, signal, spec } = flow;
  const { store } = options.oauth;
  const { revocationEndpoint } = found.server;
  const kept = {
    client,
    tokenEndpoint,
    ...(revocationEndpoint === undefined ? {} : { revocationEndpoint }),
    ...(found.resourceIndicator === undefined ? {} : { resourceIndicator: found.resourceIndicator }),
    ...(scope === undefined ? {} : { scope }),
  };
  const grant = grantOf(tokens, kept, options.world.now());
  await store.update(key, async () => grant, signal);
  // The server has another authorization server now: tokens of the one before are of no use to it.
  for (const old of await store.find(key.resource, key.account)) {
    if (old.issuer !== key.issuer) await store.update(old, async () => undefined, signal);
  }
  options.world.log.info("oauth.logged_in", { server: spec.name, issuer: key.issuer, account: key.account });
  return {
    key,
    ...(grant.scope === undefined ? {} : { scope: grant.scope }),
    ...(grant.expiresAtMs === undefined ? {} : { expiresAtMs: grant.expiresAtMs }),
    isRenewable: grant.refreshToken !== undefined || isMachine(options.oauth.settings),
  };
}

function queryOf({ found, options: { oauth } }: Flow): Parameters<typeof knownClient>[0] {
  return { found, settings: oauth.settings, store: oauth.store };
}

function requestOf(
  { tokenEndpoint, options, found, dpopKey }: Flow,
  client: OAuthClient,
): Omit<Parameters<typeof requestToken>[1], "params"> {
  return { endpoint: tokenEndpoint, client, settings: options.oauth.settings, issuer: found.server.issuer, dpopKey };
}

function aimOf({ scope, found }: Flow): {
  readonly scope: string | undefined;
  readonly resourceIndicator: string | undefined;
} {
  return { scope, resourceIndicator: found.resourceIndicator };
}

/**
 * A secret is for one authorization server. Which one, the user says; the server's own word is enough only for its own host,
 * or a server could have any secret of its entry sent wherever it likes.
 */
function checkIssuer({ issuer }: Discovered, url: string, settings: OAuthSettings): void {
  const { issuer: wanted, clientSecret, assertion } = settings;
  if (wanted === undefined) {
    const isSecret = clientSecret !== undefined || assertion !== undefined;
    if (!isSecret || new URL(issuer).hostname === new URL(url).hostname) return;
    const text = `the server names the authorization server ${visible(issuer)}, and nobody has said that the secret of its entry is for that one`;
    throw new TenonError("mcp.unauthorized", text, {
      hint: `If it is, set oauth.issuer of the server to ${visible(issuer)}.`,
    });
  }
  if (isSameIssuer(issuer, wanted)) return;
  const text = `the server names the authorization server ${visible(issuer)}, not ${visible(wanted)} as configured`;
  throw new TenonError("mcp.unauthorized", text, {
    hint: "If it has really moved, change oauth.issuer of the server.",
  });
}

function refused(text: string): TenonError {
  return new TenonError("mcp.unauthorized", text, { hint: "Try again, or tell the author of the server." });
}
