// Closeness of tools to a query by an embedder of the embedding program. Without one nothing of this runs.
import { createHash } from "node:crypto";
import { TOOL_LIMITS } from "../limits.js";
import type { CatalogTool } from "../tool.js";

/** Provided by the program that embeds Tenon: a local model, or an endpoint. */
export interface Embedder {
  /** Names the model: vectors of two models cannot be compared. */
  readonly id: string;
  /** One vector a text, in their order, all of the same length. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]>;
}

export class ToolEmbeddings {
  readonly #embedder: Embedder;
  /** By hash of the text, so that a tool is embedded anew only when its words change. The longest unused go first. */
  readonly #vectors = new Map<string, Float32Array>();
  readonly #keys = new WeakMap<CatalogTool, string>();

  constructor(embedder: Embedder) {
    this.#embedder = embedder;
  }

  /** Cosines by id. Rejects when the embedder does, or when what it gives is not what was asked for. */
  async scores(
    query: string,
    tools: readonly CatalogTool[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>> {
    const known = tools.slice(0, TOOL_LIMITS.toolEmbedding.vectors);
    await this.#learn(known, signal);
    const [asked] = await this.#embed([query.slice(0, TOOL_LIMITS.toolEmbedding.textChars)], signal);
    const scores = new Map<string, number>();
    if (!asked) return scores;
    for (const tool of known) {
      const key = this.#keyOf(tool);
      const vector = this.#vectors.get(key);
      if (!vector) continue;
      this.#vectors.delete(key);
      this.#vectors.set(key, vector);
      scores.set(tool.id, cosine(asked, vector, this.#embedder.id));
    }
    return scores;
  }

  async #learn(tools: readonly CatalogTool[], signal: AbortSignal): Promise<void> {
    const missing = new Map<string, string>();
    for (const tool of tools) {
      const key = this.#keyOf(tool);
      if (!this.#vectors.has(key)) missing.set(key, textOf(tool));
    }
    const keys = [...missing.keys()];
    for (let at = 0; at < keys.length; at += TOOL_LIMITS.toolEmbedding.batch) {
      signal.throwIfAborted();
      const batch = keys.slice(at, at + TOOL_LIMITS.toolEmbedding.batch);
      const texts = batch.map((key) => missing.get(key) ?? "");
      const vectors = await this.#embed(texts, signal);
      for (const [index, key] of batch.entries()) {
        const vector = vectors[index];
        if (vector) this.#vectors.set(key, vector);
      }
    }
    for (const key of this.#vectors.keys()) {
      if (this.#vectors.size <= TOOL_LIMITS.toolEmbedding.vectors) break;
      this.#vectors.delete(key);
    }
  }

  async #embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const { id } = this.#embedder;
    const vectors = await this.#embedder.embed(texts, signal);
    if (vectors.length !== texts.length) {
      throw new Error(`the embedder ${id} gave ${vectors.length} vectors for ${texts.length} texts`);
    }
    return vectors.map((vector) => {
      const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
      if (length > 0 && Number.isFinite(length)) return Float32Array.from(vector, (value) => value / length);
      throw new Error(`the embedder ${id} gave a vector that has no direction`);
    });
  }

  #keyOf(tool: CatalogTool): string {
    const key = this.#keys.get(tool) ?? createHash("sha256").update(textOf(tool)).digest("base64");
    this.#keys.set(tool, key);
    return key;
  }
}

/** What a person would read of it: names of properties say what it takes, their types do not. */
function textOf({ source, definition }: CatalogTool): string {
  const { name, title, description, inputSchema } = definition;
  const properties = Object.keys(inputSchema["properties"] ?? {}).slice(0, TOOL_LIMITS.toolSearchField.schemaNodes);
  const text = `${source}: ${name}${title ? ` (${title})` : ""}\n${description}\n${properties.join(", ")}`;
  return text.slice(0, TOOL_LIMITS.toolEmbedding.textChars);
}

function cosine(one: Float32Array, other: Float32Array, embedder: string): number {
  if (one.length !== other.length) throw new Error(`the embedder ${embedder} gives vectors of different lengths`);
  let sum = 0;
  for (const [at, value] of one.entries()) sum += value * (other[at] ?? 0);
  return sum;
}
