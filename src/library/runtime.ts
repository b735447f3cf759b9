// createRuntime: one model, the servers of every session, and the sessions themselves. Nothing is read or written unasked.
import { isAbsolute, join } from "node:path";
import { messageOf, TenonError } from "../base/errors.js";
import { uuidV7 } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject } from "../base/json/json.js";
import type { Log, World } from "../base/ports/world.js";
import { type GrantStore, MemoryGrants, memoryCache } from "../mcp/index.js";
import type { Model } from "../models/index.js";
import {
  BUILTIN_NAMES,
  type BuiltinName,
  createHost,
  LineSessionStore,
  type LineStore,
  type NewSession,
  type SessionHost,
  type SessionPorts,
} from "../session/index.js";
import type {
  CatalogTool,
  Embedder,
  FindTools,
  ToolSource as InnerSource,
  PolicyRule,
  ToolTransformer,
} from "../tools/index.js";
import type { EventListener } from "./events.js";
import { checkedModel, isOwnModel } from "./model.js";
import type { OpenToolsOptions } from "./open-tools.js";
import {
  ANYTHING,
  checkOptions,
  FLAG,
  FUNCTION,
  listOf,
  OBJECT,
  type OptionKind,
  objectWith,
  TEXT,
  TEXTS,
  worldOf,
} from "./options.js";
import { Registrations } from "./registrations.js";
import {
  deleteServer,
  readServers,
  type SaveOptions,
  type ServerEntries,
  type ServerEntry,
  saveServer,
} from "./servers.js";
import { type Approve, LibrarySession, type Session } from "./session.js";
import type { ToolSource } from "./source.js";
import type { Tool } from "./tool.js";
import type { ToolInfo } from "./tool-set.js";

/**
 * What a system prompt says beside or in place of Tenon's own words.
 *
 * @example
 * const systemPrompt: SystemPrompt = { mode: "override", text: "You are a librarian." };
 */
export type SystemPrompt = string | { readonly mode: "append" | "override"; readonly text: string };

/**
 * A search in place of Tenon's own: names of the tools that fit the query, the best first.
 *
 * @example
 * const search: ToolSearch = async ({ query, tools }) => tools.filter(({ name }) => name.includes(query)).map(({ name }) => name);
 */
export type ToolSearch = (request: {
  readonly query: string;
  readonly limit: number;
  readonly tools: readonly ToolInfo[];
  readonly signal: AbortSignal;
}) => readonly string[] | Promise<readonly string[]>;

/**
 * Options of `createRuntime`.
 *
 * @example
 * const options: RuntimeOptions = { model: "openai/gpt-5.4-mini", mcpServers: { files: { command: "my-server" } }, builtin: ["read_file"] };
 */
export interface RuntimeOptions {
  /** `provider/name` with its key in the environment, `offline/operator`, or a model of your own. Required. */
  readonly model: string | Model;
  /** Servers that every session gets, by name or as a list. */
  readonly mcpServers?: ServerEntries;
  /** Tenon's own tools: none unless given. */
  readonly builtin?: readonly BuiltinName[] | "all";
  /** Decides about calls that policy wants to be approved. */
  readonly approve?: Approve;
  /** Answers questions of servers (elicitation); without it servers are told that nobody can be asked. */
  readonly elicit?: SessionPorts["elicit"];
  /** Hears of every event of every session. */
  readonly onEvent?: EventListener;
  /** Changes or leaves out tools of servers before the model sees them, in this order. */
  readonly transformers?: readonly ToolTransformer[];
  /** How tools behind search are found: an embedder that compares by meaning, or a search of your own. */
  readonly search?: Embedder | ToolSearch;
  /** What the model is told about its task. */
  readonly systemPrompt?: SystemPrompt;
  /** Where sessions, long results and approvals are kept. Unless given: in a temporary folder that is removed with the runtime. */
  readonly stateDir?: string;
  /** Where the journals of sessions are kept, in place of files. */
  readonly store?: LineStore;
  /** Where log-ins to remote servers are kept; in memory unless given. */
  readonly grants?: GrantStore;
  /** `true`: sessions also have the servers and rules of the user's and the project's configuration, under trust. */
  readonly config?: boolean;
  /** Variables for keys, addresses and `${VAR}` in entries; those of the process unless given. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where Tenon logs; nowhere unless given. */
  readonly log?: Log;
  /** Time, processes, files and the network: for tests. */
  readonly world?: World;
}

