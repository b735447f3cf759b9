// The vectors of one embeddings model on the disk, by the hash of their text: a cache that may be lost at any time.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { Pace } from "../../base/async/pace.js";
import { messageOf } from "../../base/errors.js";
import { parseObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { TOOL_LIMITS } from "../limits.js";

/** By key of the text, the least recently used first. All have the same length. */
export type Vectors = ReadonlyMap<string, Int8Array>;

const FORMAT = 1;
export const KEY_BYTES = 16;
const HEADER_BYTES = 256;
/** What is copied or hashed in one go: well below a millisecond. */
const PIECE_BYTES = 262_144;
const NOTHING: Vectors = new Map();

/**
 * A header of fixed size (JSON: format, numbers of a vector, how many, checksum of the rest), then key and vector in turn.
 * A file that is damaged, too large or of another format counts as empty and is written anew. No failure reaches the caller.
 */
export class VectorFile {
  readonly #world: World;
  readonly #folder: string;
  readonly #path: string;

  constructor(world: World, folder: string, model: string) {
    this.#world = world;
    this.#folder = folder;
    this.#path = join(folder, `${createHash("sha256").update(model).digest("hex").slice(0, 32)}.vectors`);
  }

  async read(): Promise<Vectors> {
    try {
      const found = await this.#world.files.find(this.#path);
      if (found === undefined) return NOTHING;
      const { cacheBytes } = TOOL_LIMITS.toolEmbedding;
      if (found.kind !== "file" || found.bytes > cacheBytes) throw new Error("it is no file of this size");
      const bytes = await this.#world.files.readBytes(this.#path, { start: 0, length: found.bytes });
      return await this.#parse(bytes);
    } catch (error) {
      this.#world.log.warn("embeddings.cache_unreadable", { path: this.#path, reason: messageOf(error) });
      return NOTHING;
    }
  }

  /** Another process may have written meanwhile: what it has is kept, as far as it fits. */
  async write(vectors: Vectors): Promise<void> {
    try {
      const [dimensions = 0] = [...vectors.values()].map(({ length }) => length);
      if (dimensions === 0) return;
      const others = [...(await this.read())].filter(([key, { length }]) => length === dimensions && !vectors.has(key));
      const record = KEY_BYTES + dimensions;
      const { cacheBytes, vectors: most } = TOOL_LIMITS.toolEmbedding;
      const room = Math.min(most, Math.floor((cacheBytes - HEADER_BYTES) / record));
      const kept = [...others, ...vectors].slice(-room);
      const hash = createHash("sha256");
      for (const piece of pieces(kept, record)) await Pace.of(this.#world).run(() => hash.update(piece));
      const facts = { v: FORMAT, dimensions, count: kept.length, sha256: hash.digest("hex") };
      const header = Buffer.from(JSON.stringify(facts).padEnd(HEADER_BYTES));
      await this.#world.files.writeParts(this.#path, withHeader(header, pieces(kept, record)));
      await this.#evict();
    } catch (error) {
      this.#world.log.warn("embeddings.cache_not_written", { path: this.#path, reason: messageOf(error) });
    }
  }

  async #parse(bytes: Uint8Array): Promise<Vectors> {
    const { v, dimensions, count, sha256 } = parseObject(Buffer.from(bytes.subarray(0, HEADER_BYTES)).toString()) ?? {};
    if (v !== FORMAT || typeof dimensions !== "number" || typeof count !== "number") throw new Error("no header");
    const record = KEY_BYTES + dimensions;
    const isWhole = Number.isSafeInteger(record) && dimensions > 0 && bytes.length === HEADER_BYTES + count * record;
    if (!isWhole) throw new Error("it has another length than its header says");
    const hash = createHash("sha256");
    for (let at = HEADER_BYTES; at < bytes.length; at += PIECE_BYTES) {
      await Pace.of(this.#world).run(() => hash.update(bytes.subarray(at, at + PIECE_BYTES)));
    }
    if (hash.digest("hex") !== sha256) throw new Error("its checksum is wrong");
    const vectors = new Map<string, Int8Array>();
    for (let at = HEADER_BYTES; at < bytes.length; at += record) {
      const key = Buffer.from(bytes.buffer, bytes.byteOffset + at, KEY_BYTES).toString("base64");
      vectors.set(key, new Int8Array(bytes.buffer, bytes.byteOffset + at + KEY_BYTES, dimensions));
    }
    return vectors;
  }

  /** Files of models that were used longest ago go first. */
  async #evict(): Promise<void> {
    const files = (await this.#world.files.list(this.#folder)).toSorted((a, b) => b.modifiedMs - a.modifiedMs);
    let bytes = 0;
    for (const file of files) {
      bytes += file.bytes;
      const path = join(this.#folder, file.name);
      if (bytes > TOOL_LIMITS.toolEmbedding.cacheBytes && path !== this.#path) await this.#world.files.remove(path);
    }
  }
}

function* withHeader(header: Uint8Array, rest: Iterable<Uint8Array>): Iterable<Uint8Array> {
  yield header;
  yield* rest;
}

function* pieces(kept: readonly (readonly [string, Int8Array])[], record: number): Iterable<Uint8Array> {
  const perPiece = Math.max(1, Math.floor(PIECE_BYTES / record));
  for (let at = 0; at < kept.length; at += perPiece) {
    yield Buffer.concat(
      kept
        .slice(at, at + perPiece)
        .flatMap(([key, vector]) => [
          Buffer.from(key, "base64"),
          Buffer.from(vector.buffer, vector.byteOffset, vector.length),
        ]),
    );
  }
}
