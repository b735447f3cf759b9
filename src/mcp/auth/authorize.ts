// The authorization request and its response: PKCE, state, and who really answered.
import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { TenonError } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import type { OAuthHttp } from "./http.js";
import type { ServerMetadata } from "./metadata.js";
import { scopesOf } from "./scopes.js";
import { visible } from "./words.js";

export interface Authorization {
  readonly url: URL;
  readonly state: string;
  readonly verifier: string;
}

export interface AuthorizationQuery {
  readonly server: ServerMetadata;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope: string | undefined;
  readonly resourceIndicator: string | undefined;
}

/** Where somebody can log in safely; throws `mcp.unauthorized` where there is no page, or PKCE is not offered. */
export function checkServer({ issuer, authorizationEndpoint, pkceMethods }: ServerMetadata): string {
  if (authorizationEndpoint === undefined) throw refused(`${visible(issuer)} has no page to log in at`);
  if (pkceMethods?.includes("S256")) return authorizationEndpoint;
  throw refused(`${visible(issuer)} does not offer PKCE with S256: without it a log-in could be stolen`);
}

/** Throws what `checkServer` does, and `mcp.url_refused` for a page that must not be shown. */
export function prepareAuthorization(http: OAuthHttp, query: AuthorizationQuery): Authorization {
  const { server, clientId, redirectUri, scope, resourceIndicator } = query;
  const authorizationEndpoint = checkServer(server);
  const state = randomText(http.world);
  const verifier = randomText(http.world);
  const url = new URL(http.check(authorizationEndpoint, "the page to log in at"));
  const params = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    state,
    scope,
    resource: resourceIndicator,
    // By OpenID Connect nothing outlives the person's presence unless they are asked.
    prompt: scopesOf(scope).includes("offline_access") ? "consent" : undefined,
  };
  for (const [name, value] of Object.entries(params)) if (value !== undefined) url.searchParams.set(name, value);
  return { url, state, verifier };
}

/** The code in an authorization response. Throws `mcp.unauthorized` for a response that is not to this request, or says no. */
export function readAuthorization(response: URLSearchParams, { state }: Authorization, server: ServerMetadata): string {
  if (!isSame(response.get("state") ?? "", state)) throw refused("the answer that came back is not to this log-in");
  const issuer = response.get("iss");
  // RFC 9207: compared as text, and before anything else of the answer is believed.
  if (issuer === null ? server.namesItself : issuer !== server.issuer) {
    const who = issuer === null ? "does not say whose it is" : `is from another server ("${visible(issuer)}")`;
    throw refused(`the answer that came back ${who}, not from ${visible(server.issuer)}: it is not used`);
  }
  const error = response.get("error");
  if (error !== null) {
    const words = [error, response.get("error_description")].filter((word) => word !== null).join(": ");
    throw refused(`the authorization server refused the log-in: ${visible(words)}`);
  }
  const code = response.get("code");
  if (code === null || code === "") throw refused("the answer that came back holds no code");
  return code;
}

function refused(text: string): TenonError {
  return new TenonError("mcp.unauthorized", text, { hint: "Try again, or tell the author of the server." });
}

function randomText(world: World): string {
  return Buffer.from(world.randomBytes(32)).toString("base64url");
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
