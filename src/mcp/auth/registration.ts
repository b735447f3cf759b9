// Which client Tenon is at an authorization server: one the user registered, its metadata's URL, or a registration of its own.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { VERSION } from "../../base/version.js";
import { chooseMethod } from "./client-auth.js";
import type { Discovered } from "./discovery.js";
import type { OAuthHttp } from "./http.js";
import type { GrantStore, OAuthClient, OAuthSettings } from "./port.js";
import { visible } from "./words.js";

export interface ClientQuery {
  readonly found: Discovered;
  readonly settings: OAuthSettings;
  readonly store: GrantStore;
}

/** The client that needs no registration; undefined when one has to be made or found. */
export function knownClient({ found, settings }: ClientQuery): OAuthClient | undefined {
  const { clientId, clientSecret, clientMetadataUrl } = settings;
  const { tokenAuthMethods, takesMetadataUrl } = found.server;
  if (clientId !== undefined) {
    const client = { clientId, ...defined({ clientSecret }) };
    return { ...client, authMethod: chooseMethod(client, settings, tokenAuthMethods) };
  }
  if (clientMetadataUrl === undefined || !takesMetadataUrl) return undefined;
  const client = { clientId: clientMetadataUrl };
  return { ...client, authMethod: chooseMethod(client, settings, tokenAuthMethods) };
}

/** A registration that can still be used, with whatever redirect URIs it was made for. */
export async function keptClient({ found, store }: ClientQuery, nowMs: number): Promise<OAuthClient | undefined> {
  const client = await store.readClient(found.issuer);
  return client && (client.secretExpiresAtMs ?? Number.POSITIVE_INFINITY) > nowMs ? client : undefined;
}

/** Registers (RFC 7591) and keeps it. Rejects with `mcp.unauthorized` where nobody may. */
export async function registerClient(
  http: OAuthHttp,
  { found, settings, store }: ClientQuery,
  { redirectUri, signal }: { readonly redirectUri: string; readonly signal: AbortSignal },
): Promise<OAuthClient> {
  const { registrationEndpoint, tokenAuthMethods } = found.server;
  if (registrationEndpoint === undefined) throw cannotRegister(found, "it takes no registrations");
  const asked = requestOf(found, redirectUri);
  const { status, json } = await http.postJson(registrationEndpoint, asked, "the registration", signal);
  const client = isJsonObject(json) && status >= 200 && status <= 299 ? readClient(json, redirectUri) : undefined;
  if (!client) throw cannotRegister(found, `it answered ${wordsOf(json, status)}`);
  if (client.clientSecret !== undefined) http.world.trace?.hide([client.clientSecret]);
  const known = { ...client, authMethod: chooseMethod(client, settings, tokenAuthMethods) };
  await store.writeClient(found.issuer, known);
  return known;
}

const DEVICE = "urn:ietf:params:oauth:grant-type:device_code";

function requestOf({ server }: Discovered, redirectUri: string): JsonObject {
  const { tokenAuthMethods, deviceAuthorizationEndpoint } = server;
  // A program on somebody's machine keeps no secret; one is asked for only where nothing else is offered.
  const preferred = ["none", "client_secret_basic", "client_secret_post"];
  const method = preferred.find((name) => tokenAuthMethods?.includes(name)) ?? "none";
  return {
    client_name: "Tenon",
    software_id: "tenon",
    software_version: VERSION,
    application_type: "native",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token", ...(deviceAuthorizationEndpoint ? [DEVICE] : [])],
    response_types: ["code"],
    token_endpoint_auth_method: method,
  };
}

function readClient(json: JsonObject, redirectUri: string): OAuthClient | undefined {
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: expires } = json;
  const { token_endpoint_auth_method: authMethod, redirect_uris: uris } = json;
  if (typeof clientId !== "string" || clientId === "") return undefined;
  const redirectUris = Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
  return {
    clientId,
    ...defined({
      clientSecret: typeof secret === "string" && secret !== "" ? secret : undefined,
      secretExpiresAtMs: typeof expires === "number" && expires > 0 ? expires * 1000 : undefined,
    }),
    redirectUris: redirectUris.includes(redirectUri) ? redirectUris : [...redirectUris, redirectUri],
    ...defined({ authMethod: typeof authMethod === "string" && authMethod !== "" ? authMethod : undefined }),
  };
}

function cannotRegister({ issuer, isGuess }: Discovered, why: string): TenonError {
  if (isGuess) {
    const text = "the server asks for credentials, but describes no log-in";
    return new TenonError("mcp.unauthorized", text, { hint: "Give it a token: see its author's documentation." });
  }
  const text = `Tenon cannot be registered at ${visible(issuer)}: ${why}`;
  const hint = "Register a client there by hand and give its id as oauth.clientId of the server.";
  return new TenonError("mcp.unauthorized", text, { hint });
}

function wordsOf(json: unknown, status: number): string {
  if (!isJsonObject(json)) return `status ${status}`;
  const { error, error_description: described } = json;
  const words = [error, described].filter((word) => typeof word === "string").join(": ");
  return words === "" ? `status ${status}` : `"${visible(words)}" (status ${status})`;
}
