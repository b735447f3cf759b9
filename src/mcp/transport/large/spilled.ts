// Parts of results that were too long for memory: the files they are in, and the marks for them inside messages.

import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import type { World } from "../../../base/ports/world.js";
import type { SpilledBlock } from "../../../base/text/content.js";
import type { PartFacts } from "./message-parts.js";

/** Kept beside the values and not in them: a server can write any JSON, and must not make us read any file. */
const blocks = new WeakMap<object, SpilledBlock>();

/** The block that a marked value stands for; undefined for values that a server really sent. */
export function spilledOf(value: JsonValue | undefined): SpilledBlock | undefined {
  return isJsonObject(value) ? blocks.get(value) : undefined;
}

/** Whether it is marked, or has a marked field. Costs nothing while nothing is marked at all. */
export function isPartlySpilled(value: JsonValue): boolean {
  if (!hasMarked || !isJsonObject(value)) return false;
  return blocks.has(value) || Object.values(value).some((field) => spilledOf(field) !== undefined);
}

let hasMarked = false;

function mark(block: SpilledBlock): JsonObject {
  const marked: JsonObject = {};
  hasMarked = true;
  blocks.set(marked, block);
  return marked;
}

/** Placeholders deeper than this in a content block stay what they are: no kind of block nests like that. */
const MAX_DEPTH = 8;

export type PartLookup = (text: string) => PartFacts | undefined;

/** The value with each placeholder replaced: by its text, or by a mark for the file it is in. */
export function withParts(value: JsonValue, lookup: PartLookup, depth = 0): JsonValue {
  if (typeof value === "string") return partValue(value, lookup);
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return value;
  if (!isJsonObject(value)) return value.map((item) => withParts(item, lookup, depth + 1));
  const block = asBlock(value, lookup);
  if (block) return mark(block);
  const entries = Object.entries(value).map(([key, field]) => [key, withParts(field ?? null, lookup, depth + 1)]);
  const filled: JsonObject = Object.fromEntries(entries);
  return filled;
}

function partValue(text: string, lookup: PartLookup): JsonValue {
  const part = lookup(text);
  if (!part) return text;
  if ("text" in part) return part.text;
  return mark(spilled(part, { kind: part.form === "json" ? "structured" : "text" }));
}

/** A content block whose one long text is in a file is that file, with the block's own label on it. */
function asBlock(raw: JsonObject, lookup: PartLookup): SpilledBlock | undefined {
  const kind = kindOf(raw);
  if (kind === undefined) return undefined;
  const inner = raw["type"] === "resource" && isJsonObject(raw["resource"]) ? raw["resource"] : raw;
  for (const key of ["text", "data", "blob"]) {
    const text = inner[key];
    const part = typeof text === "string" ? lookup(text) : undefined;
    if (!part || "text" in part) continue;
    return spilled(part, { kind, mimeType: inner["mimeType"], uri: inner["uri"] });
  }
  return undefined;
}

function kindOf(raw: JsonObject): SpilledBlock["kind"] | undefined {
  const { type } = raw;
  if (type === "text" || type === "image" || type === "audio" || type === "resource") return type;
  return typeof raw["uri"] === "string" ? "resource" : undefined; // what resources/read sends has no type
}

function spilled(
  { path, bytes, preview }: Extract<PartFacts, { path: string }>,
  { kind, mimeType, uri }: { readonly kind: SpilledBlock["kind"]; mimeType?: unknown; uri?: unknown },
): SpilledBlock {
  const texts = {
    mimeType: typeof mimeType === "string" ? mimeType : undefined,
    uri: typeof uri === "string" ? uri : undefined,
  };
  return { type: "spilled", kind, bytes, path, preview, ...defined(texts) };
}

/** A folder for results that are too long for memory. Its owner removes it; otherwise it goes with the process. */
export class SpillDirectory implements AsyncDisposable {
  readonly #world: World;
  #folder: string | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  /** The folder is created with the first file in it. */
  get folder(): string {
    this.#folder ??= `${this.#world.files.scratchFolder()}/${Buffer.from(this.#world.randomBytes(6)).toString("hex")}`;
    return this.#folder;
  }

  /** Removes every file. Idempotent; the directory can be used again. */
  async dispose(): Promise<void> {
    const folder = this.#folder;
    this.#folder = undefined;
    if (folder !== undefined) await this.#world.files.remove(folder);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
