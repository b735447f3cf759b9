// Signs the small JWTs by which a client with a key is known, and reads what others say, unverified.

import { Buffer } from "node:buffer";
import { constants, createPrivateKey, type KeyObject, sign } from "node:crypto";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";

export interface SigningKey {
  /** PEM. */
  readonly privateKey: string;
  readonly algorithm: string;
  readonly keyId?: string | undefined;
  /** More for the header, or instead of what is usual there. */
  readonly header?: JsonObject;
}

/** Throws `mcp.invalid_spec`; the message says nothing of the key itself. */
export function signJwt(claims: JsonObject, { privateKey, algorithm, keyId, header = {} }: SigningKey): string {
  const usual = { alg: algorithm, typ: "JWT", ...defined({ kid: keyId }) };
  const signed = `${encoded({ ...usual, ...header })}.${encoded(claims)}`;
  try {
    return `${signed}.${signature(Buffer.from(signed), createPrivateKey(privateKey), algorithm).toString("base64url")}`;
  } catch (thrown) {
    if (thrown instanceof TenonError) throw thrown;
    const text = `the private key of the client cannot be used with ${algorithm}: ${messageOf(thrown)}`;
    throw new TenonError("mcp.invalid_spec", text, { hint: "Give a PEM private key that fits the algorithm." });
  }
}

function signature(data: Buffer, key: KeyObject, algorithm: string): Buffer {
  const [, family, bits] = /^(ES|RS|PS)(256|384|512)$/u.exec(algorithm) ?? [];
  const hash = `sha${bits}`;
  switch (family) {
    case "ES":
      return sign(hash, data, { key, dsaEncoding: "ieee-p1363" });
    case "RS":
      return sign(hash, data, key);
    case "PS": {
      const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_DIGEST: saltLength } = constants;
      return sign(hash, data, { key, padding, saltLength });
    }
    default:
      if (algorithm === "EdDSA") return sign(null, data, key);
      throw new TenonError("mcp.invalid_spec", `the signing algorithm "${algorithm}" is not known`, {
        hint: "Use ES256, RS256, PS256 or their longer kin, or EdDSA.",
      });
  }
}

function encoded(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** What a JWT says; undefined where it cannot be read (it may be encrypted). Whether it is true, whoever takes it finds out. */
export function readClaims(jwt: string): JsonObject | undefined {
  const [, body, signature] = jwt.split(".");
  if (body === undefined || signature === undefined) return undefined;
  const parsed = parseJson(Buffer.from(body, "base64url").toString("utf8"));
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}

/** In milliseconds since the epoch; undefined where it does not say. */
export function expiryOf(claims: JsonObject | undefined): number | undefined {
  const seconds = claims?.["exp"];
  return typeof seconds === "number" ? seconds * 1000 : undefined;
}
