// Hashes of JSON values. Apart from json.ts, so that what starts first need not load the crypto module.
import { createHash } from "node:crypto";
import { canonicalJson, type JsonValue } from "./json.js";

/** sha256 of bytes, in hex. */
export function hashBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** sha256 of the canonical form, in hex. */
export function hashJson(value: JsonValue): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
