// Builds the host of sessions: which model they begin with, where they are stored, what they remember.
import { join } from "node:path";
import { defined } from "../base/json/defined.js";
import { modelFetch } from "../base/ports/trace.js";
import type { World } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import type { BuiltinName } from "../builtin/index.js";
import { tenonPaths } from "../config/index.js";
import { diskCache, type GrantStore, recordedCache, type ServerCache } from "../mcp/index.js";
import {
  type AvailableModels,
  availableModels,
  knownAbilities,
  loadModel,
  type Model,
  ModelLists,
  resolveModelId,
} from "../models/index.js";
import type { DecisionStore, Embedder, FindTools, ToolTransformer } from "../tools/index.js";
import { SessionHost } from "./host.js";
import type { ServerOutput, SessionConfig } from "./options.js";
import type { SessionStore } from "./store/session-store.js";

export interface HostOptions {
  /**
   * `provider/name`, or a model of your own. Without it: TENON_MODEL, else the first provider with a key in the
   * environment, else the offline model.
   */
  readonly model?: string | Model;
  /** The models sessions may change to. Unless given: with a model by name, those there are keys for; else none. */
  readonly models?: AvailableModels;
  readonly world: World;
  /** Where journals are kept; unless given, `$TENON_HOME/state` or the XDG state directory. */
  readonly stateDir?: string;
  /** Where sessions are stored; in files of `stateDir` unless given. */
  readonly store?: SessionStore;
  /** Where decisions of people outlive a session; in files of `stateDir` unless given. */
  readonly decisions?: DecisionStore;
  /** Where eras and tool lists of servers are remembered; unless given, `$TENON_HOME/cache` or the XDG cache directory. */
  readonly cacheDir?: string;
  /** Remembers them in place of files of `cacheDir`. */
  readonly cache?: ServerCache;
  /**
   * Give every session the servers of the user's and the project's configuration too, under trust, as `tenon acp` does.
   * Not unless given: a library reads no files behind its embedder's back.
   */
  readonly config?: SessionConfig;
  /** Tenon's own tools (files, commands, search, …) beside those of servers: all of them unless given, `[]` for none. */
  readonly builtin?: readonly BuiltinName[];
  /** Code that changes or leaves out tools before the model sees them: applied in this order, after the configuration. */
  readonly transformers?: readonly ToolTransformer[];
  /**
   * Where log-ins to remote servers are kept, a `DiskGrantStore` for instance; nobody can log in to one unless given. The
   * person is led to the page through `SessionPorts.elicit`. `tenon acp` keeps the person's own.
   */
  readonly grants?: GrantStore;
  /** Keeps what servers write to their stderr or log; nobody does unless given. */
  readonly serverOutput?: ServerOutput;
  /** An embedder of your own: tools behind search are compared by meaning too, instead of as `search.embeddings` says. */
  readonly embedder?: Embedder;
  /** Finds tools in place of Tenon's own search. */
  readonly findTools?: FindTools;
  /** What becomes of a question while nobody is attached who could answer it: `decline` (default), or `wait` for a day. */
  readonly unattended?: "decline" | "wait";
  /** Prompts of a session that may wait while a turn runs: with 0 (default), a prompt meanwhile is refused. */
  readonly maxQueuedPrompts?: number;
  /**
   * What becomes of a turn that was under way when its process ended: it is ended when the session is loaded, unless given;
   * `continue` leaves it to `Session.continueOpenTurn`.
   */
  readonly openTurns?: "end" | "continue";
}

/** Opens sessions, each with its own servers and tools. Close it (or `await using` it) to leave no process behind. */
export function createHost(options: HostOptions): SessionHost {
  const { world } = options;
  const paths = tenonPaths(world.env);
  const chosen = modelsOf(options, world);
  return new SessionHost({
    world,
    cache: recordedCache(
      options.cache ?? diskCache({ world, dir: join(options.cacheDir ?? paths.cacheDir, "servers") }),
      world,
    ),
    ...chosen,
    ...defined({
      config: options.config,
      builtin: options.builtin,
      transformers: options.transformers,
      embedder: options.embedder,
      findTools: options.findTools,
      grants: options.grants,
      serverOutput: options.serverOutput,
      unattended: options.unattended,
      maxQueuedPrompts: options.maxQueuedPrompts,
      openTurns: options.openTurns,
      store: options.store,
      decisions: options.decisions,
    }),
    stateDir: options.stateDir ?? paths.stateDir,
    cacheDir: options.cacheDir ?? paths.cacheDir,
    client: { name: "tenon", version: VERSION },
  });
}

interface ChosenModels {
  readonly model: Model;
  readonly models?: AvailableModels;
}

/** Provider packages are loaded with the first prompt, never before. */
function modelsOf({ model, models }: HostOptions, world: World): ChosenModels {
  if (typeof model === "object") return { model, ...defined({ models }) };
  const { env } = world;
  const first = resolveModelId({ env, ...defined({ flag: model }) });
  const fetch = modelFetch(world);
  const lists = new ModelLists(world);
  const now = () => world.now();
  const load = (id: string) => loadModel(id, { env, fetch, lists, now, clock: world });
  const available = availableModels({ first, env, fetch, lists, load, known: (id) => knownAbilities(id, { env }) });
  return { model: available.first, models: models ?? available };
}
