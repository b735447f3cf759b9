// JWTs of the lab: signed by its identity provider, and believed by whoever has the right key.
import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";

export interface SignedJwt {
  readonly header: JsonObject;
  readonly claims: JsonObject;
  readonly isGenuine: boolean;
}

export function signedJwt(claims: JsonObject, key: KeyObject, type: string): string {
  const text = [{ alg: "ES256", typ: type }, claims].map(encoded).join(".");
  const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

/** Undefined when it is none. */
export function readJwt(jwt: string, publicKey: string): SignedJwt | undefined {
  const [head = "", body = "", signature = "", ...rest] = jwt.split(".");
  const header = decoded(head);
  const claims = decoded(body);
  if (!header || !claims || rest.length > 0) return undefined;
  const key = createPublicKey(publicKey);
  const isGenuine = isSignatureGood(header["alg"], key, `${head}.${body}`, Buffer.from(signature, "base64url"));
  return { header, claims, isGenuine };
}

export function isFor(claims: JsonObject, audiences: readonly string[]): boolean {
  const { aud } = claims;
  const named = typeof aud === "string" ? [aud] : Array.isArray(aud) ? aud : [];
  return named.some((audience) => audiences.includes(String(audience)));
}

function isSignatureGood(alg: unknown, key: KeyObject, text: string, signature: Buffer): boolean {
  const data = Buffer.from(text);
  if (alg === "ES256") return verify("sha256", data, { key, dsaEncoding: "ieee-p1363" }, signature);
  if (alg === "ES384") return verify("sha384", data, { key, dsaEncoding: "ieee-p1363" }, signature);
  if (alg === "RS256") return key.asymmetricKeyType === "rsa" && verify("sha256", data, key, signature);
  if (alg === "EdDSA") return key.asymmetricKeyType === "ed25519" && verify(null, data, key, signature);
  return false;
}

function encoded(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decoded(part: string): JsonObject | undefined {
  const parsed = parseJson(Buffer.from(part, "base64url").toString("utf8"));
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}
