// Reads kept results: piece by piece, as a whole, or the one value a JSON pointer leads to.
import { Pace } from "../../base/async/pace.js";
import { messageOf } from "../../base/errors.js";
import { parseJson, pointerSteps } from "../../base/json/json.js";
import { quoted } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import { PointerScan, type ScanResult } from "./pointer-scan.js";
import { isHandle, type KeptResult, type ResultStore } from "./store.js";

export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

const LISTED_HANDLES = 20;

/** The result of a handle, or words about which there are. */
export async function findResult(store: ResultStore, handle: string): Promise<Read<KeptResult>> {
  const found = await store.find(handle);
  if (found) return { ok: true, value: found };
  if (await store.isGone(handle)) {
    return {
      ok: false,
      reason: `the result ${handle} is no longer kept: it made room for later ones. Call the tool again`,
    };
  }
  const all = (await store.list()).map((result) => result.handle);
  const more = all.length - LISTED_HANDLES;
  const latest = all.slice(-LISTED_HANDLES).join(", ");
  const there =
    all.length === 0
      ? "no result is kept in this session yet"
      : `there are ${latest}${more > 0 ? ` and ${more} older ones` : ""}`;
  const what = isHandle(handle) ? `there is no result ${handle}` : `${quoted(handle, 60)} is no handle of a result`;
  return { ok: false, reason: `${what}; ${there}` };
}

/** The bytes from `start` on. The event loop is free between two pieces. */
export async function* pieces(store: ResultStore, handle: string, start = 0): AsyncGenerator<Uint8Array, void, void> {
  const pace = Pace.of(store.world);
  for (let at = start; ; ) {
    const bytes = await store.read(handle, { start: at, length: TOOL_LIMITS.resultPieceBytes });
    if (bytes.length === 0) return;
    await pace.run(() => undefined); // results in memory come at once
    yield bytes;
    at += bytes.length;
    if (bytes.length < TOOL_LIMITS.resultPieceBytes) return;
  }
}

/** All of a result as one text; bytes as base64. */
export async function readWhole(store: ResultStore, result: KeptResult, maxBytes: number): Promise<Read<string>> {
  const { handle, form, bytes } = result;
  const length = form === "bytes" ? Math.ceil(bytes / 3) * 4 : bytes;
  if (length > maxBytes) {
    return { ok: false, reason: `${handle} has ${length} bytes, and at most ${maxBytes} can be passed on` };
  }
  try {
    const decoder = form === "bytes" ? new Base64() : new Utf8();
    const parts: string[] = [];
    for await (const piece of pieces(store, handle)) parts.push(decoder.decode(piece));
    parts.push(decoder.end());
    return { ok: true, value: parts.join("") };
  } catch (error) {
    return unreadable(handle, error);
  }
}

export interface ValuePlace {
  /** Where its JSON lies among the bytes of the result. */
  readonly start: number;
  readonly end: number;
}

export async function findValue(store: ResultStore, result: KeptResult, pointer: string): Promise<Read<ValuePlace>> {
  const { handle, form } = result;
  const steps = pointerSteps(pointer);
  if (!steps) {
    const rule = 'it begins with "/", and "~" and "/" inside a key are written "~0" and "~1"';
    return { ok: false, reason: `${quoted(pointer)} is no JSON pointer: ${rule}` };
  }
  if (form !== "text" && form !== "json") return { ok: false, reason: `${handle} is no text, so it holds no JSON` };
  try {
    const scanned = await scan(store, handle, steps);
    if (scanned.kind === "found") return { ok: true, value: { start: scanned.start, end: scanned.end } };
    return { ok: false, reason: described(scanned, handle, pointer, steps) };
  } catch (error) {
    return unreadable(handle, error);
  }
}

async function scan(store: ResultStore, handle: string, steps: readonly string[]): Promise<ScanResult> {
  const pace = Pace.of(store.world);
  const machine = new PointerScan(steps);
  for await (const piece of pieces(store, handle)) {
    const result = await pace.run(() => machine.push(piece));
    if (result) return result;
  }
  return machine.end();
}

function described(
  scanned: Exclude<ScanResult, { kind: "found" }>,
  handle: string,
  pointer: string,
  steps: readonly string[],
): string {
  if (scanned.kind === "not_json") return `${handle} is not JSON: byte ${scanned.at} cannot be there`;
  const way = steps.slice(0, scanned.steps).map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  const where = way.length === 0 ? handle : `${handle} at ${quoted(way.join(""))}`;
  return `there is nothing at ${quoted(pointer)}: of ${where}, ${scanned.reason}`;
}

/** The text between two bytes, which must be ends of characters. */
export async function readBetween(
  store: ResultStore,
  handle: string,
  { start, end }: ValuePlace,
): Promise<Read<string>> {
  try {
    const decoder = new Utf8();
    const parts: string[] = [];
    let left = end - start;
    for await (const piece of pieces(store, handle, start)) {
      parts.push(decoder.decode(piece.subarray(0, left)));
      left -= piece.length;
      if (left <= 0) break;
    }
    parts.push(decoder.end());
    return { ok: true, value: parts.join("") };
  } catch (error) {
    return unreadable(handle, error);
  }
}

/** What the pointer leads to is a text: then as text, else its JSON. */
export function asText(json: string): string {
  if (!json.startsWith('"')) return json;
  const parsed = parseJson(json);
  return parsed.ok && typeof parsed.value === "string" ? parsed.value : json;
}

export function unreadable(handle: string, error: unknown): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason: `${handle} cannot be read any more: ${messageOf(error)}` };
}

/** UTF-8 in pieces cut anywhere; what is none becomes U+FFFD, and a byte order mark stays what it is. */
export class Utf8 {
  readonly #decoder: InstanceType<typeof TextDecoder> = new TextDecoder("utf-8", { ignoreBOM: true });

  decode(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes, { stream: true });
  }

  end(): string {
    return this.#decoder.decode();
  }
}

/** base64 of bytes that come in pieces: three bytes belong together. */
class Base64 {
  #held: Uint8Array = new Uint8Array(0);

  decode(bytes: Uint8Array): string {
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const whole = all.length - (all.length % 3);
    this.#held = all.slice(whole);
    return Buffer.from(all.buffer, all.byteOffset, whole).toString("base64");
  }

  end(): string {
    return Buffer.from(this.#held).toString("base64");
  }
}
