// What protected resources and authorization servers say about themselves, read with care: any of it may be missing or wrong.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";

/** RFC 9728. */
export interface ResourceMetadata {
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopesSupported?: readonly string[];
  /** It takes only tokens that are bound to a key. */
  readonly wantsBoundTokens: boolean;
}

/** RFC 8414, and what OpenID Connect says in its place. */
export interface ServerMetadata {
  readonly issuer: string;
  readonly authorizationEndpoint?: string;
  readonly tokenEndpoint?: string;
  readonly registrationEndpoint?: string;
  readonly revocationEndpoint?: string;
  readonly deviceAuthorizationEndpoint?: string;
  readonly scopesSupported?: readonly string[];
  readonly pkceMethods?: readonly string[];
  readonly tokenAuthMethods?: readonly string[];
  /** With which a key may sign that tokens are bound to. */
  readonly dpopAlgorithms?: readonly string[];
  /** It promises to name itself in every authorization response (RFC 9207). */
  readonly namesItself: boolean;
  /** It takes the URL of a client's metadata for the client's id. */
  readonly takesMetadataUrl: boolean;
}

/** Undefined when it is no such document at all: an error page, say. */
export function readResourceMetadata(value: JsonValue | undefined): ResourceMetadata | undefined {
  if (!isJsonObject(value)) return undefined;
  const { resource } = value;
  if (typeof resource !== "string") return undefined;
  const authorizationServers = textsOf(value["authorization_servers"]) ?? [];
  return {
    resource,
    authorizationServers,
    ...listed("scopesSupported", value["scopes_supported"]),
    wantsBoundTokens: value["dpop_bound_access_tokens_required"] === true,
  };
}

export function readServerMetadata(value: JsonValue | undefined): ServerMetadata | undefined {
  if (!isJsonObject(value)) return undefined;
  const { issuer } = value;
  if (typeof issuer !== "string") return undefined;
  return {
    issuer,
    ...endpoint("authorizationEndpoint", value, "authorization_endpoint"),
    ...endpoint("tokenEndpoint", value, "token_endpoint"),
    ...endpoint("registrationEndpoint", value, "registration_endpoint"),
    ...endpoint("revocationEndpoint", value, "revocation_endpoint"),
    ...endpoint("deviceAuthorizationEndpoint", value, "device_authorization_endpoint"),
    ...listed("scopesSupported", value["scopes_supported"]),
    ...listed("pkceMethods", value["code_challenge_methods_supported"]),
    ...listed("tokenAuthMethods", value["token_endpoint_auth_methods_supported"]),
    ...listed("dpopAlgorithms", value["dpop_signing_alg_values_supported"]),
    namesItself: value["authorization_response_iss_parameter_supported"] === true,
    takesMetadataUrl: value["client_id_metadata_document_supported"] === true,
  };
}

/** By the version of 2025-03-26, a server without metadata has its endpoints here. */
export function defaultServerMetadata(origin: string): ServerMetadata {
  return {
    issuer: origin,
    authorizationEndpoint: `${origin}/authorize`,
    tokenEndpoint: `${origin}/token`,
    registrationEndpoint: `${origin}/register`,
    pkceMethods: ["S256"],
    namesItself: false,
    takesMetadataUrl: false,
  };
}

function endpoint<Name extends string>(
  name: Name,
  value: JsonObject,
  key: string,
): { readonly [Key in Name]?: string } {
  const known: { [Key in Name]?: string } = {};
  const text = value[key];
  if (typeof text === "string" && text !== "") known[name] = text;
  return known;
}

function listed<Name extends string>(
  name: Name,
  value: JsonValue | undefined,
): { readonly [Key in Name]?: readonly string[] } {
  const known: { [Key in Name]?: readonly string[] } = {};
  const texts = textsOf(value);
  if (texts) known[name] = texts;
  return known;
}

function textsOf(value: JsonValue | undefined): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
}
