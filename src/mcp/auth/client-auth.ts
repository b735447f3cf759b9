// How Tenon shows an authorization server which client it is: every method of the token endpoint that is in use.
import { Buffer } from "node:buffer";
import { TenonError } from "../../base/errors.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { signJwt } from "./jwt.js";
import type { OAuthClient, OAuthSettings } from "./port.js";

export interface ClientProof {
  readonly headers: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
}

export interface ProofContext {
  readonly world: World;
  readonly settings: OAuthSettings;
  /** Whom an assertion is for. */
  readonly issuer: string;
}

/** Throws `mcp.invalid_spec` for a method that is not known, or without what it needs. */
export function proveClient(client: OAuthClient, context: ProofContext): ClientProof {
  const { clientId, clientSecret, authMethod = clientSecret === undefined ? "none" : "client_secret_basic" } = client;
  switch (authMethod) {
    case "none":
      return { headers: {}, params: { client_id: clientId } };
    case "client_secret_post":
      return { headers: {}, params: { client_id: clientId, client_secret: given(clientSecret, "a secret") } };
    case "client_secret_basic": {
      const pair = [clientId, given(clientSecret, "a secret")].map(encodeURIComponent).join(":");
      return { headers: { authorization: `Basic ${Buffer.from(pair).toString("base64")}` }, params: {} };
    }
    case "private_key_jwt":
      return { headers: {}, params: { client_id: clientId, ...assertion(clientId, context) } };
    default:
      throw new TenonError("mcp.invalid_spec", `the client authentication "${authMethod}" is not known`, {
        hint: "Use none, client_secret_basic, client_secret_post or private_key_jwt.",
      });
  }
}

/** The best of what both sides can do; what was agreed at registration, or configured, comes first. */
export function chooseMethod(
  { clientSecret, authMethod }: OAuthClient,
  { authMethod: configured, privateKey }: OAuthSettings,
  offered: readonly string[] | undefined,
): string {
  const method = configured ?? authMethod;
  if (method !== undefined) return method;
  if (privateKey !== undefined) return "private_key_jwt";
  if (clientSecret === undefined) return "none";
  const isOffered = (name: string) => offered?.includes(name) === true;
  if (offered === undefined || isOffered("client_secret_basic")) return "client_secret_basic";
  if (isOffered("client_secret_post")) return "client_secret_post";
  return isOffered("none") ? "none" : "client_secret_basic";
}

function assertion(clientId: string, { world, settings, issuer }: ProofContext): Record<string, string> {
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
  const key = { privateKey: given(settings.privateKey, "a private key"), algorithm, keyId };
  return {
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: signJwt(claims, key),
  };
}

function given(value: string | undefined, what: string): string {
  if (value !== undefined) return value;
  throw new TenonError("mcp.invalid_spec", `the client authentication needs ${what}`, {
    hint: "Give it in the server's oauth settings.",
  });
}
