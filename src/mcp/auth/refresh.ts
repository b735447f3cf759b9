// Replaces a grant where it is kept, one at a time whoever asks: mostly by its refresh token.
import { TenonError } from "../../base/errors.js";
import { OAuthHttp, type OAuthPlaces } from "./http.js";
import type { Grant, GrantKey, GrantStore, OAuthClient, OAuthSettings } from "./port.js";
import { grantOf, requestToken, type TokenRequest } from "./token.js";

export interface Renewal extends OAuthPlaces {
  readonly store: GrantStore;
  readonly settings: OAuthSettings;
  readonly key: GrantKey;
  /** The token to be replaced. */
  readonly staleToken: string;
  /** The server has refused it, whatever its time says. */
  readonly isRefused: boolean;
}

export interface Renewed {
  /** What is kept now: the same when nothing could be done, none when it is over. */
  readonly grant: Grant | undefined;
  /** Why it is over, in the server's words. */
  readonly why?: string;
  /** It was renewed here and now, and not by somebody else some time before. */
  readonly isFresh: boolean;
}

/** What somebody made of the grant that is kept. */
export type Answer = Pick<Renewed, "grant" | "why">;

/** A renewal on its way is not given up before its own time: the old token may be used up, and the new one would be lost. */
export const NOT_ENDED: AbortSignal = new AbortController().signal;

/** The refresh token is dead, or the client is no longer known: only a new log-in helps. */
const FINAL: ReadonlySet<string> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"]);

/**
 * Nobody else replaces it meanwhile. Rejects with `mcp.unavailable` and the like when it may work later: then nothing is lost.
 * `signal` ends only the waiting for a turn.
 */
export async function replaceKept(
  { store, key, staleToken }: Renewal,
  replace: (current: Grant) => Promise<Answer>,
  signal: AbortSignal,
): Promise<Renewed> {
  const done: { answer?: Answer } = {};
  const change = async (current: Grant | undefined): Promise<Grant | undefined> => {
    if (!current || current.accessToken !== staleToken) return current; // somebody else was here first
    done.answer = await replace(current);
    return done.answer.grant;
  };
  const grant = await store.update(key, change, signal);
  const isFresh = done.answer !== undefined && grant !== undefined && grant.accessToken !== staleToken;
  return { ...done.answer, grant, isFresh };
}

export function renewalRequest({ settings, key }: Renewal, current: Grant): Omit<TokenRequest, "params"> {
  return {
    endpoint: current.tokenEndpoint,
    client: currentClient(current.client, settings),
    settings,
    issuer: key.issuer,
    dpopKey: current.dpopKey,
    wantsIdToken: current.idToken !== undefined,
  };
}

/** By its refresh token; what has none stays as it is. */
export async function refresh(renewal: Renewal, current: Grant): Promise<Answer> {
  const { refreshToken } = current;
  if (refreshToken === undefined) return { grant: current };
  using http = new OAuthHttp(renewal);
  const params = { grant_type: "refresh_token", refresh_token: refreshToken, resource: current.resourceIndicator };
  const answer = await requestToken(http, { ...renewalRequest(renewal, current), params }, NOT_ENDED);
  if (answer.kind === "tokens") {
    // Servers that do not rotate it send none: the old one stays good.
    const tokens = { refreshToken, ...answer.tokens };
    return { grant: { ...grantOf(tokens, current, http.world.now()), ...missing(current) } };
  }
  if (!FINAL.has(answer.error)) {
    throw new TenonError("mcp.unavailable", `the log-in could not be renewed: ${answer.words}`);
  }
  if (answer.error === "invalid_client") await disown(renewal, current, answer.words);
  return { grant: await remainder(renewal, current), why: answer.words };
}

/** The client is unknown: one of the user's own has to be put right, and costs nothing yet; a registration is made anew. */
async function disown({ store, settings, key }: Renewal, { client }: Grant, words: string): Promise<void> {
  if (client.clientId === settings.clientId) {
    const text = `the authorization server does not know the client of the oauth settings: ${words}`;
    throw new TenonError("mcp.unauthorized", text, { hint: "Check clientId and clientSecret of the server." });
  }
  const kept = await store.readClient(key.issuer);
  if (kept?.clientId === client.clientId) await store.writeClient(key.issuer, undefined);
}

/** Compared before anything is deleted: a store whose lock failed must not cost the winner of a race its tokens. */
async function remainder({ store, key, isRefused, world }: Renewal, current: Grant): Promise<Grant | undefined> {
  const latest = await store.read(key);
  if (latest && latest.refreshToken !== current.refreshToken) return latest;
  const isAlive = !isRefused && (current.expiresAtMs ?? Number.POSITIVE_INFINITY) > world.now();
  if (!isAlive) return undefined;
  const { refreshToken: _dead, ...rest } = current;
  return rest;
}

/** A secret that was changed in the configuration since then is the one that counts. */
function currentClient(kept: OAuthClient, { clientId, clientSecret }: OAuthSettings): OAuthClient {
  return clientId === kept.clientId && clientSecret !== undefined ? { ...kept, clientSecret } : kept;
}

function missing({ missingScope }: Grant): Pick<Grant, "missingScope"> {
  return missingScope === undefined ? {} : { missingScope };
}
