// Which client Tenon is at an authorization server, how it registers (RFC 7591), and how it authenticates.

import { Buffer } from "node:buffer";
import * as protocol from "oauth4webapi";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { VERSION } from "../../base/version.js";
import type { Discovered } from "./discovery.js";
import { OAuthRefusal } from "./http.js";
import { signJwt } from "./jwt.js";
import { loginRefused, visible } from "./messages.js";
import type { Flow } from "./pages.js";
import type { OAuthClient, OAuthSettings } from "./port.js";

/** The client that needs no registration; undefined if a registration must be found or made. */
export function knownClient({ found, options }: Flow): OAuthClient | undefined {
  const { settings } = options.oauth;
  const { clientId, clientSecret, clientMetadataUrl } = settings;
  const { token_endpoint_auth_methods_supported: offered, client_id_metadata_document_supported: takesUrl } =
    found.server;
  const id = clientId ?? (takesUrl === true ? clientMetadataUrl : undefined);
  if (id === undefined) return undefined;
  const client = { clientId: id, ...defined({ clientSecret: clientId === undefined ? undefined : clientSecret }) };
  return { ...client, authMethod: chooseMethod(client, settings, offered) };
}

/** A stored registration that has not expired, with any redirect URIs. */
export async function storedClient({ found, options: { oauth, world } }: Flow): Promise<OAuthClient | undefined> {
  const client = await oauth.store.readClient(found.issuer);
  return client && (client.secretExpiresAtMs ?? Number.POSITIVE_INFINITY) > world.now() ? client : undefined;
}

/** Registers a client and stores it. Rejects with `mcp.unauthorized` if the server allows no registration. */
export async function registerClient({ http, found, options }: Flow, redirectUri: string): Promise<OAuthClient> {
  const { settings, store } = options.oauth;
  const { registration_endpoint: endpoint, token_endpoint_auth_methods_supported: offered } = found.server;
  if (endpoint === undefined) throw cannotRegister(found, "it takes no registrations");
  const answer = await http.perform({
    endpoint,
    what: "the registration",
    okStatus: 201,
    repair: ({ client_secret_expires_at: expires, ...json }) => ({
      ...json,
      client_secret_expires_at: typeof expires === "number" && expires > 0 ? expires : 0,
    }),
    send: (options) =>
      protocol.dynamicClientRegistrationRequest(found.server, registrationOf(found, redirectUri), options),
    read: protocol.processDynamicClientRegistrationResponse,
  });
  if (answer instanceof OAuthRefusal) throw cannotRegister(found, `it answered ${answer.words}`);
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: expires, redirect_uris: uris } = answer;
  const { token_endpoint_auth_method: method } = answer;
  const redirectUris = Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
  if (typeof secret === "string") http.world.trace?.hide([secret]);
  const client = {
    clientId,
    ...defined({
      clientSecret: typeof secret === "string" ? secret : undefined,
      secretExpiresAtMs: typeof expires === "number" && expires > 0 ? expires * 1000 : undefined,
      authMethod: typeof method === "string" ? method : undefined,
    }),
    redirectUris: redirectUris.includes(redirectUri) ? redirectUris : [...redirectUris, redirectUri],
  };
  const registered = { ...client, authMethod: chooseMethod(client, settings, offered) };
  await store.writeClient(found.issuer, registered);
  return registered;
}

function registrationOf({ server }: Discovered, redirectUri: string): Record<string, string | string[]> {
  const grants = ["authorization_code", "refresh_token"];
  if (server.device_authorization_endpoint) grants.push("urn:ietf:params:oauth:grant-type:device_code");
  // A program on a person's machine keeps no secret; it asks for one only if the server offers nothing else.
  const preferred = ["none", "client_secret_basic", "client_secret_post"];
  const offered = server.token_endpoint_auth_methods_supported;
  return {
    client_name: "Tenon",
    software_id: "tenon",
    software_version: VERSION,
    application_type: "native",
    redirect_uris: [redirectUri],
    grant_types: grants,
    response_types: ["code"],
    token_endpoint_auth_method: preferred.find((name) => offered?.includes(name)) ?? "none",
  };
}

function cannotRegister({ issuer, isGuess }: Discovered, why: string): TenonError {
  if (isGuess) {
    const text = "the server asks for credentials, but describes no log-in";
    return loginRefused(text, "Give it a token: see its author's documentation.");
  }
  const hint = "Register a client there by hand and give its id as oauth.clientId of the server.";
  return loginRefused(`Tenon cannot be registered at ${visible(issuer)}: ${why}`, hint);
}

/** The best method that both sides support; a configured or registered one comes first. */
export function chooseMethod(
  { clientSecret, authMethod }: OAuthClient,
  { authMethod: configured, privateKey }: OAuthSettings,
  offered: readonly string[] | undefined,
): string {
  const method = configured ?? authMethod;
  if (method !== undefined) return method;
  if (privateKey !== undefined) return "private_key_jwt";
  if (clientSecret === undefined) return "none";
  const inOrder = ["client_secret_basic", "client_secret_post", "none"];
  return inOrder.find((name) => offered?.includes(name)) ?? "client_secret_basic";
}

export interface ClientContext {
  readonly world: World;
  readonly settings: OAuthSettings;
  /** The audience of an assertion. */
  readonly issuer: string;
}

/** Throws `mcp.invalid_spec` for an unknown method, or one whose secret or key is missing. */
export function clientAuthentication(client: OAuthClient, context: ClientContext): protocol.ClientAuth {
  const { clientId, clientSecret, authMethod = clientSecret === undefined ? "none" : "client_secret_basic" } = client;
  switch (authMethod) {
    case "none":
      return protocol.None();
    case "client_secret_post":
      return protocol.ClientSecretPost(required(clientSecret, "a secret"));
    case "client_secret_basic": {
      // oauth4webapi also escapes "-", "_" and ".", which fails at servers that do not decode the id.
      const pair = [clientId, required(clientSecret, "a secret")].map(encodeURIComponent).join(":");
      return (_server, _client, _body, headers) =>
        headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
    }
    case "private_key_jwt":
      return (_server, _client, body) => {
        body.set("client_id", clientId);
        body.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
        body.set("client_assertion", assertionOf(clientId, context));
      };
    default:
      throw new TenonError("mcp.invalid_spec", `the client authentication "${authMethod}" is not known`, {
        hint: "Use none, client_secret_basic, client_secret_post or private_key_jwt.",
      });
  }
}

function assertionOf(clientId: string, { world, settings, issuer }: ClientContext): string {
  const seconds = Math.floor(world.now() / 1000);
  const { signingAlgorithm: algorithm = "ES256", keyId } = settings;
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: issuer,
    jti: Buffer.from(world.randomBytes(16)).toString("base64url"),
    iat: seconds,
    exp: seconds + OAUTH_LIMITS.assertionSeconds,
  };
  return signJwt(claims, { privateKey: required(settings.privateKey, "a private key"), algorithm, keyId });
}

function required(value: string | undefined, what: string): string {
  if (value !== undefined) return value;
  throw new TenonError("mcp.invalid_spec", `the client authentication needs ${what}`, {
    hint: "Give it in the server's oauth settings.",
  });
}
