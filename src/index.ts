// The embedder's door: createRuntime() and the types that go with it. `tenon acp` and `tenon chat` run on this.

import { join } from "node:path";
import { VERSION } from "./base/version.js";
import type { World } from "./base/world.js";
import { tenonPaths } from "./config/index.js";
import { diskCache } from "./mcp/index.js";
import { lazyModel, loadModel, type Model, resolveModelId } from "./models/index.js";
import { type SessionConfig, SessionHost } from "./session/index.js";
import { nodeWorld } from "./world/index.js";

export type {
  AudioBlock,
  ContentBlock,
  ImageBlock,
  ResourceBlock,
  ResourceLinkBlock,
  TextBlock,
  UnknownBlock,
} from "./base/content.js";
export { ERROR_CODES, type ErrorCode, TenonError } from "./base/errors.js";
export type { JsonObject, JsonSchema, JsonValue } from "./base/json.js";
export type { World } from "./base/world.js";
export type { RemoteSpec, ServerSpec, StdioSpec } from "./mcp/index.js";
export type { Model, ModelEvent, ModelMessage, ModelRequest, ModelTool, ModelUsage } from "./models/index.js";
export { aiSdkModel } from "./models/index.js";
export type {
  NewSession,
  PermissionAnswer,
  PermissionQuestion,
  PromptResult,
  ServerStatus,
  Session,
  SessionEvent,
  SessionHost,
  SessionPorts,
} from "./session/index.js";
export type { CatalogTool, ToolOutcome, ToolProgress } from "./tools/index.js";
export { type NodeWorldOptions, nodeWorld } from "./world/index.js";

export interface RuntimeOptions {
  /**
   * `provider/name`, or a model of your own. Without it: TENON_MODEL, else the first provider with a key in the
   * environment, else the offline model.
   */
  readonly model?: string | Model;
  /** Time, processes, files and the like; the real ones unless given. */
  readonly world?: World;
  /** Where journals are kept; unless given, `$TENON_HOME/state` or the XDG state directory. */
  readonly stateDir?: string;
  /** Where eras and tool lists of servers are remembered; unless given, `$TENON_HOME/cache` or the XDG cache directory. */
  readonly cacheDir?: string;
  /**
   * Give every session the servers of the user's and the project's configuration too, under trust, as `tenon acp` does.
   * Not unless given: a library reads no files behind its embedder's back.
   */
  readonly config?: SessionConfig;
}

/** Opens sessions, each with its own servers and tools. Close it (or `await using` it) to leave no process behind. */
export function createRuntime(options: RuntimeOptions = {}): SessionHost {
  const world = options.world ?? nodeWorld();
  const paths = tenonPaths(world.env);
  return new SessionHost({
    world,
    cache: diskCache({ world, dir: join(options.cacheDir ?? paths.cacheDir, "servers") }),
    model: typeof options.model === "object" ? options.model : namedModel(options.model, world),
    ...(options.config ? { config: options.config } : {}),
    stateDir: options.stateDir ?? paths.stateDir,
    client: { name: "tenon", version: VERSION },
  });
}

/** Provider packages are loaded with the first prompt, never before. */
function namedModel(name: string | undefined, world: World): Model {
  const id = resolveModelId({ env: world.env, ...(name === undefined ? {} : { flag: name }) });
  return lazyModel(id, () => loadModel(id, { env: world.env, fetch: world.fetch }));
}
