// Puts kept results into the arguments of a call: `{"$result":"r12","pointer":"/rows/0"}` becomes what it stands for.
//
// The rules, as models are given them:
// - An object with the key `$result` and at most the key `pointer` beside it is a reference, wherever a value may stand;
//   so is a text that is the JSON of such an object, since some providers let models write only text there.
// - Without `pointer` it becomes the whole text of the result (bytes as base64). With it, the value at that place of the
//   result's JSON (RFC 6901; "" is all of it).
// - To pass such an object itself, write one `$` more: `{"$$result":"r12"}` arrives as `{"$result":"r12"}`.
// - What is put in is never looked through again: data of one tool cannot ask for more.
import type { Eventual } from "../../base/async/eventual.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { quoted } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import { findResult, findValue, readBetween, readWhole, Unreadable } from "./read-range.js";
import type { ResultStore } from "./store.js";

/** One reference that was replaced, for journals and for people who are asked. */
export interface Inserted {
  readonly handle: string;
  readonly pointer?: string;
  readonly bytes: number;
}

export type Substituted =
  | { readonly ok: true; readonly arguments: JsonObject; readonly inserted: readonly Inserted[] }
  /** In words for the model, without a full stop. */
  | { readonly ok: false; readonly reason: string };

type Reference = Omit<Inserted, "bytes">;

const KEY = "$result";
const ESCAPED_KEY = /^\$(\$+result)$/;
/** A text that is a reference is no longer than this: handles and pointers are short. */
const TEXT_MAX_CHARS = 4_096;

/** Whether there is anything to replace: most calls have nothing, and need not wait. */
function hasResultReferences(value: JsonValue | undefined, depth = 0): boolean {
  if (typeof value === "string") return inText(value) !== undefined;
  if (typeof value !== "object" || value === null || depth > LIMITS.dataMaxDepth) return false;
  if (!isJsonObject(value)) return value.some((item) => hasResultReferences(item, depth + 1));
  if (referenceOf(value)) return true;
  for (const key in value) {
    if ((key.startsWith("$") && ESCAPED_KEY.test(key)) || hasResultReferences(value[key], depth + 1)) return true;
  }
  return false;
}

/** The arguments themselves when there is nothing to replace in them. */
export function substituteResults(given: JsonObject, store: ResultStore): Eventual<Substituted> {
  return hasResultReferences(given) ? substituted(given, store) : { ok: true, arguments: given, inserted: [] };
}

async function substituted(given: JsonObject, store: ResultStore): Promise<Substituted> {
  if (referenceOf(given)) {
    return { ok: false, reason: `the arguments as a whole cannot be a reference to a result: use it for one of them` };
  }
  const walk = new Walk(store);
  try {
    const filled = await walk.filled(given, 0);
    return { ok: true, arguments: isJsonObject(filled) ? filled : {}, inserted: walk.inserted };
  } catch (thrown) {
    if (thrown instanceof Refused) return { ok: false, reason: thrown.message };
    if (!(thrown instanceof Unreadable)) throw thrown;
    const hint = `An object that only looks like a reference is written with "$${KEY}"`;
    return { ok: false, reason: `${thrown.message}. ${hint}` };
  }
}

class Refused extends Error {}

class Walk {
  readonly #store: ResultStore;
  readonly inserted: Inserted[] = [];
  #bytesLeft: number = TOOL_LIMITS.resultInsert.maxBytes;

  constructor(store: ResultStore) {
    this.#store = store;
  }

  async filled(value: JsonValue, depth: number): Promise<JsonValue> {
    if (typeof value === "string") {
      const meant = inText(value);
      return meant === undefined ? value : typeof meant === "string" ? meant : await this.#insert(meant);
    }
    if (typeof value !== "object" || value === null || depth > LIMITS.dataMaxDepth) return value;
    if (!isJsonObject(value)) {
      const items: JsonValue[] = [];
      for (const item of value) items.push(await this.filled(item, depth + 1));
      return items;
    }
    const reference = referenceOf(value);
    if (reference) return await this.#insert(reference);
    const entries: [string, JsonValue][] = [];
    for (const [key, field] of Object.entries(value)) {
      if (field !== undefined) entries.push([unescaped(key), await this.filled(field, depth + 1)]);
    }
    return Object.fromEntries(entries);
  }

  async #insert({ handle, pointer }: Reference): Promise<JsonValue> {
    if (this.inserted.length >= TOOL_LIMITS.resultInsert.max) {
      throw new Refused(`at most ${TOOL_LIMITS.resultInsert.max} results can be put into one call`);
    }
    const found = await findResult(this.#store, handle);
    if (pointer === undefined) {
      const whole = await readWhole(this.#store, found, this.#bytesLeft);
      this.#count({ handle, bytes: Buffer.byteLength(whole) });
      return whole;
    }
    const place = await findValue(this.#store, found, pointer);
    const bytes = place.end - place.start;
    const what = `what is at ${quoted(pointer)} of ${handle}`;
    const size = `${what} has ${bytes} bytes, and at most`;
    if (bytes > this.#bytesLeft) throw new Refused(`${size} ${this.#bytesLeft} can be put in`);
    const json = await readBetween(this.#store, handle, place);
    // A text is quickly unescaped; lists and objects take long to parse.
    const { maxParsedBytes } = TOOL_LIMITS.resultInsert;
    if (bytes > maxParsedBytes && !json.startsWith('"')) {
      throw new Refused(`${size} ${maxParsedBytes} can be put in, unless it is a text`);
    }
    const parsed = parseJson(json);
    if (!parsed.ok) throw new Refused(`${what} is not JSON: ${parsed.reason}`);
    this.#count({ handle, pointer, bytes });
    return parsed.value;
  }

  #count(inserted: Inserted): void {
    this.#bytesLeft -= inserted.bytes;
    this.inserted.push(inserted);
  }
}

function referenceOf(value: JsonObject): Reference | undefined {
  const handle = value[KEY];
  const { pointer } = value;
  if (typeof handle !== "string" || (pointer !== undefined && typeof pointer !== "string")) return undefined;
  if (Object.keys(value).some((key) => key !== KEY && key !== "pointer")) return undefined;
  return { handle, ...defined({ pointer }) };
}

/** A text that is the JSON of a reference, or of one that is meant as it stands. */
function inText(text: string): Reference | string | undefined {
  if (text.length > TEXT_MAX_CHARS || !text.includes("{")) return undefined;
  if (!/^\s*\{\s*"(?:\$+result|pointer)"/.test(text)) return undefined;
  const parsed = parseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const reference = referenceOf(parsed.value);
  if (reference) return reference;
  const { value } = parsed;
  const inner: JsonObject = Object.fromEntries(Object.keys(value).map((key) => [unescaped(key), value[key]]));
  const isEscaped = !Object.hasOwn(value, KEY) && referenceOf(inner) !== undefined;
  return isEscaped ? JSON.stringify(inner) : undefined;
}

function unescaped(key: string): string {
  return ESCAPED_KEY.exec(key)?.[1] ?? key;
}
