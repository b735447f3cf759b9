// The tools of one session: what its servers, Tenon and the embedder bring, put in front of the model and run under its policy.
import { join, resolve } from "node:path";
import type { Scope } from "../../base/async/scope.js";
import type { SessionId } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { hashJson, type JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import {
  type BuiltinName,
  type BuiltinPorts,
  type BuiltinPresentation,
  type BuiltinSource,
  builtinSource,
  type ClientFiles,
  type PlanEntry,
  type Terminal,
} from "../../builtin/index.js";
import { commandPath, type EffectiveConfig } from "../../config/index.js";
import { launchFingerprint, type ServerSpec } from "../../mcp/index.js";
import {
  type AbsentServer,
  type CatalogTool,
  DecisionFiles,
  type DenseScores,
  type Embedder,
  type MigrationReport,
  ResourceSource,
  ResultStore,
  type RunPorts,
  resultTools,
  SessionCatalog,
  type SourcedTool,
  ToolEmbeddings,
  type ToolOrigin,
  type ToolTransformer,
  UsageMemory,
  type UsagePort,
} from "../../tools/index.js";
import type { NoticeLevel } from "../events.js";
import { resultsFolder } from "../journal/stored-sessions.js";
import { LockGuard, type OutsideRead, OutsideReads, protectedFiles } from "../permission/guards.js";
import { Permissions, type ServerFacts, type SessionPolicy } from "../permission/permissions.js";
import type { SessionPorts } from "../ports.js";
import type { OpenServer } from "../servers/entry.js";
import { type PermissionControls, type ToolControls, toolControls } from "./controls.js";
import { recordedBuiltin, recordedDecisions, recordedText } from "./recorded.js";

export interface SessionToolsOptions {
  readonly world: World;
  readonly cwd: string;
  readonly id: SessionId;
  /** Where kept results, approvals and the memory of tools live. */
  readonly stateDir: string;
  readonly transformers?: readonly ToolTransformer[];
  readonly embedder?: Embedder;
  /** Tenon's own tools: all of them unless given. */
  readonly builtin?: readonly BuiltinName[];
  readonly additionalDirectories?: readonly string[];
  /** Content from outside that the session read before it was closed. */
  readonly outside?: readonly OutsideRead[];
  policy(): SessionPolicy;
  ports(): SessionPorts | undefined;
  allowHosts(): readonly string[];
  commandVariables(): readonly string[];
  onPlan(entries: readonly PlanEntry[]): void;
  onNotice(level: NoticeLevel, text: string): void;
}

export class SessionTools implements AsyncDisposable {
  readonly results: ResultStore;
  readonly catalog: SessionCatalog;
  /** Tenon's own tools. */
  readonly builtin: BuiltinSource;
  /** Content from outside that the session has read. */
  readonly outside: OutsideReads;
  /** What others may do with the tools. */
  readonly controls: ToolControls;
  /** What was granted and refused, for `/permissions`. */
  readonly permissions: PermissionControls;
  readonly #options: SessionToolsOptions;
  readonly #resources: ResourceSource;
  readonly #permissions: Permissions;
  /** Looked up once for each launch: a call need not wait for the disk. */
  readonly #programs = new WeakMap<ServerSpec, Promise<string | undefined>>();
  readonly #lock = new LockGuard();
  /** By origin and name, the servers whose tools are in the catalog. */
  readonly #servers = new Map<string, OpenServer>();
  readonly #memory: ToolMemory;
  /** Tools the catalog wanted to offer and may not: their definition changed, or is not as locked. */
  readonly #held = new Map<string, SourcedTool>();

  constructor(options: SessionToolsOptions) {
    const { world, id, stateDir } = options;
    this.#options = options;
    this.results = new ResultStore({ world, folder: resultsFolder(stateDir, id) });
    this.#memory = new ToolMemory(world, join(stateDir, "tool-memory"));
    this.outside = new OutsideReads(options.outside ?? [], (read) => this.#isTrusted(read));
    this.#permissions = this.#makePermissions(options);
    this.catalog = this.#makeCatalog(options);
    this.controls = toolControls(this.catalog);
    this.permissions = {
      decisions: () => this.#permissions.decisions(),
      revoke: (decision) => this.#permissions.revoke(decision),
      grantServer: (name) => this.#grantServer(name),
    };
    this.builtin = makeBuiltin(options);
    this.#resources = new ResourceSource(world);
    for (const source of [this.builtin, this.#resources, resultTools(this.results)]) this.catalog.add(source);
  }

  /** Makes the sources of servers those that are open now. */
  follow(servers: readonly OpenServer[], absent: readonly AbsentServer[]): void {
    const before = new Map(this.#servers);
    this.#servers.clear();
    for (const server of servers) this.#servers.set(keyOf(server.source), server);
    // Removed ones first: a server of another layer that takes the place of one replaces it, and shadows none.
    for (const [key, { source }] of before) {
      if (!this.#servers.has(key)) this.catalog.remove(source.origin, source.name);
    }
    for (const [key, { source, catalog: settings = {} }] of this.#servers) {
      const known = before.get(key);
      const isSame = known?.source === source && JSON.stringify(known.catalog ?? {}) === JSON.stringify(settings);
      if (!isSame) this.catalog.add(source, settings);
    }
    this.catalog.setAbsent(absent);
    this.#resources.setConnections(servers.map(({ connection }) => connection));
  }

  /** What the configuration says about tools in general. */
  configure(config: Pick<EffectiveConfig, "tools" | "toolsLock" | "project">, scope: Scope): void {
    const { tools, toolsLock, project } = config;
    this.#lock.follow(toolsLock);
    this.catalog.setLimits(tools.limits);
    this.#memory.configure({ isWanted: tools.hasMemory, project }, scope);
  }

  /** Before the first model call of a turn. */
  async startPrompt(prompt: string, ports: SessionPorts | undefined, signal: AbortSignal): Promise<void> {
    await this.#memory.opened; // the first prompt chooses by it
    const offer = this.catalog.peek();
    const locked = this.#lockedTools();
    const offered = offer.tools.map((tool) => ({ tool, raw: offer.find(tool.id)?.raw ?? tool.definition }));
    await this.#permissions.prepare([...offered, ...locked, ...this.#held.values()]);
    await this.catalog.startPrompt(prompt, signal);
    const differing = locked.filter((tool) => this.#permissions.isHeldByLock(tool));
    for (const text of this.#lock.news(differing)) this.#options.onNotice("warning", text);
    await this.#permissions.review([...this.#held.values()], ports, signal);
  }

  /** How a call of Tenon's own tools looks before it is made; undefined for all others. */
  describe(tool: CatalogTool | undefined, args: JsonObject): BuiltinPresentation | undefined {
    return tool?.origin === "builtin" ? this.builtin.describe(tool.definition.name, args) : undefined;
  }

  /** How calls are approved, kept and accounted for; the journal is the session's own. */
  ports(): Omit<RunPorts, "media" | "journal"> {
    const options = this.#options;
    return {
      world: options.world,
      results: this.results,
      approve: (request, signal) => {
        const { tool, arguments: given } = request;
        const look = () => this.builtin.preview(tool.definition.name, given, signal);
        const impossible = () => this.builtin.impossible(tool.definition.name, given);
        const warnings = () => this.catalog.lookAlikes(tool.id);
        return this.#permissions.approve(
          {
            ...request,
            warnings,
            ...defined({
              look: tool.origin === "builtin" ? look : undefined,
              impossible: tool.origin === "builtin" ? impossible : undefined,
            }),
          },
          options.ports(),
          signal,
        );
      },
      trustsAnnotations: (tool) => this.#factsOf(tool).trustsAnnotations === true,
      onUsed: ({ id }) => this.catalog.used(id),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#resources.setConnections([]);
    await this.builtin[Symbol.asyncDispose]();
    await this.results[Symbol.asyncDispose]();
  }

  #makePermissions(options: SessionToolsOptions): Permissions {
    const { world, cwd, stateDir } = options;
    const home = world.env["HOME"];
    return new Permissions(world.log, {
      store: recordedDecisions(new DecisionFiles(world, stateDir), world),
      folder: (path) =>
        recordedText(world, "folder", { path }, async () => {
          const found = await world.files.find(resolve(cwd, path));
          return found?.kind === "folder" ? found.realPath : undefined;
        }),
      program: (tool) => this.#programOf(tool),
      platform: world.platform,
      outside: () => this.outside.describe(),
      onAllowed: ({ tool, arguments: given }) => this.outside.note(tool, given),
      onMigrated: (report) => options.onNotice("info", migrationText(report)),
      places: { files: world.files, cwd, ...defined({ home }) },
      policy: () => options.policy(),
      protects: protectedFiles({ ...options, describe: (tool, args) => this.builtin.describe(tool, args) }),
      lock: (tool) => this.#lock.holdOf(tool),
      server: (tool) => this.#factsOf(tool),
    });
  }

  async #programOf(tool: Pick<CatalogTool, "origin" | "source">): Promise<string | undefined> {
    const spec = this.#servers.get(keyOf({ origin: tool.origin, name: tool.source }))?.connection.spec;
    const { world, cwd } = this.#options;
    if (!spec) return undefined;
    const { origin, source } = tool;
    const known = this.#programs.get(spec);
    const program = known ?? recordedText(world, "program", { origin, source }, () => programOf(spec, { world, cwd }));
    this.#programs.set(spec, program);
    return await program;
  }

  async #grantServer(name: string): Promise<readonly string[] | undefined> {
    const sources = this.#sources.filter((source) => source.name === name);
    if (sources.length === 0) return undefined;
    const tools = sources.flatMap(({ origin }) => this.catalog.toolsOf(origin, name));
    return (await this.#permissions.grantAll(tools)).map(({ raw }) => raw.name);
  }

  get #sources(): readonly OpenServer["source"][] {
    return [...this.#servers.values()].map(({ source }) => source);
  }

  /** Empty for tools that are no server's. */
  #factsOf({ origin, source }: Pick<CatalogTool, "origin" | "source">): ServerFacts {
    const server = this.#servers.get(keyOf({ origin, name: source }));
    if (!server) return {};
    const { connection, trustsAnnotations = false, trustsResults = false } = server;
    const cwd = connection.spec.kind === "stdio" ? connection.spec.cwd : undefined;
    return { trustsAnnotations, trustsResults, ...defined({ cwd }) };
  }

  #isTrusted(read: OutsideRead): boolean {
    if (read.kind === "page") return false;
    return this.#factsOf({ origin: read.origin ?? "user", source: read.server }).trustsResults === true;
  }

  #makeCatalog(options: SessionToolsOptions): SessionCatalog {
    const { transformers, embedder } = options;
    const embeddings = embedder && new ToolEmbeddings(embedder);
    const dense: DenseScores | undefined =
      embeddings && ((query, tools, signal) => embeddings.scores(query, tools, signal));
    return new SessionCatalog({
      ...defined({ transformers, dense }),
      usage: this.#memory.usage,
      isHeld: (tool) => this.#whyHeld(tool),
      onNotice: (level, text) => options.onNotice(level, text),
    });
  }

  /** Every tool of the servers that are in the lock of definitions. */
  #lockedTools(): readonly SourcedTool[] {
    return this.#sources.flatMap(({ origin, name }) =>
      this.#lock.covers(name) ? this.catalog.toolsOf(origin, name) : [],
    );
  }

  #whyHeld(sourced: SourcedTool): string | undefined {
    const reason = this.#permissions.whyHeld(sourced);
    if (reason === undefined) this.#held.delete(sourced.tool.id);
    else this.#held.set(sourced.tool.id, sourced);
    return reason;
  }
}

