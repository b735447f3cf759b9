// Grants and clients as they stand, sealed, on the disk. What does not read as one is none.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import type { Grant, GrantKey, OAuthClient } from "../../mcp/index.js";

export interface GrantRecord {
  readonly key: GrantKey;
  readonly grant: Grant;
}

export function writeRecord({ key, grant }: GrantRecord): string {
  return JSON.stringify({ key, grant });
}

export function readRecord(text: string | undefined): GrantRecord | undefined {
  const { key, grant } = objectOf(text);
  const readKey = isJsonObject(key) ? keyOf(key) : undefined;
  const read = isJsonObject(grant) ? grantOf(grant) : undefined;
  return readKey && read ? { key: readKey, grant: read } : undefined;
}

export function readClientRecord(text: string | undefined): OAuthClient | undefined {
  return clientOf(objectOf(text));
}

function objectOf(text: string | undefined): JsonObject {
  const parsed = parseJson(text ?? "");
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
}

function keyOf({ issuer, resource, account }: JsonObject): GrantKey | undefined {
  if (typeof issuer !== "string" || typeof resource !== "string" || typeof account !== "string") return undefined;
  return { issuer, resource, account };
}

function grantOf(written: JsonObject): Grant | undefined {
  const { accessToken, refreshToken, expiresAtMs, scope, client, tokenEndpoint } = written;
  const { obtainedAtMs, revocationEndpoint, resourceIndicator, missingScope, dpopKey, idToken, audience } = written;
  const known = isJsonObject(client) ? clientOf(client) : undefined;
  if (typeof accessToken !== "string" || typeof tokenEndpoint !== "string" || !known) return undefined;
  return {
    accessToken,
    client: known,
    tokenEndpoint,
    ...defined({
      refreshToken: typeof refreshToken === "string" ? refreshToken : undefined,
      expiresAtMs: typeof expiresAtMs === "number" ? expiresAtMs : undefined,
      obtainedAtMs: typeof obtainedAtMs === "number" ? obtainedAtMs : undefined,
      scope: typeof scope === "string" ? scope : undefined,
      revocationEndpoint: typeof revocationEndpoint === "string" ? revocationEndpoint : undefined,
      resourceIndicator: typeof resourceIndicator === "string" ? resourceIndicator : undefined,
      missingScope: typeof missingScope === "string" ? missingScope : undefined,
      dpopKey: typeof dpopKey === "string" ? dpopKey : undefined,
      idToken: typeof idToken === "string" ? idToken : undefined,
      audience: typeof audience === "string" ? audience : undefined,
    }),
  };
}

function clientOf(written: JsonObject): OAuthClient | undefined {
  const { clientId, clientSecret, secretExpiresAtMs, redirectUris, authMethod } = written;
  if (typeof clientId !== "string") return undefined;
  return {
    clientId,
    ...defined({
      clientSecret: typeof clientSecret === "string" ? clientSecret : undefined,
      secretExpiresAtMs: typeof secretExpiresAtMs === "number" ? secretExpiresAtMs : undefined,
      redirectUris: Array.isArray(redirectUris) ? redirectUris.filter(isText) : undefined,
      authMethod: typeof authMethod === "string" ? authMethod : undefined,
    }),
  };
}

function isText(value: JsonValue): value is string {
  return typeof value === "string";
}

/** Everything about it that must not be seen. */
export function secretsOf({ accessToken, refreshToken, client, dpopKey, idToken }: Grant): readonly string[] {
  return [accessToken, refreshToken, client.clientSecret, dpopKey, idToken].flatMap((secret) => secret ?? []);
}
