// Checks the signed statement of a client that has a key instead of a secret (`private_key_jwt`, RFC 7523).
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.js";

export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** A statement that holds longer than this is no proof of anything. */
const MAX_LIFETIME_SECONDS = 3_600;

export interface AssertionRules {
  readonly clientId: string;
  readonly publicKey: string;
  /** What it may be addressed to: the issuer, or its token endpoint. */
  readonly audiences: readonly string[];
  readonly nowMs: number;
  /** The ids seen before: each statement counts once. */
  readonly seen: Set<string>;
}

/** What is wrong with it; undefined when nothing is. */
export function assertionProblem(jwt: string, rules: AssertionRules): string | undefined {
  const [head = "", body = "", signature = "", ...rest] = jwt.split(".");
  const header = decoded(head);
  const claims = decoded(body);
  if (!header || !claims || rest.length > 0) return "the client assertion is no JWT";
  const key = createPublicKey(rules.publicKey);
  const isSigned = isSignatureGood(header["alg"], key, `${head}.${body}`, Buffer.from(signature, "base64url"));
  if (!isSigned) return `the signature of the client assertion (${JSON.stringify(header["alg"])}) is wrong`;
  return claimProblem(claims, rules);
}

function claimProblem(claims: JsonObject, rules: AssertionRules): string | undefined {
  const nowSeconds = rules.nowMs / 1_000;
  const { iss, sub, aud, exp, jti } = claims;
  const audiences = typeof aud === "string" ? [aud] : Array.isArray(aud) ? aud : [];
  if (iss !== rules.clientId || sub !== rules.clientId) return "the client assertion is not by and about the client";
  if (!audiences.some((audience) => rules.audiences.includes(String(audience))))
    return `the client assertion is for ${audiences.join(", ")}, not for this server`;
  if (typeof exp !== "number" || exp <= nowSeconds) return "the client assertion has expired";
  if (exp > nowSeconds + MAX_LIFETIME_SECONDS) return "the client assertion holds for too long";
  if (typeof jti !== "string" || jti === "") return "the client assertion has no id";
  if (rules.seen.has(jti)) return "the client assertion has been used before";
  rules.seen.add(jti);
  return undefined;
}

function isSignatureGood(alg: unknown, key: KeyObject, text: string, signature: Buffer): boolean {
  const data = Buffer.from(text);
  if (alg === "ES256") return verify("sha256", data, { key, dsaEncoding: "ieee-p1363" }, signature);
  if (alg === "ES384") return verify("sha384", data, { key, dsaEncoding: "ieee-p1363" }, signature);
  if (alg === "RS256") return key.asymmetricKeyType === "rsa" && verify("sha256", data, key, signature);
  if (alg === "EdDSA") return key.asymmetricKeyType === "ed25519" && verify(null, data, key, signature);
  return false;
}

function decoded(part: string): JsonObject | undefined {
  const parsed = parseJson(Buffer.from(part, "base64url").toString("utf8"));
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}