/**
 * Options of `createSession` and `loadSession`.
 *
 * @example
 * const session = await runtime.createSession({ cwd: process.cwd(), mcpServers: { notes: { url: "http://localhost:3000/mcp" } } });
 */
export interface CreateSessionOptions {
  /** The working directory: an absolute path. */
  readonly cwd: string;
  /** Further directories that belong to the session. */
  readonly additionalDirectories?: readonly string[];
  /** Servers of this session; one of the same name as a server of the runtime takes its place. */
  readonly mcpServers?: ServerEntries;
  /** Of your own choice: 1 to 128 letters, digits, `-` and `_`. One is made unless given. */
  readonly id?: string;
  readonly systemPrompt?: SystemPrompt;
  /** In place of the runtime's. */
  readonly approve?: Approve;
  /** Hears of every event of this session. */
  readonly onEvent?: EventListener;
}

/**
 * Tools of all open sessions and of the runtime itself.
 *
 * @example
 * console.log(runtime.tools.bySource("files").map(({ name }) => name));
 */
export interface RuntimeTools {
  /** Of every source, each name once. */
  list(): readonly ToolInfo[];
  bySource(source: string): readonly ToolInfo[];
}

/**
 * Opens sessions. Close it to leave no process behind.
 *
 * @example
 * const runtime = await createRuntime({ model: "offline/operator" });
 * const session = await runtime.createSession({ cwd: process.cwd() });
 * await runtime.close();
 */
export interface Runtime extends AsyncDisposable {
  readonly tools: RuntimeTools;
  /** The open sessions. */
  readonly sessions: readonly Session[];
  /** Resolves before its servers are connected: `session.ready()` waits for them, and so does the first prompt, within a bound. */
  createSession(options: CreateSessionOptions): Promise<Session>;
  /** Takes up a stored session of `stateDir` or `store`. Rejects with `session.not_found` or `session.busy`. */
  loadSession(options: CreateSessionOptions & { readonly id: string }): Promise<Session>;
  /** The stored sessions, the one used last first. */
  listSessions(): Promise<
    readonly { readonly id: string; readonly cwd: string; readonly title: string; readonly updatedMs: number }[]
  >;
  /** Closes it if it is open, and removes all there is of it. */
  deleteSession(id: string): Promise<void>;
  /** Adds a tool, or a source of tools, to every session, open ones included; returns the way to take it out again. */
  register(tool: Tool | ToolSource): () => void;
  /** Takes out every tool that was registered under the name of this source. */
  unregister(source: string): void;
  /** Calls `listener` for every event of every session from now on; returns the way to stop. */
  onEvent(listener: EventListener): () => void;
  /** Writes an entry into the user's configuration, or into another file; comments in it stay. */
  saveServer(name: string, entry: ServerEntry, options?: SaveOptions): Promise<void>;
  /** Rejects with `config.invalid` when there is none of that name. */
  deleteServer(name: string, options?: SaveOptions): Promise<void>;
  close(): Promise<void>;
}

/**
 * Makes a runtime. Rejects with `model.unknown` without a model, with `model.unauthorized` without the key of its provider, and
 * with `usage.invalid` for an option there is not.
 *
 * @example
 * const runtime = await createRuntime({
 *   model: "anthropic/claude-sonnet-4-5",
 *   mcpServers: { files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } },
 * });
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  checkOptions(options, OPTIONS, "createRuntime");
  const runtime = new LibraryRuntime(options);
  const problem = runtime.problem;
  if (!problem) return runtime;
  await runtime.close();
  throw problem;
}

const NAMES_OF_BUILTIN: ReadonlySet<unknown> = new Set(BUILTIN_NAMES);
const BUILTIN: OptionKind = {
  words: `"all" or a list of ${BUILTIN_NAMES.join(", ")}`,
  fits: (value) => value === "all" || (Array.isArray(value) && value.every((name) => NAMES_OF_BUILTIN.has(name))),
};
const PROMPT_MODES: ReadonlySet<unknown> = new Set(["append", "override"]);
const SYSTEM_PROMPT: OptionKind = {
  words: 'a text or { mode: "append" or "override", text }',
  fits: (value) =>
    typeof value === "string" ||
    (isJsonObject(value) && typeof value["text"] === "string" && PROMPT_MODES.has(value["mode"])),
};
const EMBEDDER = objectWith("embed");

/** Options that `openTools` has as well. */
export const TOOL_OPTIONS: Readonly<Record<Exclude<keyof OpenToolsOptions, "cwd">, OptionKind>> = {
  mcpServers: ANYTHING,
  builtin: BUILTIN,
  approve: FUNCTION,
  onEvent: FUNCTION,
  transformers: { words: "a list of objects with transform()", fits: listOf(objectWith("transform")) },
  search: { words: "a function, or an object with embed()", fits: (it) => FUNCTION.fits(it) || EMBEDDER.fits(it) },
  config: FLAG,
  env: OBJECT,
  log: objectWith("debug", "info", "warn", "error"),
  world: OBJECT,
};

