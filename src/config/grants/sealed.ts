// Text under a key: AES-256-GCM, bound to the name of the file it stands in, so that files cannot be exchanged.
import { createCipheriv, createDecipheriv } from "node:crypto";
import { isJsonObject, parseJson } from "../../base/json/json.js";

export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FORMAT = 1;

export interface Sealing {
  readonly key: Uint8Array;
  readonly name: string;
}

export function seal(text: string, { key, name }: Sealing, randomBytes: (count: number) => Uint8Array): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(Buffer.from(name));
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  const bytes = Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  return `${JSON.stringify({ v: FORMAT, sealed: bytes.toString("base64") })}\n`;
}

/** Undefined for what was not sealed under this key and name, or was changed since. */
export function unseal(text: string, { key, name }: Sealing): string | undefined {
  const parsed = parseJson(text);
  const { v, sealed } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  if (v !== FORMAT || typeof sealed !== "string") return undefined;
  const bytes = Buffer.from(sealed, "base64");
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(name));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const body = bytes.subarray(NONCE_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}
