// The embedder's door: createRuntime() and the types that go with it. `tenon acp` and `tenon chat` run on this.

import { VERSION } from "./base/version.js";
import type { World } from "./base/world.js";
import { tenonPaths } from "./config/index.js";
import { lazyModel, loadModel, type Model, resolveModelId } from "./models/index.js";
import { SessionHost } from "./session/index.js";
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
}

/** Opens sessions, each with its own servers and tools. Close it (or `await using` it) to leave no process behind. */
export function createRuntime(options: RuntimeOptions = {}): SessionHost {
  const world = options.world ?? nodeWorld();
  return new SessionHost({
    world,
    model: typeof options.model === "object" ? options.model : namedModel(options.model, world),
    stateDir: options.stateDir ?? tenonPaths(world.env).stateDir,
    client: { name: "tenon", version: VERSION },
  });
}

/** Provider packages are loaded with the first prompt, never before. */
function namedModel(name: string | undefined, world: World): Model {
  const id = resolveModelId({ env: world.env, ...(name === undefined ? {} : { flag: name }) });
  return lazyModel(id, () => loadModel(id, { env: world.env, fetch: world.fetch }));
}
