// Checks the signed statement of a client that has a key instead of a secret (`private_key_jwt`, RFC 7523).
import type { JsonObject } from "../../base/json/json.js";
import { isFor, readJwt } from "./signed-jwt.js";

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
  const read = readJwt(jwt, rules.publicKey);
  if (!read) return "the client assertion is no JWT";
  const { header, claims, isGenuine } = read;
  if (!isGenuine) return `the signature of the client assertion (${JSON.stringify(header["alg"])}) is wrong`;
  return claimProblem(claims, rules);
}

function claimProblem(claims: JsonObject, rules: AssertionRules): string | undefined {
  const nowSeconds = rules.nowMs / 1_000;
  const { iss, sub, aud, exp, jti } = claims;
  if (iss !== rules.clientId || sub !== rules.clientId) return "the client assertion is not by and about the client";
  if (!isFor(claims, rules.audiences)) return `the client assertion is for ${JSON.stringify(aud)}, not for this server`;
  if (typeof exp !== "number" || exp <= nowSeconds) return "the client assertion has expired";
  if (exp > nowSeconds + MAX_LIFETIME_SECONDS) return "the client assertion holds for too long";
  if (typeof jti !== "string" || jti === "") return "the client assertion has no id";
  if (rules.seen.has(jti)) return "the client assertion has been used before";
  rules.seen.add(jti);
  return undefined;
}
