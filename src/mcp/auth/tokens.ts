// Token requests: sends one to a token endpoint and returns the tokens, or the server's refusal.

import * as protocol from "oauth4webapi";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { clientAuthentication } from "./client.js";
import { type OAuthHttp, OAuthRefusal } from "./http.js";
import { dpopProof, expiryOf, readClaims } from "./jwt.js";
import { visible } from "./messages.js";
import type { Grant, OAuthClient, OAuthSettings } from "./port.js";

/** `idToken` only if it was requested. */
export type Tokens = Pick<Grant, "accessToken" | "refreshToken" | "expiresAtMs" | "scope" | "dpopKey" | "idToken">;

/** Tokens obtained without a page of the authorization server. */
export interface UnattendedTokens {
  readonly tokens: Tokens;
  /** Whether they can be renewed without a person, apart from a refresh token. */
  readonly isRenewable: boolean;
}

/** Where tokens are requested, and as which client. */
export interface TokenContext {
  readonly endpoint: string;
  readonly client: OAuthClient;
  readonly settings: OAuthSettings;
  readonly issuer: string;
  /** Requests tokens bound to this key. */
  readonly dpopKey?: string | undefined;
  /** The answer must contain an ID token. */
  readonly wantsIdToken?: boolean;
  /** Names the request in messages; "the token request" unless given. */
  readonly what?: string;
}

export interface TokenRequest extends TokenContext {
  readonly grantType: string;
  /** Undefined parameters are left out. */
  readonly params: Readonly<Record<string, string | undefined>>;
}

/** The grant type for an assertion (RFC 7523). */
export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** Parameters that a server could repeat in its error text. */
const SECRET_PARAMS = ["assertion", "subject_token", "refresh_token", "code", "code_verifier", "device_code"];

/** The characters allowed in a header. */
const SENDABLE = /^[\x21-\x7e]+$/u;

/** Rejects with `mcp.unavailable` if a later attempt may succeed, and `mcp.protocol` for an answer that makes no sense. */
export async function requestToken(http: OAuthHttp, request: TokenRequest): Promise<Tokens | OAuthRefusal> {
  const { dpopKey, wantsIdToken, what = "the token request" } = request;
  const askedAtMs = http.world.now();
  const answer = await askTokenEndpoint(http, request);
  if (answer instanceof OAuthRefusal) return answer;
  const { access_token: accessToken, token_type: type, expires_in: seconds, refresh_token: refreshToken } = answer;
  const isBound = type === "dpop" && dpopKey !== undefined;
  if (type !== "bearer" && !isBound) {
    throw new TenonError("mcp.protocol", `${what}: tokens of the type "${visible(type)}" are not supported`);
  }
  const tokens = {
    accessToken,
    ...defined({
      refreshToken,
      expiresAtMs: seconds === undefined ? undefined : askedAtMs + seconds * 1000,
      scope: answer.scope,
      dpopKey: isBound ? dpopKey : undefined,
    }),
    ...(wantsIdToken === true ? readIdToken(answer.idToken, what) : {}),
  };
  const { idToken } = { idToken: undefined, ...tokens };
  http.world.trace?.hide([accessToken, refreshToken, idToken].filter((secret) => secret !== undefined));
  return tokens;
}

type TokenAnswer = protocol.TokenEndpointResponse & { readonly idToken: string | undefined };

/** One request to a token endpoint, for any kind of token. Rejects as `requestToken` does. */
export async function askTokenEndpoint(http: OAuthHttp, request: TokenRequest): Promise<TokenAnswer | OAuthRefusal> {
  const answer = await ask(http, request);
  if (!(answer instanceof OAuthRefusal)) return answer;
  const { error, dpopNonce, words } = answer;
  if (error === undefined) {
    throw new TenonError("mcp.protocol", `${request.what ?? "the token request"}: no token was given (${words})`);
  }
  const mayRepeat = error === "use_dpop_nonce" && request.dpopKey !== undefined && dpopNonce !== undefined;
  return mayRepeat ? await ask(http, request, dpopNonce) : answer;
}

/** Every attempt has its own assertion and proof: each is valid once. */
async function ask(http: OAuthHttp, request: TokenRequest, nonce?: string): Promise<TokenAnswer | OAuthRefusal> {
  const { endpoint, issuer, client, settings, grantType, dpopKey: key, what = "the token request" } = request;
  const { world } = http;
  const server = { issuer, token_endpoint: endpoint };
  const known = { client_id: client.clientId };
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(request.params)) if (value !== undefined) params.set(name, value);
  const proof = key === undefined ? undefined : dpopProof({ world, key, method: "POST", url: endpoint, nonce });
  const authentication = clientAuthentication(client, { world, settings, issuer });
  let idToken: string | undefined;
  return await http.perform({
    endpoint,
    what,
    headers: defined({ dpop: proof }),
    secrets: [...SECRET_PARAMS.map((name) => request.params[name]), client.clientSecret],
    repair: (json) => {
      idToken = typeof json["id_token"] === "string" ? json["id_token"] : undefined;
      return repaired(json);
    },
    send: (options) => protocol.genericTokenEndpointRequest(server, known, authentication, grantType, params, options),
    read: async (response) => {
      const recognizedTokenTypes = { n_a: () => {} }; // what an identity provider issues is no access token
      const answer = await protocol.processGenericTokenEndpointResponse(server, known, response, {
        recognizedTokenTypes,
      });
      if (!SENDABLE.test(answer.access_token))
        throw new TenonError("mcp.protocol", `${what}: the token cannot be sent`);
      return { ...answer, idToken };
    },
  });
}

/** ID tokens are checked by the code that requests them: oauth4webapi rejects answers with one it cannot validate. */
function repaired({ id_token: _idToken, expires_in: expires, scope, ...json }: JsonObject): JsonObject {
  const seconds = Number(expires ?? Number.NaN);
  return {
    token_type: "Bearer",
    ...json,
    ...defined({
      expires_in: Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined,
      scope: typeof scope === "string" ? scope : undefined,
    }),
  };
}

/** The expiry is that of the ID token, not of the access token beside it. */
function readIdToken(idToken: string | undefined, what: string): Pick<Tokens, "idToken" | "expiresAtMs"> {
  if (idToken === undefined || !SENDABLE.test(idToken)) {
    throw new TenonError("mcp.protocol", `${what}: the answer holds no ID token`, {
      hint: "The client has to be allowed the scope openid there.",
    });
  }
  return { idToken, ...defined({ expiresAtMs: expiryOf(readClaims(idToken)) }) };
}

/** The grant to store: the tokens with everything the next renewal needs. */
export function grantOf(
  tokens: Tokens,
  kept: Pick<Grant, "client" | "tokenEndpoint" | "revocationEndpoint" | "resourceIndicator" | "scope" | "audience">,
  nowMs: number,
): Grant {
  const { client, tokenEndpoint, revocationEndpoint, resourceIndicator, audience } = kept;
  const { scope = kept.scope, ...rest } = tokens;
  const optional = defined({ scope, revocationEndpoint, resourceIndicator, audience });
  return { ...rest, obtainedAtMs: nowMs, client, tokenEndpoint, ...optional };
}