const OPTIONS: Readonly<Record<keyof RuntimeOptions, OptionKind>> = {
  model: ANYTHING,
  ...TOOL_OPTIONS,
  elicit: FUNCTION,
  systemPrompt: SYSTEM_PROMPT,
  stateDir: TEXT,
  store: objectWith("list", "read", "append", "remove"),
  grants: objectWith("read", "find", "update", "readClient", "writeClient"),
};

const SESSION_OPTIONS: Readonly<Record<keyof CreateSessionOptions, OptionKind>> = {
  cwd: ANYTHING,
  additionalDirectories: TEXTS,
  mcpServers: ANYTHING,
  id: TEXT,
  systemPrompt: SYSTEM_PROMPT,
  approve: FUNCTION,
  onEvent: FUNCTION,
};

/** Tools of servers that the program's own code handed over or registered may run without `approve`. */
const HANDED_OVER: PolicyRule = { effect: "allow", origin: ["client", "extra"] };

const NO_MODEL = "createRuntime needs a model: `provider/name`, `offline/operator`, or a model of your own";

export class LibraryRuntime implements Runtime {
  readonly #options: RuntimeOptions;
  readonly #world: World;
  readonly #host: SessionHost;
  readonly #sessions = new Map<string, LibrarySession>();
  readonly #listeners = new Set<EventListener>();
  readonly #registrations: Registrations;
  /** Removed with the runtime. */
  readonly #temporary: string | undefined;

