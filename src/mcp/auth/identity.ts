// Who the person is by the word of their identity provider: the ID token of the configuration, a kept one, or a log-in there.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject } from "../../base/json/json.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import { isSameIssuer, namedServer } from "./discovery.js";
import { OAuthHttp, type OAuthPlaces } from "./http.js";
import { expiryOf, readClaims } from "./jwt.js";
import type { LoginOptions } from "./login.js";
import { type Flow, onPage, refused } from "./pages.js";
import type { Grant, GrantKey, IdentityProvider, LoginWay, OAuthOptions, OAuthSettings } from "./port.js";
import { refresh, replaceKept } from "./refresh.js";
import { chooseScope } from "./scopes.js";
import { grantOf } from "./token.js";
import { loginCommand, visible } from "./words.js";

/** Who wants to know, with the way to the person where there is one. */
export interface Asker extends LoginOptions {
  /** The MCP server, as the person calls it. */
  readonly server: string;
}

export interface Identity {
  readonly idToken: string;
  /** A kept one may be refused where one of just now would not be. */
  readonly source: "configured" | "kept" | "new";
  /** Whether there will be another one without anybody. */
  readonly isRenewable: boolean;
}

/** Rejects with `mcp.unauthorized` when nobody says who the person is, and what they can do; `isAnew` passes over what is kept. */
export async function identityOf(asker: Asker, signal: AbortSignal, isAnew = false): Promise<Identity> {
  const { oauth, world, server } = asker;
  const { way, command = loginCommand(server) } = oauth;
  const idp = providerOf(oauth.settings);
  if (idp.idToken !== undefined) {
    return { idToken: configuredToken(idp, idp.idToken, world.now()), source: "configured", isRenewable: false };
  }
  const kept = isAnew ? {} : await keptIdentity(asker, signal);
  if (kept.identity) return kept.identity;
  if (way) return await logInThere(asker, way, signal);
  const there = `the identity provider ${visible(nameOf(idp))}`;
  const text =
    kept.why === undefined ? `nobody is logged in at ${there}` : `the log-in at ${there} has ended (${kept.why})`;
  throw new TenonError("mcp.unauthorized", `${text}; log in with \`${command}\``, {
    hint: `Log in with \`${command}\`; it serves all servers with this identity provider.`,
  });
}

/** Throws `mcp.invalid_spec` where the settings name none. */
export function providerOf({ idp }: OAuthSettings): IdentityProvider {
  if (idp && (idp.issuer ?? idp.tokenEndpoint) !== undefined) return idp;
  throw new TenonError("mcp.invalid_spec", "the grant enterprise needs an identity provider", {
    hint: "Give oauth.idp of the server: its issuer and a client id.",
  });
}

/** As messages call it. */
export function nameOf({ issuer, tokenEndpoint = "" }: IdentityProvider): string {
  return issuer ?? new URL(tokenEndpoint).origin;
}

/** Its addresses are the configuration's own, and what it says of itself is held to them, not to the MCP server's. */
export function placesOf(
  { issuer = "", tokenEndpoint }: IdentityProvider,
  { world, allowHosts, urlSource }: Pick<Asker, "world" | "allowHosts" | "urlSource">,
): OAuthPlaces {
  return {
    world,
    serverUrl: tokenEndpoint ?? issuer,
    ...defined({ allowHosts, urlSource: urlSource || undefined }),
  };
}

/** No server has an address like this: what is kept here is never sent as a token of one. */
export function identityKey({ idp }: OAuthSettings, oauth: Pick<OAuthOptions, "account" | "person">): GrantKey {
  const { issuer = "", clientId = "" } = idp ?? {};
  return { issuer, resource: `urn:tenon:identity:${clientId}`, account: oauth.person ?? oauth.account };
}

/** One that has ended, or is another provider's, is not sent. */
function configuredToken(idp: IdentityProvider, idToken: string, nowMs: number): string {
  const claims = readClaims(idToken);
  const expiresAtMs = expiryOf(claims) ?? Number.POSITIVE_INFINITY;
  const hint = "Renew it where oauth.idp.idToken of the server takes it from, or leave that out and log in.";
  if (expiresAtMs <= nowMs) {
    const when = new Date(expiresAtMs).toISOString().slice(0, 16).replace("T", " ");
    const text = `the ID token for the identity provider ${visible(nameOf(idp))} has expired (${when} UTC)`;
    throw new TenonError("mcp.unauthorized", `${text}: oauth.idp.idToken of the server needs a new one`, { hint });
  }
  const issuer = claims?.["iss"];
  if (idp.issuer !== undefined && typeof issuer === "string" && !isSameIssuer(issuer, idp.issuer)) {
    const text = `the ID token is one of ${visible(issuer)}, not of the identity provider ${visible(idp.issuer)}`;
    throw new TenonError("mcp.unauthorized", `${text}: it is not sent`, { hint });
  }
  return idToken;
}

