// Asks a token endpoint, and reads what it says: tokens, or a refusal with its code.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { KnownSecrets } from "../../base/text/secrets.js";
import { type ProofContext, proveClient } from "./client-auth.js";
import { dpopProof } from "./dpop.js";
import type { HttpReply, OAuthHttp } from "./http.js";
import { expiryOf, readClaims } from "./jwt.js";
import type { Grant, OAuthClient, OAuthSettings } from "./port.js";
import { visible } from "./words.js";

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly expiresAtMs?: number;
  readonly scope?: string;
  /** The key they are bound to, where they are. */
  readonly dpopKey?: string;
  /** Only where it was asked for. */
  readonly idToken?: string;
}

/** The server's own answer (RFC 6749, section 5.2); whatever else goes wrong is thrown. */
export interface TokenRefusal {
  readonly kind: "refused";
  readonly error: string;
  readonly words: string;
}

export type TokenAnswer = { readonly kind: "tokens"; readonly tokens: Tokens } | TokenRefusal;

/** An answer of the endpoint that is no refusal, and not read yet. */
export interface TokenReply {
  readonly kind: "answered";
  readonly status: number;
  /** Undefined where it is no success, or no object. */
  readonly json: JsonObject | undefined;
}

export interface TokenRequest {
  readonly endpoint: string;
  readonly client: OAuthClient;
  readonly settings: OAuthSettings;
  readonly issuer: string;
  /** Grant type and what it needs; undefined ones are left out. */
  readonly params: Readonly<Record<string, string | undefined>>;
  /** Asks for tokens bound to this key. */
  readonly dpopKey?: string | undefined;
  /** The identity provider is asked who the person is: without an ID token the answer is worth nothing. */
  readonly wantsIdToken?: boolean;
  /** What messages call it: "the token request" unless given. */
  readonly what?: string;
}

/** The grant of those who bring somebody's assertion (RFC 7523). */
export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

const WHAT = "the token request";

/** What a server could say back in its refusal. */
const SECRET_PARAMS = ["assertion", "subject_token", "refresh_token", "code", "code_verifier", "device_code"];

/** Rejects with `mcp.unavailable` when asking again later may help, `mcp.protocol` when the answer makes no sense. */
export async function requestToken(http: OAuthHttp, request: TokenRequest, signal: AbortSignal): Promise<TokenAnswer> {
  const { world } = http;
  const { what = WHAT } = request;
  const askedAtMs = world.now();
  const reply = await askEndpoint(http, request, signal);
  if (reply.kind === "refused") return reply;
  const tokens = reply.json && readTokens(reply.json, { ...request, what, askedAtMs });
  if (!tokens) throw new TenonError("mcp.protocol", `${what}: the answer holds no token (status ${reply.status})`);
  const { accessToken, refreshToken, idToken } = tokens;
  world.trace?.hide([accessToken, refreshToken, idToken].filter((secret) => secret !== undefined));
  return { kind: "tokens", tokens };
}

/** One request to a token endpoint, whatever it is to give. Rejects as `requestToken` does. */
export async function askEndpoint(
  http: OAuthHttp,
  request: TokenRequest,
  signal: AbortSignal,
): Promise<TokenReply | TokenRefusal> {
  const { dpopKey, what = WHAT } = request;
  let reply = await post(http, request, { signal });
  const nonce = reply.dpopNonce;
  if (dpopKey !== undefined && nonce !== undefined && errorIn(reply) === "use_dpop_nonce") {
    reply = await post(http, request, { signal, nonce });
  }
  const { status, json } = reply;
  if (isJsonObject(json) && typeof json["error"] === "string") return refusal(json["error"], json, request);
  if (status >= 500 || status === 429) {
    throw new TenonError("mcp.unavailable", `${what}: the server that was asked is not available (status ${status})`);
  }
  return { kind: "answered", status, json: isJsonObject(json) && status >= 200 && status <= 299 ? json : undefined };
}

