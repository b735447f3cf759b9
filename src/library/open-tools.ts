// Tools without a model, for programs that have a loop of their own: Tenon's connections, names, policy, search and results.
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { Log, World } from "../base/ports/world.js";
import type { Model } from "../models/index.js";
import type { BuiltinName, LineStore, ServerStatus } from "../session/index.js";
import type { Embedder, ToolTransformer } from "../tools/index.js";
import { currentFolder } from "../world/index.js";
import type { EventListener } from "./events.js";
import { checkOptions, TEXT } from "./options.js";
import { LibraryRuntime, TOOL_OPTIONS, type ToolSearch } from "./runtime.js";
import type { ServerEntries, ServerEntry } from "./servers.js";
import type { Approve, ReadyOptions, SessionTools } from "./session.js";
import type { ToolSource } from "./source.js";
import type { Tool } from "./tool.js";

/**
 * Options of `openTools`.
 *
 * @example
 * const options: OpenToolsOptions = { mcpServers: { files: { command: "my-server" } }, approve: ({ tool }) => !tool.name.includes("delete") };
 */
export interface OpenToolsOptions {
  readonly mcpServers?: ServerEntries;
  /** The working directory: an absolute path; that of the process unless given. */
  readonly cwd?: string;
  /** Decides about calls that policy wants to be approved. */
  readonly approve?: Approve;
  /** Tenon's own tools: none unless given. */
  readonly builtin?: readonly BuiltinName[] | "all";
  readonly transformers?: readonly ToolTransformer[];
  readonly search?: Embedder | ToolSearch;
  readonly onEvent?: EventListener;
  /** `true`: also the servers and rules of the user's and the project's configuration, under trust. */
  readonly config?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: Log;
  readonly world?: World;
}

/**
 * Tools that were opened without a model.
 *
 * @example
 * const tools = await openTools({ mcpServers: { files: { command: "my-server" } } });
 * await tools.ready();
 * const { text } = await tools.call("read_file", { path: "README.md" });
 * await tools.close();
 */
export interface OpenTools extends SessionTools, AsyncDisposable {
  /** As `Session.ready`. */
  ready(options?: ReadyOptions): Promise<readonly ServerStatus[]>;
  /** The state of every server now, those with malformed entries included. */
  servers(): readonly ServerStatus[];
  addServer(name: string, entry: ServerEntry): Promise<void>;
  removeServer(name: string): Promise<void>;
  register(tool: Tool | ToolSource): () => void;
  unregister(source: string): void;
  onEvent(listener: EventListener): () => void;
  close(): Promise<void>;
}

/** Never asked: whoever opens tools has a loop, and so a model, of their own. */
const NO_MODEL: Model = {
  id: "none/tools-only",
  // Whoever sends results to a model decides about images: here they are named, not refused.
  accepts: (mediaType) => mediaType.startsWith("image/"),
  stream: () => {
    throw new TenonError("model.unknown", "openTools has no model: use createRuntime for prompts");
  },
};

/** Nobody takes up the session of tools that were opened: nothing is said in it. */
const NO_JOURNAL: LineStore = {
  list: async () => [],
  read: async () => undefined,
  append: async () => {},
  remove: async () => {},
};

/**
 * Opens the tools of servers without a model: to list, call and search them, and for the adapters of other SDKs.
 *
 * @example
 * const tools = await openTools({ mcpServers: { files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } } });
 * await tools.ready();
 * console.log(tools.list().map(({ name }) => name));
 * await tools.close();
 */
export async function openTools(options: OpenToolsOptions = {}): Promise<OpenTools> {
  checkOptions(options, { ...TOOL_OPTIONS, cwd: TEXT }, "openTools");
  const { cwd = currentFolder(), mcpServers, ...rest } = options;
  const runtime = new LibraryRuntime({ model: NO_MODEL, store: NO_JOURNAL, ...rest });
  const close = () => runtime.close();
  try {
    const session = await runtime.createSession({ cwd, ...defined({ mcpServers }) });
    const { tools } = session;
    return {
      list: () => tools.list(),
      call: (name, args, given) => tools.call(name, args, given),
      onChange: (listener) => tools.onChange(listener),
      bySource: (source) => tools.bySource(source),
      search: (query, given) => tools.search(query, given),
      ready: (given) => session.ready(given),
      servers: () => session.servers(),
      addServer: (name, entry) => session.addServer(name, entry),
      removeServer: (name) => session.removeServer(name),
      register: (tool) => session.register(tool),
      unregister: (source) => session.unregister(source),
      onEvent: (listener) => session.onEvent(listener),
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
