// Compares a query with tools by meaning: their texts as vectors of an embedder, learned within bounds and kept.
import { createHash } from "node:crypto";
import { orAborted } from "../../base/async/deadline.js";
import { Pace } from "../../base/async/pace.js";
import { handled, Scope } from "../../base/async/scope.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { World } from "../../base/ports/world.js";
import { TOOL_LIMITS } from "../limits.js";
import type { CatalogTool } from "../tool.js";
import { KEY_BYTES, VectorFile } from "./vector-file.js";

/**
 * Provided by the program that embeds Tenon, or made from the configuration: a local model, or an endpoint.
 *
 * @example
 * const embedder: Embedder = { id: "my/embedder", embed: async (texts) => await vectorsOf(texts) };
 */
export interface Embedder {
  /** Names the model, for people too: vectors of two models cannot be compared. Asked for after the first vector. */
  readonly id: string;
  /** One vector a text, in their order, all of the same length. */
  embed(
    texts: readonly string[],
    signal: AbortSignal,
    kind: "query" | "document",
  ): Promise<readonly (readonly number[])[]>;
}

/** How close tools are to a query. */
export interface Closeness {
  /** Cosines by id. A tool that was not embedded in time is missing, and ranked by its words alone. */
  readonly scores: ReadonlyMap<string, number>;
  /** Why meaning does not count, or only for some tools; for people. */
  readonly reason?: string;
}

export interface EmbeddingsOptions {
  readonly world: World;
  /** Where vectors are kept across processes; in memory only unless given. */
  readonly folder?: string;
  /** How long one search waits. */
  readonly waitMs?: number;
}

/** A text to embed; one that the endpoint refuses for its length is sent once more, shorter. */
type Wanted = readonly [key: string, text: string];

