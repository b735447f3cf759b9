// Discovery: the metadata of a protected resource (RFC 9728), then that of its authorization server (RFC 8414).
import type { AuthorizationServer, ResourceServer } from "oauth4webapi";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonValue } from "../../base/json/json.js";
import { isUrl } from "../../base/text/url.js";
import type { Challenge } from "../transport/http/request-access.js";
import type { OAuthHttp } from "./http.js";
import { loginRefused, visible } from "./messages.js";

export interface Discovered {
  /** Grants and registrations are stored under this: where the metadata was found, never only what it claims. */
  readonly issuer: string;
  readonly server: AuthorizationServer;
  /** The `resource` of every token request, exactly as the server spells it; absent for servers older than that. */
  readonly resourceIndicator?: string;
  /** The scopes that the resource's metadata lists. */
  readonly scopesSupported?: readonly string[];
  /** The server accepts only tokens that are bound to a key. */
  readonly wantsBoundTokens: boolean;
  /** No metadata was found: the endpoints are the defaults of protocol version 2025-03-26. */
  readonly isGuess: boolean;
}

export interface Resource {
  readonly url: string;
  readonly challenge?: Challenge | undefined;
  /** The preferred authorization server if the resource names several. */
  readonly wantedIssuer?: string | undefined;
}

const TELL = "Tell the author of the server.";

/** Rejects with `mcp.url_refused`, `mcp.unavailable`, or `mcp.unauthorized` for metadata that must not be used. */
export async function discover(http: OAuthHttp, resource: Resource): Promise<Discovered> {
  const metadata = await resourceMetadata(http, resource);
  if (metadata && !isResourceOf(metadata.resource, resource.url)) {
    const text = `the server's metadata is about another resource ("${visible(metadata.resource)}"): no token is asked for it`;
    throw loginRefused(text, "Check the server's URL, or tell its author.");
  }
  const issuers = metadata?.authorization_servers ?? [];
  const { wantedIssuer } = resource;
  const issuer = issuers.find((name) => wantedIssuer !== undefined && isSameIssuer(name, wantedIssuer)) ?? issuers[0];
  const about = {
    wantsBoundTokens: metadata?.dpop_bound_access_tokens_required === true || resource.challenge?.scheme === "dpop",
    ...defined({ resourceIndicator: metadata?.resource, scopesSupported: metadata?.scopes_supported }),
  };
  if (issuer !== undefined) return { issuer, server: await namedServer(http, issuer), ...about, isGuess: false };
  const { origin } = new URL(resource.url);
  const own = await serverMetadata(http, origin);
  return { issuer: origin, server: own ?? defaultServer(origin), ...about, isGuess: !own && !metadata };
}

async function resourceMetadata(http: OAuthHttp, { url, challenge }: Resource): Promise<ResourceServer | undefined> {
  const { origin, pathname, search } = new URL(url);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const places = [`${root}${pathOf(pathname)}${search}`, root];
  const named = challenge?.resourceMetadata;
  if (named !== undefined) places.unshift(isUrl(named, url) ? new URL(named, url).href : named);
  return await firstMetadata(http, places, "the server's metadata", readResourceMetadata);
}

/** At the first of these places that has some. */
async function firstMetadata<T>(
  http: OAuthHttp,
  places: readonly string[],
  what: string,
  read: (json: JsonValue | undefined) => T | undefined,
): Promise<T | undefined> {
  for (const place of new Set(places)) {
    const found = read(await http.getJson(place, what));
    if (found) return found;
  }
  return undefined;
}

/** The metadata of a named authorization server. Rejects as `discover` does. */
export async function namedServer(http: OAuthHttp, issuer: string): Promise<AuthorizationServer> {
  const server = await serverMetadata(http, issuer);
  if (!server) throw loginRefused(`the authorization server ${visible(issuer)} does not describe itself`, TELL);
  if (!isSameIssuer(server.issuer, issuer)) {
    const text = `the metadata of the authorization server ${visible(issuer)} is that of another one ("${visible(server.issuer)}")`;
    throw loginRefused(`${text}: it is not used`, TELL);
  }
  return server;
}

/** RFC 8414 and OpenID Connect, at each location that is valid for an issuer with a path. */
async function serverMetadata(http: OAuthHttp, issuer: string): Promise<AuthorizationServer | undefined> {
  const { origin, pathname } = http.check(issuer, "the authorization server");
  const path = pathOf(pathname);
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  return await firstMetadata(http, places, "the authorization server's metadata", readServerMetadata);
}

function pathOf(pathname: string): string {
  return pathname.replace(/\/$/u, "");
}

/** Undefined for any other document, such as an error page. */
function readResourceMetadata(json: JsonValue | undefined): ResourceServer | undefined {
  if (!isJsonObject(json) || typeof json["resource"] !== "string") return undefined;
  return {
    resource: json["resource"],
    ...defined({
      authorization_servers: textsOf(json["authorization_servers"]),
      scopes_supported: textsOf(json["scopes_supported"]),
    }),
    dpop_bound_access_tokens_required: json["dpop_bound_access_tokens_required"] === true,
  };
}

/** Fields of the wrong type are left out. */
function readServerMetadata(json: JsonValue | undefined): AuthorizationServer | undefined {
  if (!isJsonObject(json) || typeof json["issuer"] !== "string") return undefined;
  return {
    issuer: json["issuer"],
    ...defined({
      authorization_endpoint: textOf(json["authorization_endpoint"]),
      token_endpoint: textOf(json["token_endpoint"]),
      registration_endpoint: textOf(json["registration_endpoint"]),
      revocation_endpoint: textOf(json["revocation_endpoint"]),
      device_authorization_endpoint: textOf(json["device_authorization_endpoint"]),
      scopes_supported: textsOf(json["scopes_supported"]),
      code_challenge_methods_supported: textsOf(json["code_challenge_methods_supported"]),
      token_endpoint_auth_methods_supported: textsOf(json["token_endpoint_auth_methods_supported"]),
      dpop_signing_alg_values_supported: textsOf(json["dpop_signing_alg_values_supported"]),
    }),
    authorization_response_iss_parameter_supported: json["authorization_response_iss_parameter_supported"] === true,
    client_id_metadata_document_supported: json["client_id_metadata_document_supported"] === true,
  };
}

/** The endpoints of a server without metadata, by protocol version 2025-03-26. */
function defaultServer(origin: string): AuthorizationServer {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ["S256"],
  };
}

/** Issuers that differ by a last slash are the same (RFC 8414, section 3.1), and servers are careless about it. */
export function isSameIssuer(one: string, other: string): boolean {
  return pathOf(one) === pathOf(other);
}

/** A server may name itself or a parent path as the resource, but no other origin and no sibling. */
export function isResourceOf(named: string, serverUrl: string): boolean {
  if (!isUrl(named)) return false;
  const resource = new URL(named);
  const server = new URL(serverUrl);
  if (resource.origin !== server.origin) return false;
  return `${pathOf(server.pathname)}/`.startsWith(`${pathOf(resource.pathname)}/`);
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function textsOf(value: JsonValue | undefined): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
}