/** Anew each time: no proof is good twice. */
async function post(
  http: OAuthHttp,
  { endpoint: url, client, settings, issuer, params, dpopKey: key, what = WHAT }: TokenRequest,
  { signal, nonce }: { readonly signal: AbortSignal; readonly nonce?: string },
): Promise<HttpReply> {
  const { world } = http;
  const context: ProofContext = { world, settings, issuer };
  const proof = proveClient(client, context);
  const dpop = key === undefined ? {} : { dpop: dpopProof({ world, key, method: "POST", url, nonce }) };
  const headers = { ...proof.headers, ...dpop };
  return await http.postForm({ url, params: formOf({ ...params, ...proof.params }), headers }, what, signal);
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
  kept: Pick<Grant, "client" | "tokenEndpoint" | "revocationEndpoint" | "resourceIndicator" | "scope" | "audience">,
  nowMs: number,
): Grant {
  const { scope = kept.scope, ...rest } = tokens;
  const { client, tokenEndpoint, revocationEndpoint, resourceIndicator, audience } = kept;
  return {
    ...rest,
    obtainedAtMs: nowMs,
    ...defined({ scope }),
    client,
    tokenEndpoint,
    ...defined({ revocationEndpoint, resourceIndicator, audience }),
  };
}

function refusal(error: string, json: JsonObject, { params, client }: TokenRequest): TokenRefusal {
  const { error_description: described } = json;
  const said = typeof described === "string" ? `${error}: ${described}` : error;
  const sent = new KnownSecrets();
  const secrets = [...SECRET_PARAMS.map((name) => params[name]), client.clientSecret];
  sent.learn(secrets.filter((secret) => secret !== undefined));
  return { kind: "refused", error, words: visible(sent.takenFrom(said)) };
}

interface Asked extends Pick<TokenRequest, "dpopKey" | "wantsIdToken"> {
  readonly what: string;
  readonly askedAtMs: number;
}

function readTokens(json: JsonObject, { askedAtMs, dpopKey, wantsIdToken, what }: Asked): Tokens | undefined {
  const { access_token: accessToken, refresh_token: refreshToken, token_type: type, scope } = json;
  if (typeof accessToken !== "string" || !SENDABLE.test(accessToken)) return undefined;
  const kind = typeof type === "string" ? type.toLowerCase() : "bearer";
  const isBound = kind === "dpop" && dpopKey !== undefined;
  if (kind !== "bearer" && !isBound) {
    throw new TenonError("mcp.protocol", `${what}: tokens of the type "${visible(kind)}" are not supported`);
  }
  const seconds = Number(json["expires_in"] ?? Number.NaN);
  return {
    accessToken,
    ...defined({
      refreshToken: typeof refreshToken === "string" && refreshToken !== "" ? refreshToken : undefined,
      expiresAtMs: Number.isFinite(seconds) && seconds >= 0 ? askedAtMs + seconds * 1000 : undefined,
      scope: typeof scope === "string" && scope !== "" ? scope : undefined,
      dpopKey: isBound ? dpopKey : undefined,
    }),
    ...(wantsIdToken === true ? readIdToken(json, what) : {}),
  };
}

/** It ends when it says so itself, whatever the access token that came with it does. */
function readIdToken(json: JsonObject, what: string): Pick<Tokens, "idToken" | "expiresAtMs"> {
  const { id_token: idToken } = json;
  if (typeof idToken !== "string" || !SENDABLE.test(idToken)) {
    throw new TenonError("mcp.protocol", `${what}: the answer holds no ID token`, {
      hint: "The client has to be allowed the scope openid there.",
    });
  }
  const expiresAtMs = expiryOf(readClaims(idToken));
  return { idToken, ...defined({ expiresAtMs }) };
}

/** What may stand in a header. */
const SENDABLE = /^[\x21-\x7e]+$/u;