function migrationText({ never, former, lapsed, backup }: MigrationReport): string {
  return (
    `An approval is now for one project and one command, site or tool. Of your earlier answers ${never} "never" stay, ` +
    `${former} "always" of servers' tools will be asked about once more, and ${lapsed} for Tenon's own tools or for whole ` +
    `servers no longer count. The earlier records are kept in ${backup}; tenon trust approvals lists what is in force.`
  );
}

function makeBuiltin(options: SessionToolsOptions): BuiltinSource {
  const { world, cwd, additionalDirectories = [], builtin: only } = options;
  const source = builtinSource({
    world,
    cwd,
    additionalDirectories,
    ports: builtinPorts(options),
    allowHosts: () => options.allowHosts(),
    commandVariables: () => options.commandVariables(),
    ...defined({ only }),
  });
  return recordedBuiltin(source, world);
}

/** The client and the person as Tenon's own tools see them: those attached when a tool runs. */
function builtinPorts(options: SessionToolsOptions): BuiltinPorts {
  return {
    get fs(): ClientFiles {
      return options.ports()?.fs ?? {};
    },
    get terminal(): Terminal | undefined {
      return options.ports()?.terminal;
    },
    plan: (entries) => options.onPlan(entries),
    ask: async (question, choices, signal, toolCallId) => {
      const ports = options.ports();
      if (!ports?.askPerson) return { kind: "unavailable", reason: "nobody is attached who could be asked" };
      return await ports.askPerson(question, choices, signal, toolCallId);
    },
  };
}

