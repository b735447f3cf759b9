// Replaces a stored grant, one process at a time, usually with its refresh token.
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { type AddressRules, OAuthHttp, OAuthRefusal } from "./http.js";
import type { Grant, GrantKey, GrantStore, OAuthSettings } from "./port.js";
import { grantOf, requestToken, type TokenContext } from "./tokens.js";

export interface Renewal extends AddressRules {
  readonly store: GrantStore;
  readonly settings: OAuthSettings;
  readonly key: GrantKey;
  /** The token to replace. */
  readonly staleToken: string;
  /** The server has refused it, whatever its expiry says. */
  readonly isRefused: boolean;
}

export interface Renewed {
  /** The grant that is stored now: the same if nothing could be done, undefined if the log-in has ended. */
  readonly grant: Grant | undefined;
  /** Why it has ended, in the server's words. */
  readonly why?: string;
}

/** A renewal is never aborted: the old refresh token may be used up, and the new one would be lost. */
export const NOT_ABORTED: AbortSignal = new AbortController().signal;

/** The refresh token is invalid, or the client is unknown: only a new log-in helps. */
const FINAL: ReadonlySet<string | undefined> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"]);

/**
 * Runs `replace` while no other process changes the grant, unless another one has replaced it already (`isFresh` is false
 * then). Rejects with `mcp.unavailable` and the like if a later attempt may succeed. `signal` ends only the wait for the lock.
 */
export async function replaceStored(
  { store, key, staleToken }: Renewal,
  replace: (current: Grant) => Promise<Renewed>,
  signal: AbortSignal,
): Promise<Renewed & { readonly isFresh: boolean }> {
  const done: { result?: Renewed } = {};
  const change = async (current: Grant | undefined): Promise<Grant | undefined> => {
    if (!current || current.accessToken !== staleToken) return current;
    done.result = await replace(current);
    return done.result.grant;
  };
  const grant = await store.update(key, change, signal);
  const isFresh = done.result !== undefined && grant !== undefined && grant.accessToken !== staleToken;
  return { ...done.result, grant, isFresh };
}

export function renewalContext({ settings, key }: Renewal, { client, ...current }: Grant): TokenContext {
  const { clientId, clientSecret } = settings;
  // A secret that was changed in the configuration meanwhile replaces the stored one.
  const isChanged = clientId === client.clientId && clientSecret !== undefined;
  return {
    endpoint: current.tokenEndpoint,
    client: isChanged ? { ...client, clientSecret } : client,
    settings,
    issuer: key.issuer,
    dpopKey: current.dpopKey,
    wantsIdToken: current.idToken !== undefined,
  };
}

/** Uses the refresh token; a grant without one stays as it is. */
export async function refresh(renewal: Renewal, current: Grant): Promise<Renewed> {
  const { refreshToken, resourceIndicator: resource, missingScope } = current;
  if (refreshToken === undefined) return { grant: current };
  using http = new OAuthHttp(renewal, NOT_ABORTED);
  const params = { refresh_token: refreshToken, resource };
  const request = { ...renewalContext(renewal, current), grantType: "refresh_token", params };
  const answer = await requestToken(http, request);
  if (!(answer instanceof OAuthRefusal)) {
    // A server that does not rotate refresh tokens sends none: the old one stays valid.
    const tokens = { refreshToken, ...answer };
    return { grant: { ...grantOf(tokens, current, http.world.now()), ...defined({ missingScope }) } };
  }
  const { error, words } = answer;
  if (!FINAL.has(error)) throw new TenonError("mcp.unavailable", `the log-in could not be renewed: ${words}`);
  if (error === "invalid_client") await dropClient(renewal, current, words);
  return { grant: await remainder(renewal, current), why: words };
}

/** The client is unknown: the user has to correct a configured one; a registration is dropped, to register again. */
async function dropClient({ store, settings, key }: Renewal, { client }: Grant, words: string): Promise<void> {
  if (client.clientId === settings.clientId) {
    const text = `the authorization server does not know the client of the oauth settings: ${words}`;
    throw new TenonError("mcp.unauthorized", text, { hint: "Check clientId and clientSecret of the server." });
  }
  const stored = await store.readClient(key.issuer);
  if (stored?.clientId === client.clientId) await store.writeClient(key.issuer, undefined);
}

/** Compared before anything is removed: if a store's lock failed, the winner of a race must keep its tokens. */
async function remainder({ store, key, isRefused, world }: Renewal, current: Grant): Promise<Grant | undefined> {
  const latest = await store.read(key);
  if (latest && latest.refreshToken !== current.refreshToken) return latest;
  const isAlive = !isRefused && (current.expiresAtMs ?? Number.POSITIVE_INFINITY) > world.now();
  if (!isAlive) return undefined;
  const { refreshToken: _invalid, ...rest } = current;
  return rest;
}
