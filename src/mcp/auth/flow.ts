// One log-in from the question to the kept grant: who gives out tokens, which client we are, the person or the machine, the tokens.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import type { RemoteSpec } from "../spec.js";
import { userHeaders } from "../transport/http/headers.js";
import type { Challenge } from "../transport/http/request-access.js";
import { type Discovered, discover, isSameIssuer } from "./discovery.js";
import { DPOP_ALGORITHM, newDpopKey } from "./dpop.js";
import { enterpriseTokens } from "./enterprise.js";
import { OAuthHttp } from "./http.js";
import type { LoggedIn, LoginOptions } from "./login.js";
import { machineTokens } from "./machine.js";
import { aimOf, type Flow, type Obtained, onPage, queryOf, refused, requestOf } from "./pages.js";
import type { GrantKey, OAuthClient, OAuthSettings } from "./port.js";
import { probe } from "./probe.js";
import { knownClient } from "./registration.js";
import { resourceOf } from "./resource.js";
import { chooseScope } from "./scopes.js";
import { needsNoPage, settingsSecrets } from "./settings.js";
import { grantOf } from "./token.js";
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
  world.trace?.hide(settingsSecrets(oauth.settings));
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
  const flow: Flow = { name: spec.name, options, http, found, tokenEndpoint, scope, dpopKey, signal };
  const gained = await obtain(flow, spec);
  return await keep(flow, key, gained);
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
    wantsRefresh: !needsNoPage(oauth.settings),
  });
}

interface Gained extends Obtained {
  /** Whether it can be had again without anybody, where no refresh token says so. */
  readonly isRenewable: boolean;
}

async function obtain(flow: Flow, spec: RemoteSpec): Promise<Gained> {
  const { settings, way, command = loginCommand(flow.name) } = flow.options.oauth;
  if (settings.grant === "enterprise") return await asKnownPerson(flow, spec);
  if (needsNoPage(settings)) return await asMachine(flow);
  if (!way) {
    const hint = `Log in with \`${command}\`.`;
    throw new TenonError("mcp.unauthorized", "a person has to log in", { hint });
  }
  return { ...(await onPage(flow, way)), isRenewable: false };
}

async function asMachine(flow: Flow): Promise<Gained> {
  const { http, signal } = flow;
  const client = ownClient(flow);
  const tokens = await machineTokens(http, { ...requestOf(flow, client), ...aimOf(flow) }, signal);
  return { client, tokens, isRenewable: true };
}

async function asKnownPerson(flow: Flow, spec: RemoteSpec): Promise<Gained> {
  const { http, signal, options, found } = flow;
  const client = ownClient(flow);
  const { resourceIndicator = resourceOf(spec.url) } = found;
  const aim = { scope: flow.scope, resourceIndicator, audience: audienceOf(found) };
  const query = { ...requestOf(flow, client), ...aim, asker: { ...options, server: flow.name } };
  return { client, ...(await enterpriseTokens(http, query, signal)) };
}

function ownClient(flow: Flow): OAuthClient {
  const client = knownClient(queryOf(flow));
  if (client) return client;
  const { grant } = flow.options.oauth.settings;
  const hint = "Give oauth.clientId of the server.";
  throw new TenonError("mcp.invalid_spec", `the grant ${grant} needs a client id`, { hint });
}

/**
 * What the identity provider is asked to vouch to. An authorization server that calls itself by another's name would be given
 * what is good at that other one.
 */
function audienceOf({ issuer, server }: Discovered): string {
  if (isSameIssuer(issuer, server.issuer)) return server.issuer;
  throw refused(
    `the authorization server at ${visible(issuer)} calls itself ${visible(server.issuer)}: it is not used`,
  );
}

async function keep(flow: Flow, key: GrantKey, { client, tokens, isRenewable }: Gained): Promise<LoggedIn> {
  const { options, found, tokenEndpoint, scope, signal, name } = flow;
  const { store } = options.oauth;
  const { revocationEndpoint } = found.server;
  const kept = {
    client,
    tokenEndpoint,
    ...defined({
      revocationEndpoint,
      resourceIndicator: found.resourceIndicator,
      scope,
      audience: options.oauth.settings.grant === "enterprise" ? found.server.issuer : undefined,
    }),
  };
  const grant = grantOf(tokens, kept, options.world.now());
  await store.update(key, async () => grant, signal);
  // The server has another authorization server now: tokens of the one before are of no use to it.
  for (const old of await store.find(key.resource, key.account)) {
    if (old.issuer !== key.issuer) await store.update(old, async () => undefined, signal);
  }
  options.world.log.info("oauth.logged_in", { server: name, issuer: key.issuer, account: key.account });
  return {
    key,
    ...defined({ scope: grant.scope, expiresAtMs: grant.expiresAtMs }),
    isRenewable: isRenewable || grant.refreshToken !== undefined,
  };
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
