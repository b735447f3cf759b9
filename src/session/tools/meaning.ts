// Search by meaning for all sessions of a host: one set of vectors for each embeddings model.
import { join } from "node:path";
import { Scope } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonValue } from "../../base/json/json.js";
import { recorded } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import { type EffectiveConfig, problemText, type ResolveSecret } from "../../config/index.js";
import { type EmbeddingModel, embeddingModel } from "../../models/index.js";
import { type CatalogTool, type Closeness, type Embedder, ToolEmbeddings } from "../../tools/index.js";

export interface MeaningOptions {
  readonly world: World;
  /** The embedding program's own; it counts instead of the configuration's. Its vectors are kept in memory. */
  readonly embedder?: Embedder;
  /** Where vectors are kept across processes; in memory only unless given. */
  readonly cacheDir?: string;
  readonly resolveSecret?: ResolveSecret;
  /** How long one search waits for it. */
  readonly waitMs?: number;
}

type Configured = Pick<EffectiveConfig, "embeddings" | "providers">;

export class MeaningSearch implements AsyncDisposable {
  readonly #options: MeaningOptions;
  readonly #scope: Scope;
  #open: { readonly key: string; readonly embeddings: ToolEmbeddings } | undefined;

  constructor(options: MeaningOptions) {
    this.#options = options;
    this.#scope = new Scope(options.world.log);
  }

  /** Undefined where tools are found by words alone. Sends nothing and reads nothing. */
  of(config: Configured | undefined): ToolEmbeddings | undefined {
    const { embedder, cacheDir, ...options } = this.#options;
    if (!embedder && !config?.embeddings) return undefined;
    const key = embedder ? "" : JSON.stringify([config?.embeddings, config?.providers]);
    if (this.#open?.key === key) return this.#open.embeddings;
    const before = this.#open?.embeddings;
    if (before) this.#scope.run("close embeddings", () => before[Symbol.asyncDispose]());
    const made = embedder ?? configuredEmbedder(config ?? { providers: {} }, options);
    const folder = embedder || cacheDir === undefined ? undefined : join(cacheDir, "embeddings");
    const embeddings = new ToolEmbeddings(made, { ...options, ...defined({ folder }) });
    this.#open = { key, embeddings };
    return embeddings;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open?.embeddings[Symbol.asyncDispose]();
    await this.#scope.close();
  }
}

/** No secret is fetched before the first text is embedded; one that cannot be had is asked for again the next time. */
export function configuredEmbedder(
  config: Configured,
  { world, resolveSecret }: Pick<MeaningOptions, "world" | "resolveSecret">,
): Embedder {
  const settings = config.embeddings?.settings ?? { model: "" };
  const load = async () => {
    const { embeddingEnvironment } = await import("../../config/index.js");
    const { env, problems } = await embeddingEnvironment(config, { world, ...defined({ resolveSecret }) });
    const [problem] = problems;
    if (problem) throw new TenonError("model.unauthorized", problemText(problem));
    return embeddingModel(settings, { env, fetch: world.fetch, world });
  };
  let loading: ReturnType<typeof load> | undefined;
  let loaded: EmbeddingModel | undefined;
  return {
    get id() {
      return loaded?.id ?? settings.model;
    },
    embed: async (texts, signal, kind) => {
      loading ??= load();
      try {
        loaded = await loading;
      } catch (error) {
        loading = undefined;
        throw error;
      }
      return await loaded.embed(texts, signal, kind);
    },
  };
}

/** What came of a search by meaning depends on the network, the disk and the clock, so a replay takes it from the recording. */
export async function recordedCloseness(
  embeddings: ToolEmbeddings,
  { query, tools }: { readonly query: string; readonly tools: readonly CatalogTool[] },
  { world, signal }: { readonly world: World; readonly signal: AbortSignal },
): Promise<Closeness> {
  if (!world.trace && !world.replay) return await embeddings.scores(query, tools, signal);
  const { scores, reason } = await recorded(world, {
    ask: "meaning",
    about: { query, tools: tools.length },
    work: async () => {
      const found = await embeddings.scores(query, tools, signal);
      const list = tools.map(({ id }): JsonValue => found.scores.get(id) ?? null);
      return { scores: list, reason: found.reason ?? null };
    },
    read: (answer) => {
      if (!isJsonObject(answer) || !Array.isArray(answer["scores"])) return undefined;
      return { scores: answer["scores"], reason: answer["reason"] ?? null };
    },
  });
  const known = tools.flatMap(({ id }, at): [string, number][] => {
    const score = scores[at];
    return typeof score === "number" ? [[id, score]] : [];
  });
  return { scores: new Map(known), ...defined({ reason: typeof reason === "string" ? reason : undefined }) };
}