/** One for all sessions that use the same embedder. What is not learned in time is learned in the background. */
export class ToolEmbeddings implements AsyncDisposable {
  readonly #embedder: Embedder;
  readonly #world: World;
  readonly #waitMs: number;
  readonly #scope: Scope;
  readonly #folder: string | undefined;
  /** By hash of the text, so that a tool is embedded anew only when its words change. The longest unused go first. */
  #vectors = new Map<string, Int8Array>();
  /** Of every vector, once there is one. */
  #dimensions: number | undefined;
  #file: VectorFile | undefined;
  readonly #keys = new WeakMap<CatalogTool, string>();
  readonly #wanted = new Map<string, string>();
  #loading: Promise<void> | undefined;
  #learning: Promise<void> | undefined;
  #saving: Promise<void> = Promise.resolve();
  #unsaved = 0;
  /** After a failure nothing is sent before this. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #failure: string | undefined;

  constructor(embedder: Embedder, { world, folder, waitMs = TOOL_LIMITS.toolEmbeddingMs.wait }: EmbeddingsOptions) {
    this.#embedder = embedder;
    this.#world = world;
    this.#waitMs = waitMs;
    this.#scope = new Scope(world.log);
    this.#folder = folder;
  }

  /** Rejects only when the signal aborts. */
  async scores(query: string, tools: readonly CatalogTool[], signal: AbortSignal): Promise<Closeness> {
    signal.throwIfAborted();
    if (this.#world.monotonicMs() < this.#pausedUntilMs)
      return { scores: new Map(), ...defined({ reason: this.#failure }) };
    const known = tools.slice(0, TOOL_LIMITS.toolEmbedding.vectors);
    const found: { asked?: Float32Array } = {};
    const work = async () => {
      found.asked = await this.#ask(query, signal);
      this.#loading ??= this.#load(found.asked.length);
      await this.#loading;
      await this.#learn(known);
    };
    const working = work().catch((error: unknown) => {
      if (!signal.aborted && !this.#scope.isClosed) this.#fail(error);
    });
    // Goes on after the search has stopped waiting: a local server may have to load its model first.
    this.#scope.run("embed tools", () => working);
    using deadline = this.#world.deadline(this.#waitMs, signal);
    await orAborted(working, deadline.signal).catch(() => signal.throwIfAborted());
    const { asked } = found;
    if (asked) return { scores: await this.#compare(asked, known), ...defined({ reason: this.#failure }) };
    const late = `${this.#embedder.id} gave no answer within ${this.#waitMs / 1_000} s.`;
    return { scores: new Map(), reason: deadline.expired ? late : (this.#failure ?? late) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope.close();
    await this.#saving;
  }

  /** Vectors of another length are of another model under the same name: they are not used. */
  async #load(dimensions: number): Promise<void> {
    if (this.#folder === undefined) return;
    this.#file = new VectorFile(this.#world, this.#folder, this.#embedder.id);
    const known = [...(await this.#file.read())].filter(([, { length }]) => length === dimensions);
    this.#vectors = new Map([...known, ...this.#vectors]);
  }

  async #ask(query: string, signal: AbortSignal): Promise<Float32Array> {
    const { textChars } = TOOL_LIMITS.toolEmbedding;
    const tailChars = textChars / 4; // requests stand at the beginning and at the end, pasted logs between
    const isLong = query.length > textChars;
    const text = isLong ? `${query.slice(0, textChars - tailChars)}\n${query.slice(-tailChars)}` : query;
    const [asked] = await this.#embed([text], AbortSignal.any([signal, this.#scope.signal]), "query");
    if (!asked) throw new Error(`the embedder ${this.#embedder.id} gave no vector`);
    this.#failure = undefined;
    return asked;
  }

  /** Resolves once all of these were asked for. */
  async #learn(tools: readonly CatalogTool[]): Promise<void> {
    for (let at = 0; at < tools.length; at += TOOL_LIMITS.toolEmbedding.batch) {
      const some = tools.slice(at, at + TOOL_LIMITS.toolEmbedding.batch);
      await Pace.of(this.#world).run(() => {
        for (const tool of some)
          if (!this.#vectors.has(this.#keyOf(tool))) this.#wanted.set(this.#keyOf(tool), textOf(tool));
      });
    }
    this.#learning ??= this.#learnWanted();
    await this.#learning;
  }

  async #learnWanted(): Promise<void> {
    const work = async () => {
      while (this.#wanted.size > 0 && !this.#scope.isClosed) {
        const batch = [...this.#wanted].slice(0, TOOL_LIMITS.toolEmbedding.batch);
        for (const [key] of batch) this.#wanted.delete(key);
        await this.#learnBatch(batch);
        if (this.#unsaved >= TOOL_LIMITS.toolEmbedding.saveEvery) this.#save();
      }
    };
    const ended = await Promise.allSettled(Array.from({ length: TOOL_LIMITS.toolEmbedding.parallel }, work));
    this.#learning = undefined;
    this.#save();
    const failed = ended.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }

  async #learnBatch(batch: readonly Wanted[], maxChars: number = TOOL_LIMITS.toolEmbedding.textChars): Promise<void> {
    const texts = batch.map(([, text]) => text.slice(0, maxChars));
    const { shortChars } = TOOL_LIMITS.toolEmbedding;
    let vectors: readonly Float32Array[];
    try {
      vectors = await this.#embed(texts, this.#scope.signal, "document");
    } catch (error) {
      const isRefused = error instanceof TenonError && REFUSALS.includes(error.code);
      if (!isRefused || maxChars <= shortChars) throw error;
      return await this.#learnBatch(batch, shortChars);
    }
    for (const [index, [key]] of batch.entries()) {
      const vector = vectors[index];
      if (vector) this.#vectors.set(key, quantised(vector));
    }
    this.#unsaved += batch.length;
    for (const key of this.#vectors.keys()) {
      if (this.#vectors.size <= TOOL_LIMITS.toolEmbedding.vectors) break;
      this.#vectors.delete(key);
    }
  }

  /** One after another, in the background. */
  #save(): void {
    if (this.#unsaved === 0 || !this.#file) return;
    this.#unsaved = 0;
    const file = this.#file;
    const before = this.#saving;
    const save = async () => {
      await before;
      await file.write(this.#vectors);
    };
    this.#saving = save();
    handled(this.#saving, this.#world.log, "save embeddings");
  }

  async #compare(asked: Float32Array, tools: readonly CatalogTool[]): Promise<ReadonlyMap<string, number>> {
    const scores = new Map<string, number>();
    for (let at = 0; at < tools.length; at += TOOL_LIMITS.toolEmbedding.batch) {
      await Pace.of(this.#world).run(() => {
        for (const tool of tools.slice(at, at + TOOL_LIMITS.toolEmbedding.batch)) {
          const key = this.#keyOf(tool);
          const vector = this.#vectors.get(key);
          if (vector?.length !== asked.length) continue;
          this.#vectors.delete(key);
          this.#vectors.set(key, vector);
          scores.set(tool.id, cosine(asked, vector));
        }
      });
    }
    return scores;
  }

  async #embed(
    texts: readonly string[],
    signal: AbortSignal,
    kind: "query" | "document",
  ): Promise<readonly Float32Array[]> {
    const { id } = this.#embedder;
    const vectors = await this.#embedder.embed(texts, signal, kind);
    if (vectors.length !== texts.length) {
      throw new Error(`the embedder ${id} gave ${vectors.length} vectors for ${texts.length} texts`);
    }
    return vectors.map((vector) => {
      const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
      if (!(length > 0 && Number.isFinite(length)))
        throw new Error(`the embedder ${id} gave a vector that has no direction`);
      this.#checkLength(vector.length);
      return Float32Array.from(vector, (value) => value / length);
    });
  }

  /** After a change of lengths all is learned anew: another model answers under the same name. */
  #checkLength(length: number): void {
    const before = this.#dimensions;
    this.#dimensions = length;
    if (before === undefined || before === length) return;
    this.#vectors = new Map();
    throw new Error(`the embedder ${this.#embedder.id} gives vectors of different lengths`);
  }

  #fail(error: unknown): void {
    const { pause, maxPause } = TOOL_LIMITS.toolEmbeddingMs;
    const asked = error instanceof TenonError ? error.retryAfterMs : undefined;
    this.#failure = error instanceof TenonError ? `${error.message} ${error.hint}`.trim() : messageOf(error);
    this.#pausedUntilMs = this.#world.monotonicMs() + Math.min(asked ?? pause, maxPause);
    this.#wanted.clear();
    this.#world.log.warn("embeddings.failed", { embedder: this.#embedder.id, reason: this.#failure });
  }

  #keyOf(tool: CatalogTool): string {
    const known = this.#keys.get(tool);
    if (known !== undefined) return known;
    const key = createHash("sha256").update(textOf(tool)).digest().subarray(0, KEY_BYTES).toString("base64");
    this.#keys.set(tool, key);
    return key;
  }
}

/** What endpoints say to a text that is longer than their model takes. */
const REFUSALS: readonly string[] = ["model.invalid_request", "model.context_overflow"];

/** What a person would read of it: names of properties say what it takes, their types do not. */
function textOf({ source, definition }: CatalogTool): string {
  const { name, title, description, inputSchema } = definition;
  const properties = Object.keys(inputSchema["properties"] ?? {}).slice(0, TOOL_LIMITS.toolSearchField.schemaNodes);
  const text = `${source}: ${name}${title ? ` (${title})` : ""}\n${description}\n${properties.join(", ")}`;
  return text.slice(0, TOOL_LIMITS.toolEmbedding.textChars);
}

const MOST = 127;

/** A byte a number: a quarter of the memory, and cosines differ by less than 0.005. */
function quantised(vector: Float32Array): Int8Array {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  return Int8Array.from(vector, (value) => Math.round((value / largest) * MOST));
}

function cosine(one: Float32Array, other: Int8Array): number {
  let sum = 0;
  let squares = 0;
  for (let at = 0; at < one.length; at++) {
    const value = other[at] ?? 0;
    sum += (one[at] ?? 0) * value;
    squares += value * value;
  }
  return squares === 0 ? 0 : sum / Math.sqrt(squares);
}