  constructor(options: RuntimeOptions) {
    const { model, builtin = [], onEvent, transformers, search, store, grants, config } = options;
    const isModel = typeof model === "string" ? model !== "" : isOwnModel(model);
    if (!isModel) throw new TenonError("model.unknown", NO_MODEL);
    this.#options = options;
    this.#world = worldOf(options);
    const world = this.#world;
    if (onEvent) this.#listeners.add(onEvent);
    this.#temporary = options.stateDir === undefined ? temporaryFolder(world) : undefined;
    const stateDir = options.stateDir ?? this.#temporary ?? "";
    if (!isAbsolute(stateDir)) throw new TenonError("usage.invalid", "stateDir must be an absolute path", { hint: "" });
    this.#host = createHost({
      world,
      model: typeof model === "string" ? model : checkedModel(model),
      stateDir,
      cacheDir: join(stateDir, "cache"),
      builtin: builtin === "all" ? BUILTIN_NAMES : builtin,
      grants: grants ?? new MemoryGrants(),
      ...searchOptions(search),
      ...defined({
        transformers,
        cache: this.#temporary === undefined ? undefined : memoryCache(world),
        config: config === true ? {} : undefined,
        store: store && new LineSessionStore(store, world),
      }),
    });
    this.#registrations = new Registrations((source) => {
      for (const session of this.#sessions.values()) session.share(source);
      return () => {
        for (const session of this.#sessions.values()) session.unshare(source);
      };
    });
  }

  /** Why no session of it could be answered. */
  get problem(): TenonError | undefined {
    return this.#host.modelProblem;
  }

  /** For the other parts of the library. */
  get host(): SessionHost {
    return this.#host;
  }

  get registered(): readonly InnerSource[] {
    return this.#registrations.sources;
  }

  get options(): RuntimeOptions {
    return this.#options;
  }

  get sessions(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  get tools(): RuntimeTools {
    const sessions = () => [...this.#sessions.values()].map(({ tools }) => tools);
    return {
      list: () => distinct(sessions().flatMap((tools) => tools.list())),
      bySource: (source) => distinct(sessions().flatMap((tools) => tools.bySource(source))),
    };
  }

  async createSession(options: CreateSessionOptions): Promise<Session> {
    const { request, warnings } = await this.#request(options);
    return this.#opened(this.#host.createSession(request), options, { request, warnings });
  }

  async loadSession(options: CreateSessionOptions & { readonly id: string }): Promise<Session> {
    const { request, warnings } = await this.#request(options);
    const { session } = await this.#host.loadSession({ ...request, id: options.id });
    return this.#opened(session, options, { request, warnings });
  }

  async #request(options: CreateSessionOptions): Promise<OpenRequest> {
    checkOptions(options, SESSION_OPTIONS, "createSession");
    const { cwd, id, additionalDirectories, approve = this.#options.approve } = options;
    if (typeof cwd !== "string" || !isAbsolute(cwd)) {
      throw new TenonError("session.invalid_request", "createSession needs cwd, an absolute path");
    }
    const { given, warnings } = await readServers(this.#world, cwd, this.#options.mcpServers, options.mcpServers);
    const systemPrompt = promptOf(options.systemPrompt ?? this.#options.systemPrompt);
    const rules = approve ? [] : [HANDED_OVER];
    const asked = defined({ id, additionalDirectories, systemPrompt });
    return { request: { cwd, ...given, rules, isPlain: true, ...asked }, warnings };
  }

  #opened(
    inner: ReturnType<SessionHost["createSession"]>,
    { approve = this.#options.approve, onEvent }: CreateSessionOptions,
    { request, warnings }: OpenRequest,
  ): LibrarySession {
    const { elicit } = this.#options;
    const { servers = [], ...rest } = request;
    const session = new LibrarySession({
      world: this.#world,
      inner,
      given: { servers, ...rest },
      listeners: this.#listeners,
      onClosed: () => this.#sessions.delete(inner.id),
      ...defined({ approve, elicit, onEvent }),
    });
    for (const source of this.#registrations.sources) session.share(source);
    this.#sessions.set(inner.id, session);
    for (const warning of warnings) inner.notice("warning", warning);
    return session;
  }

  async listSessions(): ReturnType<Runtime["listSessions"]> {
    const found: { id: string; cwd: string; title: string; updatedMs: number }[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#host.listSessions(defined({ cursor }));
      for (const { id, cwd, title, updatedMs } of page.sessions) found.push({ id, cwd, title, updatedMs });
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
  }

  async deleteSession(id: string): Promise<void> {
    await this.#sessions.get(id)?.close();
    await this.#host.deleteSession(id);
  }

  register(tool: Tool | ToolSource): () => void {
    return this.#registrations.add(tool);
  }

  unregister(source: string): void {
    this.#registrations.remove(source);
  }

  onEvent(listener: EventListener): () => void {
    const own: EventListener = (event, about) => listener(event, about);
    this.#listeners.add(own);
    for (const { tools } of this.#sessions.values()) tools.watch();
    return () => {
      this.#listeners.delete(own);
    };
  }

  async saveServer(name: string, entry: ServerEntry, options: SaveOptions = {}): Promise<void> {
    await saveServer(this.#world, name, entry, options);
  }

  async deleteServer(name: string, options: SaveOptions = {}): Promise<void> {
    await deleteServer(this.#world, name, options);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
    await this.#host.close();
    this.#registrations.close();
    if (this.#temporary === undefined) return;
    await this.#world.files.remove(this.#temporary).catch((error: unknown) => {
      this.#world.log.warn("library.state_left", { error: messageOf(error) }); // it goes with the process
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

interface OpenRequest {
  readonly request: NewSession;
  readonly warnings: readonly string[];
}

/** Private, and gone with the process however that ends. */
function temporaryFolder(world: World): string {
  return join(world.files.scratchFolder(), `state-${uuidV7(world.now(), (count) => world.randomBytes(count))}`);
}

function promptOf(given: SystemPrompt | undefined): NewSession["systemPrompt"] {
  return typeof given === "string" ? { mode: "append", text: given } : given;
}

function distinct(tools: readonly ToolInfo[]): readonly ToolInfo[] {
  return [...new Map(tools.map((tool) => [`${tool.source}\0${tool.name}`, tool])).values()];
}

function searchOptions(search: Embedder | ToolSearch | undefined): { embedder?: Embedder; findTools?: FindTools } {
  if (search === undefined) return {};
  return typeof search === "function" ? { findTools: foundBy(search) } : { embedder: search };
}

/** The order counts: scores fall from 1. */
function foundBy(search: ToolSearch): FindTools {
  return async ({ query, limit, tools }, signal) => {
    const names = await search({ query, limit, tools: tools.map(infoOf), signal });
    return names.map((id, index) => ({ id, score: 1 - index / (names.length + 1) }));
  };
}

function infoOf({ id, source, definition }: CatalogTool): ToolInfo {
  return { ...definition, name: id, source, originalName: definition.name };
}
