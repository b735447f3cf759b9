// What the lab's server says about itself, and where (RFC 8414, OpenID Connect Discovery).
import type { JsonObject } from "../../base/json/json.js";
import type { AuthEndpoint, AuthServerOptions } from "./options.js";

export interface AuthPlaces {
  readonly issuer: string;
  readonly authorize: string;
  readonly token: string;
  readonly register: string;
  readonly revoke: string;
  readonly device: string;
}

const PATHS: Readonly<Record<string, AuthEndpoint>> = {
  "/authorize": "authorize",
  "/token": "token",
  "/register": "register",
  "/revoke": "revoke",
  "/device": "device",
};

export function placesOf(origin: string, { issuerPath = "" }: AuthServerOptions): AuthPlaces {
  const at = (path: string) => `${origin}${path}`;
  return {
    issuer: at(issuerPath),
    authorize: at("/authorize"),
    token: at("/token"),
    register: at("/register"),
    revoke: at("/revoke"),
    device: at("/device"),
  };
}

export function endpointOf(pathname: string): AuthEndpoint {
  return PATHS[pathname] ?? (pathname.includes("/.well-known/") ? "metadata" : "other");
}

/** Undefined where nothing is to be found. */
export function metadataAt(pathname: string, places: AuthPlaces, options: AuthServerOptions): JsonObject | undefined {
  const { issuerPath = "", metadataAt: kinds = ["oauth", "oidc"] } = options;
  const oauth = [`/.well-known/oauth-authorization-server${issuerPath}`];
  const oidc = [`/.well-known/openid-configuration${issuerPath}`, `${issuerPath}/.well-known/openid-configuration`];
  const paths = kinds.flatMap((kind) => (kind === "oauth" ? oauth : oidc));
  return paths.includes(pathname) ? metadataOf(places, options) : undefined;
}

function metadataOf(places: AuthPlaces, options: AuthServerOptions): JsonObject {
  const { iss = "right", scopes, registration = "open", clientDocuments, device, metadata = {} } = options;
  const said: JsonObject = {
    issuer: places.issuer,
    authorization_endpoint: places.authorize,
    token_endpoint: places.token,
    revocation_endpoint: places.revoke,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
    token_endpoint_auth_signing_alg_values_supported: ["ES256", "RS256", "EdDSA"],
    ...(registration !== "none" && { registration_endpoint: places.register }),
    ...(device && { device_authorization_endpoint: places.device }),
    ...(scopes && { scopes_supported: scopes }),
    ...(clientDocuments && { client_id_metadata_document_supported: true }),
    ...(iss === "right" && { authorization_response_iss_parameter_supported: true }),
  };
  const laid = Object.entries({ ...said, ...metadata }).filter(([, value]) => value !== null);
  return Object.fromEntries(laid);
}