/** What the project's prompts led to before, for searches: opened when the configuration wants it. */
class ToolMemory {
  /** Knows nothing until the memory is open. */
  readonly usage: UsagePort = {
    scores: () => this.#memory?.scores() ?? { counts: new Map(), lengths: new Map() },
    add: (prompt, id) => this.#memory?.add(prompt, id),
  };
  readonly #world: World;
  readonly #folder: string;
  #memory: UsageMemory | undefined;
  /** Set while prompts are remembered. */
  #opening: Promise<UsageMemory> | undefined;

  constructor(world: World, folder: string) {
    this.#world = world;
    this.#folder = folder;
  }

  /** Resolves once it is open; at once when nothing is remembered. */
  get opened(): Promise<unknown> | undefined {
    return this.#opening;
  }

  configure({ isWanted, project }: { readonly isWanted: boolean; readonly project: string }, scope: Scope): void {
    if (!isWanted) {
      this.#opening = undefined;
      this.#memory = undefined;
      return;
    }
    if (this.#opening) return;
    const opening = UsageMemory.open({ world: this.#world, folder: this.#folder, project });
    this.#opening = opening;
    scope.run("open the memory of tools", async () => {
      const memory = await opening;
      if (this.#opening === opening) this.#memory = memory; // or it was switched off meanwhile
    });
  }
}

/**
 * Which program or service a server is: how it is launched, in which folder, and the real path of its program. Undefined
 * for a client's own server, which only has a name, and where the program is not found.
 */
export async function programOf(
  spec: ServerSpec,
  { world, cwd }: { readonly world: World; readonly cwd: string },
): Promise<string | undefined> {
  if (spec.kind === "acp") return undefined;
  const launch = launchFingerprint(spec);
  if (spec.kind !== "stdio") return hashJson({ launch });
  const found = await commandPath(spec.command, { world, cwd, env: { ...world.env, ...spec.env } });
  const real = found === undefined ? undefined : await world.files.find(found);
  return real && hashJson({ launch, cwd: spec.cwd ?? null, program: real.realPath });
}

function keyOf({ origin, name }: { readonly origin: ToolOrigin; readonly name: string }): string {
  return `${origin}\0${name}`;
}
