// How a client is known at the token endpoint, by every method, and which one is chosen.
import { Buffer } from "node:buffer";
import { constants, createPublicKey, generateKeyPairSync, type KeyObject, verify } from "node:crypto";
import { expect, test } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { chooseMethod, clientAuthentication } from "./client.js";
import type { OAuthClient, OAuthSettings } from "./port.js";

const world = fakeWorld();
const issuer = "https://as.example";

/** The headers and parameters that the authentication adds to a request. */
async function added(
  client: OAuthClient,
  settings: OAuthSettings = {},
): Promise<{ readonly headers: Record<string, string>; readonly params: Record<string, string> }> {
  const body = new URLSearchParams();
  const headers = new Headers();
  await clientAuthentication(client, { world, settings, issuer })(
    { issuer },
    { client_id: client.clientId },
    body,
    headers,
  );
  return { headers: Object.fromEntries(headers), params: Object.fromEntries(body) };
}

test("none: only the id", async () => {
  expect(await added({ clientId: "me" })).toEqual({ headers: {}, params: { client_id: "me" } });
});

test("a secret in the body", async () => {
  const client = { clientId: "me", clientSecret: "s", authMethod: "client_secret_post" };
  expect((await added(client)).params).toEqual({ client_id: "me", client_secret: "s" });
});

test("a secret in the header, its characters escaped", async () => {
  const { headers, params } = await added({ clientId: "a:b", clientSecret: "p&ss wörd" });
  const [scheme, pair = ""] = (headers["authorization"] ?? "").split(" ");
  expect(scheme).toBe("Basic");
  expect(Buffer.from(pair, "base64").toString()).toBe("a%3Ab:p%26ss%20w%C3%B6rd");
  expect(params).toEqual({});
});

test.each([
  ["ES256", () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey],
  ["ES384", () => generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey],
  ["RS256", () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey],
  ["PS256", () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey],
  ["EdDSA", () => generateKeyPairSync("ed25519").privateKey],
])("an assertion signed with %s", async (algorithm, makeKey) => {
  const key = makeKey();
  const privateKey = key.export({ type: "pkcs8", format: "pem" }).toString();
  const settings = { privateKey, signingAlgorithm: algorithm, keyId: "k1" };
  const { params } = await added({ clientId: "me", authMethod: "private_key_jwt" }, settings);
  expect(params).toMatchObject({
    client_id: "me",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  });
  const [header = "", claims = "", signature = ""] = (params["client_assertion"] ?? "").split(".");
  expect(decoded(header)).toEqual({ alg: algorithm, typ: "JWT", kid: "k1" });
  const now = Math.floor(world.now() / 1000);
  expect(decoded(claims)).toMatchObject({ iss: "me", sub: "me", aud: "https://as.example", iat: now, exp: now + 120 });
  const data = Buffer.from(`${header}.${claims}`);
  expect(isSigned(algorithm, data, key, Buffer.from(signature, "base64url"))).toBe(true);
});

test.each([
  ["a method nobody knows", { clientId: "me", authMethod: "tls_client_auth" }, {}, "tls_client_auth"],
  ["a secret that is not there", { clientId: "me", authMethod: "client_secret_post" }, {}, "needs a secret"],
  ["a key that is not there", { clientId: "me", authMethod: "private_key_jwt" }, {}, "needs a private key"],
  [
    "a key that is none",
    { clientId: "me", authMethod: "private_key_jwt" },
    { privateKey: "SECRETKEY" },
    "cannot be used with ES256",
  ],
  [
    "an algorithm nobody knows",
    { clientId: "me", authMethod: "private_key_jwt" },
    {
      privateKey: generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      signingAlgorithm: "HS256",
    },
    'algorithm "HS256" is not known',
  ],
])("%s is an error that says so", async (_name, client, settings, words) => {
  await expect(added(client, settings)).rejects.toMatchObject({ code: "mcp.invalid_spec" });
  await expect(added(client, settings)).rejects.toThrow(words);
  await expect(added(client, settings)).rejects.not.toThrow("SECRETKEY");
});

test.each([
  [{ clientId: "me", clientSecret: "s" }, {}, undefined, "client_secret_basic"],
  [{ clientId: "me", clientSecret: "s" }, {}, ["client_secret_post"], "client_secret_post"],
  [{ clientId: "me", clientSecret: "s" }, {}, ["client_secret_post", "client_secret_basic"], "client_secret_basic"],
  [{ clientId: "me", clientSecret: "s" }, {}, ["none"], "none"],
  [{ clientId: "me" }, {}, ["client_secret_basic"], "none"],
  [{ clientId: "me", authMethod: "client_secret_post" }, {}, ["none"], "client_secret_post"],
  [{ clientId: "me", clientSecret: "s" }, { privateKey: "k" }, undefined, "private_key_jwt"],
  [{ clientId: "me", clientSecret: "s" }, { authMethod: "client_secret_post" }, ["none"], "client_secret_post"],
])("of %j with %j at a server that offers %j: %s", (client, settings, offered, expected) => {
  expect(chooseMethod(client, settings, offered)).toBe(expected);
});

function decoded(part: string): unknown {
  return JSON.parse(Buffer.from(part, "base64url").toString());
}

function isSigned(algorithm: string, data: Buffer, privateKey: KeyObject, signature: Buffer): boolean {
  const key = createPublicKey(privateKey);
  if (algorithm === "EdDSA") return verify(null, data, key, signature);
  const hash = `sha${algorithm.slice(2)}`;
  if (algorithm.startsWith("ES")) return verify(hash, data, { key, dsaEncoding: "ieee-p1363" }, signature);
  if (algorithm.startsWith("RS")) return verify(hash, data, key, signature);
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  return verify(hash, data, { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }, signature);
}
