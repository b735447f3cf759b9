// Asks a token endpoint, and reads what it says: tokens, or a refusal with its code.
import { TenonError } from "../../base/errors.js";
import { isJsonObject, type JsonObject } from "../../base/json.js";
import { type ProofContext, proveClient } from "./client-auth.js";
import { dpopProof } from "./dpop.js";
import type { HttpReply, OAuthHttp } from "./http.js";
import type { Grant, OAuthClient, OAuthSettings } from "./port.js";
import { visible } from "./words.js";

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly expiresAtMs?: number;
  readonly scope?: string;
  /** The key they are bound to, where they are. */
  readonly dpopKey?: string;
}

/** `refused` is the server's own answer (RFC 6749, section 5.2); whatever else goes wrong is thrown. */
export type TokenAnswer =
  | { readonly kind: "tokens"; readonly tokens: Tokens }
  | { readonly kind: "refused"; readonly error: string; readonly words: string };

export interface TokenRequest {
  readonly endpoint: string;
  readonly client: OAuthClient;
  readonly settings: OAuthSettings;
  readonly issuer: string;
  /** Grant type and what it needs; undefined ones are left out. */
  readonly params: Readonly<Record<string, string | undefined>>;
  /** Asks for tokens bound to this key. */
  readonly dpopKey?: string | undefined;
}

const WHAT = "the token request";

/** Rejects with `mcp.unavailable` when asking again later may help, `mcp.protocol` when the answer makes no sense. */
export async function requestToken(http: OAuthHttp, request: TokenRequest, signal: AbortSignal): Promise<TokenAnswer> {
  const { world } = http;
  const { dpopKey } = request;
  const askedAtMs = world.now();
  let reply = await post(http, request, { signal });
  const nonce = reply.dpopNonce;
  if (dpopKey !== undefined && nonce !== undefined && errorIn(reply) === "use_dpop_nonce") {
    reply = await post(http, request, { signal, nonce });
  }
  const { status, json } = reply;
  if (isJsonObject(json) && typeof json["error"] === "string") return refusal(json["error"], json);
  if (status >= 500 || status === 429) {
    throw new TenonError("mcp.unavailable", `${WHAT}: the authorization server is not available (status ${status})`);
  }
  const tokens =
    isJsonObject(json) && status >= 200 && status <= 299 ? readTokens(json, { askedAtMs, dpopKey }) : undefined;
  if (!tokens) throw new TenonError("mcp.protocol", `${WHAT}: the answer holds no token (status ${status})`);
  world.trace?.hide([tokens.accessToken, ...(tokens.refreshToken === undefined ? [] : [tokens.refreshToken])]);
  return { kind: "tokens", tokens };
}

/** Anew each time: no proof is good twice. */
async function post(
  http: OAuthHttp,
  { endpoint: url, client, settings, issuer, params, dpopKey: key }: TokenRequest,
  { signal, nonce }: { readonly signal: AbortSignal; readonly nonce?: string },
): Promise<HttpReply> {
  const { world } = http;
  const context: ProofContext = { world, settings, issuer };
  const proof = proveClient(client, context);
  const dpop = key === undefined ? {} : { dpop: dpopProof({ world, key, method: "POST", url, nonce }) };
  const headers = { ...proof.headers, ...dpop };
  return await http.postForm({ url, params: formOf({ ...params, ...proof.params }), headers }, WHAT, signal);
}

function errorIn({ json }: HttpReply): unknown {
  return isJsonObject(json) ? json["error"] : undefined;
}

export function formOf(params: Readonly<Record<string, string | undefined>>): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined) form.set(name, value);
  return form;
}

/** What is kept of tokens: with all that the next renewal needs. */
export function grantOf(
  tokens: Tokens,
  kept: Pick<Grant, "client" | "tokenEndpoint" | "revocationEndpoint" | "resourceIndicator" | "scope">,
  nowMs: number,
): Grant {
  const { scope = kept.scope, ...rest } = tokens;
  const { client, tokenEndpoint, revocationEndpoint, resourceIndicator } = kept;
  return {
    ...rest,
    obtainedAtMs: nowMs,
    ...(scope === undefined ? {} : { scope }),
    client,
    tokenEndpoint,
    ...(revocationEndpoint === undefined ? {} : { revocationEndpoint }),
    ...(resourceIndicator === undefined ? {} : { resourceIndicator }),
  };
}

function refusal(error: string, json: JsonObject): TokenAnswer {
  const { error_description: described } = json;
  const words = typeof described === "string" ? `${error}: ${described}` : error;
  return { kind: "refused", error, words: visible(words) };
}

function readTokens(
  json: JsonObject,
  { askedAtMs, dpopKey }: { readonly askedAtMs: number; readonly dpopKey: string | undefined },
): Tokens | undefined {
  const { access_token: accessToken, refresh_token: refreshToken, token_type: type, scope } = json;
  if (typeof accessToken !== "string" || !SENDABLE.test(accessToken)) return undefined;
  const kind = typeof type === "string" ? type.toLowerCase() : "bearer";
  const isBound = kind === "dpop" && dpopKey !== undefined;
  if (kind !== "bearer" && !isBound) {
    throw new TenonError("mcp.protocol", `${WHAT}: tokens of the type "${visible(kind)}" are not supported`);
  }
  const seconds = Number(json["expires_in"] ?? Number.NaN);
  return {
    accessToken,
    ...(typeof refreshToken === "string" && refreshToken !== "" ? { refreshToken } : {}),
    ...(Number.isFinite(seconds) && seconds >= 0 ? { expiresAtMs: askedAtMs + seconds * 1000 } : {}),
    ...(typeof scope === "string" && scope !== "" ? { scope } : {}),
    ...(isBound ? { dpopKey } : {}),
  };
}

/** What may stand in a header. */
const SENDABLE = /^[\x21-\x7e]+$/u;
