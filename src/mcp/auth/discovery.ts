// Finds out who gives out tokens for a server: its own metadata, then that of its authorization server.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { Challenge } from "../transport/http/request-access.js";
import type { HttpReply, OAuthHttp } from "./http.js";
import {
  defaultServerMetadata,
  type ResourceMetadata,
  readResourceMetadata,
  readServerMetadata,
  type ServerMetadata,
} from "./metadata.js";
import { isResourceOf } from "./resource.js";
import { visible } from "./words.js";

export interface Discovered {
  /** Under which grants and registrations are kept: where the metadata was found, never only what it claims. */
  readonly issuer: string;
  readonly server: ServerMetadata;
  /** The `resource` of every token request, exactly as the server spells it; absent for servers older than that. */
  readonly resourceIndicator?: string;
  /** What the resource says its scopes are. */
  readonly scopesSupported?: readonly string[];
  /** It takes only tokens that are bound to a key. */
  readonly wantsBoundTokens: boolean;
  /** Nothing was found: the endpoints are only where servers of 2025-03-26 have them. */
  readonly isGuess: boolean;
}

export interface Resource {
  readonly url: string;
  readonly challenge?: Challenge | undefined;
  /** The authorization server that is wanted, where the resource names several. */
  readonly wantedIssuer?: string | undefined;
}

/** Rejects with `mcp.url_refused`, `mcp.unavailable`, or `mcp.unauthorized` for metadata that must not be used. */
export async function discover(http: OAuthHttp, resource: Resource, signal: AbortSignal): Promise<Discovered> {
  const metadata = await resourceMetadata(http, resource, signal);
  if (metadata && !isResourceOf(metadata.resource, resource.url)) {
    const text = `the server's metadata is about another resource ("${visible(metadata.resource)}"): no token is asked for it`;
    throw new TenonError("mcp.unauthorized", text, { hint: "Check the server's URL, or tell its author." });
  }
  const issuers = metadata?.authorizationServers ?? [];
  const { wantedIssuer } = resource;
  const issuer = issuers.find((name) => wantedIssuer !== undefined && isSameIssuer(name, wantedIssuer)) ?? issuers[0];
  const about = {
    wantsBoundTokens: metadata?.wantsBoundTokens === true || resource.challenge?.scheme === "dpop",
    ...defined({
      resourceIndicator: metadata?.resource,
      scopesSupported: metadata?.scopesSupported ? metadata.scopesSupported : undefined,
    }),
  };
  if (issuer !== undefined) {
    return { issuer, server: await namedServer(http, issuer, signal), ...about, isGuess: false };
  }
  const { origin } = new URL(resource.url);
  const own = await serverMetadata(http, origin, signal);
  return { issuer: origin, server: own ?? defaultServerMetadata(origin), ...about, isGuess: !own && !metadata };
}

async function resourceMetadata(
  http: OAuthHttp,
  { url, challenge }: Resource,
  signal: AbortSignal,
): Promise<ResourceMetadata | undefined> {
  const { origin, pathname, search } = new URL(url);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const path = pathname === "/" ? "" : pathname.replace(/\/$/u, "");
  const known = [`${root}${path}${search}`, root];
  const told = challenge?.resourceMetadata;
  const places = told === undefined ? known : [URL.canParse(told, url) ? new URL(told, url).href : told, ...known];
  for (const place of new Set(places)) {
    const found = readResourceMetadata(documentIn(await http.get(place, "the server's metadata", signal)));
    if (found) return found;
  }
  return undefined;
}

/** What an authorization server that was named says of itself. Rejects as `discover` does. */
export async function namedServer(http: OAuthHttp, issuer: string, signal: AbortSignal): Promise<ServerMetadata> {
  const server = await serverMetadata(http, issuer, signal);
  if (!server) {
    const text = `the authorization server ${visible(issuer)} does not describe itself`;
    throw new TenonError("mcp.unauthorized", text, { hint: "Tell the author of the server." });
  }
  // Without its last slash both name the same place (RFC 8414, section 3.1), and servers are careless about it.
  if (!isSameIssuer(server.issuer, issuer)) {
    const text = `the metadata of the authorization server ${visible(issuer)} is that of another one ("${visible(server.issuer)}")`;
    throw new TenonError("mcp.unauthorized", `${text}: it is not used`, { hint: "Tell the author of the server." });
  }
  return server;
}

/** RFC 8414 and OpenID Connect, each where it may be put for an issuer with a path. */
async function serverMetadata(
  http: OAuthHttp,
  issuer: string,
  signal: AbortSignal,
): Promise<ServerMetadata | undefined> {
  const { origin, pathname } = http.check(issuer, "the authorization server");
  const path = pathname === "/" ? "" : pathname.replace(/\/$/u, "");
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === "" ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
  for (const place of places) {
    const reply = await http.get(place, "the authorization server's metadata", signal);
    const found = readServerMetadata(documentIn(reply));
    if (found) return found;
  }
  return undefined;
}

/** Nothing is at a place that answers 4xx or with a page; but a server in trouble is not one without metadata. */
function documentIn({ status, json }: HttpReply): HttpReply["json"] {
  if (status >= 500 || status === 429) {
    throw new TenonError("mcp.unavailable", `the metadata for the log-in cannot be had now (status ${status})`);
  }
  return status >= 200 && status <= 299 ? json : undefined;
}

/** Two spellings of one issuer: they differ by the last slash at most. */
export function isSameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/u, "") === other.replace(/\/$/u, "");
}