interface Kept {
  readonly identity?: Identity;
  /** Why there is none any more. */
  readonly why?: string;
}

async function keptIdentity(asker: Asker, signal: AbortSignal): Promise<Kept> {
  const { oauth, world } = asker;
  const { store, settings } = oauth;
  const key = identityKey(settings, oauth);
  const current = await store.read(key);
  if (!current || isFresh(current, world.now())) return found(current);
  const places = placesOf(providerOf(settings), asker);
  const renewal = { ...places, store, settings: clientSettings(settings), key };
  try {
    const stale = { ...renewal, staleToken: current.accessToken, isRefused: false };
    const { grant, why } = await replaceKept(stale, (grant) => refresh(stale, grant), signal);
    if (grant && isAlive(grant, world.now())) return found(grant);
    return { why: why ?? "it is too old" };
  } catch (thrown) {
    // Not every provider says who the person is when it is asked again.
    if (!(thrown instanceof TenonError) || thrown.code !== "mcp.protocol") throw thrown;
    return isAlive(current, world.now()) ? found(current) : { why: thrown.message };
  }
}

function found(grant: Grant | undefined): Kept {
  if (grant?.idToken === undefined) return {};
  const { idToken, refreshToken } = grant;
  return { identity: { idToken, source: "kept", isRenewable: refreshToken !== undefined } };
}

function isAlive({ expiresAtMs = Number.POSITIVE_INFINITY }: Grant, nowMs: number): boolean {
  return expiresAtMs > nowMs;
}

/** It need not be renewed yet. */
function isFresh({ expiresAtMs = Number.POSITIVE_INFINITY, obtainedAtMs = 0 }: Grant, nowMs: number): boolean {
  const { ms, share } = OAUTH_LIMITS.renewAhead;
  return nowMs < expiresAtMs - Math.min(ms, (expiresAtMs - obtainedAtMs) * share);
}

/** The client there is another than at the authorization servers. */
function clientSettings({ idp, callbackPort }: OAuthSettings): OAuthSettings {
  const { clientId, clientSecret, authMethod } = idp ?? {};
  return defined({ clientId, clientSecret, authMethod, callbackPort });
}

async function logInThere(asker: Asker, way: LoginWay, signal: AbortSignal): Promise<Identity> {
  const { oauth, world, server: name } = asker;
  const { store, settings } = oauth;
  const idp = providerOf(settings);
  const { issuer } = idp;
  if (issuer === undefined) {
    const text = "one cannot log in at an identity provider of which only the token endpoint is known";
    throw new TenonError("mcp.invalid_spec", text, { hint: "Give oauth.idp.issuer of the server, or idToken." });
  }
  using http = new OAuthHttp({ ...placesOf(idp, asker), serverUrl: issuer });
  const server = await namedServer(http, issuer, signal);
  const tokenEndpoint = idp.tokenEndpoint ?? server.tokenEndpoint;
  if (tokenEndpoint === undefined) throw refused(`${visible(issuer)} does not say where tokens are had`);
  const scope = chooseScope({ configured: ["openid"], serverScopes: server.scopesSupported, wantsRefresh: true });
  const flow: Flow = {
    name,
    options: { ...asker, oauth: { ...oauth, settings: clientSettings(settings) } },
    http,
    found: { issuer, server, wantsBoundTokens: false, isGuess: false },
    tokenEndpoint,
    scope,
    wantsIdToken: true,
    signal,
  };
  const { client, tokens } = await onPage(flow, way);
  const idToken = checkedToken(tokens.idToken, { ...idp, issuer });
  const { revocationEndpoint } = server;
  const kept = { client, tokenEndpoint, ...defined({ revocationEndpoint }) };
  const grant = grantOf(tokens, kept, world.now());
  await store.update(identityKey(settings, oauth), async () => grant, signal);
  world.log.info("oauth.identified", { server: name, issuer });
  return { idToken, source: "new", isRenewable: grant.refreshToken !== undefined };
}

/** By OpenID Connect: one that is not by this provider and for this client says nothing to us. */
function checkedToken(
  idToken: string | undefined,
  { issuer, clientId }: IdentityProvider & { issuer: string },
): string {
  const claims = idToken === undefined ? undefined : readClaims(idToken);
  const { iss, aud } = claims ?? {};
  const audiences = isJsonObject(aud) ? [] : [aud].flat();
  const isOurs = typeof iss === "string" && isSameIssuer(iss, issuer) && audiences.includes(clientId);
  if (idToken !== undefined && isOurs) return idToken;
  throw refused(`the ID token that ${visible(issuer)} gave is not by itself and for the client of oauth.idp`);
}
