// JWTs: signs client assertions and DPoP proofs, and reads claims without verifying them.

import { Buffer } from "node:buffer";
import type { KeyObject } from "node:crypto";
import { constants, createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { type JsonObject, parseObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";

export interface SigningKey {
  /** PEM. */
  readonly privateKey: string;
  readonly algorithm: string;
  readonly keyId?: string | undefined;
  /** Header fields that add to or replace the usual ones. */
  readonly header?: JsonObject;
}

/** Throws `mcp.invalid_spec`; the message contains nothing of the key. */
export function signJwt(claims: JsonObject, { privateKey, algorithm, keyId, header = {} }: SigningKey): string {
  const usual = { alg: algorithm, typ: "JWT", ...defined({ kid: keyId }) };
  const parts = [{ ...usual, ...header }, claims];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
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
        hint: "Use ES256, RS256, PS256 (or 384 and 512), or EdDSA.",
      });
  }
}

/** The claims of a JWT, not verified; undefined if they cannot be read (it may be encrypted). */
export function readClaims(jwt: string): JsonObject | undefined {
  const [, body, signature] = jwt.split(".");
  if (body === undefined || signature === undefined) return undefined;
  return parseObject(Buffer.from(body, "base64url").toString("utf8"));
}

/** Milliseconds since the epoch; undefined without an `exp` claim. */
export function expiryOf(claims: JsonObject | undefined): number | undefined {
  const seconds = claims?.["exp"];
  return typeof seconds === "number" ? seconds * 1000 : undefined;
}

export const DPOP_ALGORITHM = "ES256";

/** PEM. */
export function newDpopKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

export interface DpopRequest {
  readonly world: World;
  /** PEM. */
  readonly key: string;
  readonly method: string;
  readonly url: string;
  /** The nonce the server requires. */
  readonly nonce?: string | undefined;
  /** The token the request carries; absent for token requests. */
  readonly token?: string | undefined;
}

/**
 * A DPoP proof (RFC 9449) for one request. Synchronous, unlike oauth4webapi's: it is made for every request to a server
 * with bound tokens.
 */
export function dpopProof({ world, key: privateKey, method, url, nonce, token }: DpopRequest): string {
  const jwk = createPublicKey(createPrivateKey(privateKey)).export({ format: "jwk" });
  const { kty = "", crv = "", x = "", y = "" } = jwk;
  const { origin, pathname } = new URL(url);
  const claims = {
    jti: Buffer.from(world.randomBytes(16)).toString("base64url"),
    htm: method,
    htu: `${origin}${pathname}`,
    iat: Math.floor(world.now() / 1000),
    ...defined({
      ath: token === undefined ? undefined : createHash("sha256").update(token).digest("base64url"),
      nonce,
    }),
  };
  const header = { typ: "dpop+jwt", jwk: { kty, crv, x, y } };
  return signJwt(claims, { privateKey, algorithm: DPOP_ALGORITHM, header });
}
