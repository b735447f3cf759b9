// The tools of one session: what its servers, Tenon and the embedder bring, put in front of the model and run under its policy.
import { join, resolve } from "node:path";
import type { Eventual } from "../../base/async/eventual.js";
import type { Scope } from "../../base/async/scope.js";
import { defined } from "../../base/json/defined.js";
import { flatCopy, hashJson, type JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { ContentBlock } from "../../base/text/content.js";
import { type BuiltinPresentation, type BuiltinSource, builtinSource, type PlanEntry } from "../../builtin/index.js";
import { commandPath, type EffectiveConfig } from "../../config/index.js";
import { mediaOf } from "../../engine/index.js";
import { foreignOwner, launchFingerprint, type ServerSpec } from "../../mcp/index.js";
import { type Model, unknownOptions } from "../../models/index.js";
import {
  type AbsentServer,
  type CatalogEntry,
  type CatalogTool,
  type CatalogView,
  DecisionFiles,
  type IncludeMode,
  type MigrationReport,
  type Offer,
  prepareCall,
  ResourceSource,
  ResultStore,
  type RunPorts,
  resultTools,
  runCallAnd,
  type SearchAnswer,
  type SearchRequest,
  type Selection,
  SessionCatalog,
  type SourcedTool,
  type SourceSettings,
  type ToolEmbeddings,
  type ToolOrigin,
  type ToolOutcome,
  type ToolSource,
  UsageMemory,
  type WantedCall,
  type WhyAnswer,
} from "../../tools/index.js";
import type { Notify } from "../events.js";
import { SESSION_LIMITS } from "../limits.js";
import type { SessionOptions } from "../options.js";
import { LockGuard, type OutsideRead, OutsideReads, protectedFiles } from "../permission/guards.js";
import type { SessionPolicy } from "../permission/judged-call.js";
import { Permissions } from "../permission/permissions.js";
import type { ClientName, SessionPorts, ToolCaller } from "../ports.js";
import { ByServer } from "../servers/by-server.js";
import { factsOf, type OpenServer, type ServerFacts } from "../servers/entry.js";
import { resultsFolder } from "../store/file-store.js";
import { ExtraTools, type SetToolsAnswer, type SetToolsRequest } from "./extra-tools.js";
import { recordedCloseness } from "./meaning.js";
import { callWhen, jsonOf, notJson, type OpenCall } from "./program-calls.js";
import { recordedBuiltin, recordedDecisions, recordedText } from "./recorded.js";

export interface SessionToolsOptions extends SessionOptions {
  policy(): SessionPolicy;
  ports(): SessionPorts | undefined;
  allowHosts(): readonly string[];
  commandVariables(): readonly string[];
  onPlan(entries: readonly PlanEntry[]): void;
  readonly onNotice: Notify;
  /** The way to a client that is attached. */
  readonly caller: (client: string) => ToolCaller | undefined;
}

/** What an embedder and the commands of a session may do with its tools. */
export interface ToolControls {
  /** The tools a model call would be offered now. */
  list(): readonly CatalogTool[];
  /** Adds a source of the embedder's own; one of the same name takes the place of the earlier one. Returns the way back. */
  add(source: ToolSource, settings?: SourceSettings): () => void;
  /** Takes out every source of the embedder's, or the one of that name. */
  clear(name?: string): void;
  search(request: SearchRequest, signal?: AbortSignal): Promise<SearchAnswer>;
  /** Puts a tool in front of the model, whatever its mode: it joins at the next model call. */
  include(name: string): Selection;
  /** Takes a tool, or all tools of a server, away from the model: a call of one answers that the person removed it. */
  remove(name: string): Selection;
  /** For a server by its name or a tool by any of its names. */
  setInclude(name: string, mode: IncludeMode): Selection;
  /** Every tool there is but for Tenon's own, offered or not. */
  all(): readonly SourcedTool[];
  /** Calls `listener` when the tools may have changed; returns the way to stop. */
  onChange(listener: () => void): () => void;
  /** What became of a tool, and why. */
  why(name: string): WhyAnswer;
  /** What is in front of the model for the session, and what this conversation added, with scores. */
  inspect(): CatalogView;
}

/** A call of the program around Tenon. */
export interface ProgramCall {
  /** Any name of the tool: the model's, its own, or `server/tool`. */
  readonly name: string;
  readonly arguments: JsonObject;
  /** Made to answer a question of this session: what is asked about it cannot wait for that answer. */
  readonly isNested?: boolean;
}

/** With which model a call of the program is made, and what is made of its result. */
export interface Reading<T> {
  readonly model: Model;
  readonly read: (result: ProgramResult) => T;
}

export interface ProgramResult {
  /** As the source gave it. */
  readonly outcome: ToolOutcome;
  /** The same within the bounds of a model's context, and marked. */
  readonly forModel: readonly ContentBlock[];
}

const NOT_RECORDED = { intent: () => undefined };
const NOT_HEARD = () => {};
const NO_FACTS: ServerFacts = {};

export class SessionTools implements AsyncDisposable {
  readonly results: ResultStore;
  readonly catalog: SessionCatalog;
  /** Tenon's own tools. */
  readonly builtin: BuiltinSource;
  /** Content from outside that the session has read. */
  readonly outside: OutsideReads;
  /** What others may do with the tools. */
  readonly controls: ToolControls;
  readonly permissions: Permissions;
  /** Those that clients run themselves: most sessions have none. */
  #extra: ExtraTools | undefined;
  #absentServers: readonly AbsentServer[] = [];
  readonly #options: SessionToolsOptions;
  readonly #resources: ResourceSource;
  /** Looked up once for each launch: a call need not wait for the disk. */
  readonly #programs = new WeakMap<ServerSpec, { readonly program: Eventual<string | undefined> }>();
  readonly #lock = new LockGuard();
  /** By origin and name, the servers whose tools are in the catalog. */
  readonly #servers = new Map<string, OpenServer>();
  /** The same, for calls. */
  readonly #opened = new ByServer<OpenServer>();
  /** Whose each server is or was that is not of this machine; the latest last. One that is not in here is taken for new. */
  readonly #owners = new Map<string, string>();
  /** What the project's prompts led to before, for searches: opened when the configuration wants it. */
  #memory: UsageMemory | undefined;
  /** Set while prompts are remembered. */
  #openingMemory: Promise<UsageMemory> | undefined;
  /** Compares tools by meaning, where that is configured. */
  #embeddings: ToolEmbeddings | undefined;
  /** Its failure is told once. */
  #isMeaningTold = false;
  #programCalls = 0;
  #programPorts: { readonly model: Model; readonly ports: RunPorts } | undefined;
  readonly #checkedOptions = new WeakSet<object>();
  /** Tools the catalog wanted to offer and may not: their definition changed, or is not as locked. */
  readonly #held = new Map<string, SourcedTool>();

  constructor(options: SessionToolsOptions) {
    const { world, id, stateDir, owned } = options;
    this.#options = options;
    this.#embeddings = options.meaning?.of(undefined);
    this.results = new ResultStore({ world, folder: resultsFolder(stateDir, id), ...defined({ kept: owned.results }) });
    this.outside = new OutsideReads(options.history?.restored.outside ?? [], (read) => this.#isTrusted(read));
    this.permissions = this.#makePermissions(options);
    this.catalog = this.#makeCatalog(options);
    for (const { id: name, origin, source, definition } of options.history?.restored.called ?? []) {
      if (origin !== "builtin") this.catalog.keepName(name, source, definition.name);
    }
    this.controls = toolControls(this.catalog);
    this.builtin = makeBuiltin(options);
    this.#resources = new ResourceSource(world);
    for (const source of [this.builtin, this.#resources, resultTools(this.results)]) this.catalog.add(source);
  }

  /** Makes the sources of servers those that are open now. */
  follow(servers: readonly OpenServer[], absent: readonly AbsentServer[]): void {
    const before = new Map(this.#servers);
    this.#servers.clear();
    this.#opened.clear();
    for (const server of servers) {
      this.#servers.set(keyOf(server.source), server);
      this.#opened.set(server.source.origin, server.source.name, server);
    }
    for (const { source, connection } of servers) this.#followOwner(source, foreignOwner(connection.spec));
    // Removed ones first: a server of another layer that takes the place of one replaces it, and shadows none.
    for (const [key, { source }] of before) {
      if (!this.#servers.has(key)) this.catalog.remove(source.origin, source.name);
    }
    for (const [key, { source, wanted }] of this.#servers) {
      const known = before.get(key);
      const { catalog: settings = {} } = wanted;
      const isSame =
        known?.source === source && JSON.stringify(known.wanted.catalog ?? {}) === JSON.stringify(settings);
      if (!isSame) this.catalog.add(source, settings);
    }
    this.#absentServers = absent;
    this.#setAbsent();
    this.#resources.setConnections(servers.map(({ connection }) => connection));
  }

  /** What was allowed of a client's server is for that client: another one may bring the same name, with the same tools. */
  #followOwner({ origin, name }: OpenServer["source"], owner: string | undefined): void {
    const key = keyOf({ origin, name });
    const before = this.#owners.get(key);
    this.#owners.delete(key);
    if (before !== owner) this.permissions.forgetSource(origin, name);
    if (owner === undefined) return;
    this.#owners.set(key, owner);
    for (const oldest of this.#owners.keys()) {
      if (this.#owners.size <= this.#servers.size + SESSION_LIMITS.extraTools.remembered) return;
      if (!this.#servers.has(oldest)) this.#owners.delete(oldest);
    }
  }

  get extra(): ExtraTools | undefined {
    return this.#extra;
  }

  setExtra(by: ClientName, request: SetToolsRequest): SetToolsAnswer {
    this.#extra ??= new ExtraTools({
      ...this.#options,
      catalog: this.catalog,
      onNameTaken: (source) => this.permissions.forgetSource("extra", source),
      onDropped: (source) => this.permissions.withdraw("extra", source),
      onAbsent: () => this.#setAbsent(),
    });
    return this.#extra.set(by, request);
  }

  #setAbsent(): void {
    this.catalog.setAbsent([...this.#absentServers, ...(this.#extra?.absent ?? [])]);
  }

  /** What the configuration says about tools in general. */
  configure(config: EffectiveConfig, scope: Scope): void {
    const { tools, toolsLock, project } = config;
    this.#embeddings = this.#options.meaning?.of(config);
    this.#lock.follow(toolsLock);
    this.catalog.setLimits(tools.limits);
    if (!tools.hasMemory) {
      this.#openingMemory = undefined;
      this.#memory = undefined;
    } else if (!this.#openingMemory) this.#openMemory(project, scope);
  }

  #openMemory(project: string, scope: Scope): void {
    const { world, stateDir } = this.#options;
    const opening = UsageMemory.open({ world, folder: join(stateDir, "tool-memory"), project });
    this.#openingMemory = opening;
    scope.run("open the memory of tools", async () => {
      const memory = await opening;
      if (this.#openingMemory === opening) this.#memory = memory; // or it was switched off meanwhile
    });
  }

  /** Before the first model call of a turn. */
  async startPrompt(prompt: string, ports: SessionPorts | undefined, signal: AbortSignal): Promise<void> {
    await this.#openingMemory; // the first prompt chooses by it
    const offer = this.catalog.peek();
    const locked = this.#lockedTools();
    const offered = offer.tools.map((tool) => ({ tool, raw: offer.find(tool.id)?.raw ?? tool.definition }));
    await this.permissions.prepare([...offered, ...locked, ...this.#held.values()]);
    await this.catalog.startPrompt(prompt, signal);
    this.#noteOptions(offer.tools);
    const differing = locked.filter((tool) => this.permissions.isHeldByLock(tool));
    for (const text of this.#lock.news(differing)) this.#options.onNotice("warning", text);
    await this.permissions.review([...this.#held.values()], ports, signal);
  }

  /** Options that are not known of any provider are named once: they may have no effect. */
  #noteOptions(tools: readonly CatalogTool[]): void {
    for (const { label, definition } of tools) {
      const { providerOptions } = definition;
      if (!providerOptions || this.#checkedOptions.has(providerOptions)) continue;
      this.#checkedOptions.add(providerOptions);
      const unknown = unknownOptions(providerOptions);
      if (unknown.length === 0) continue;
      const text = `providerOptions of ${label} has options that are not known, and that the provider may ignore: ${unknown.join(", ")}`;
      this.#options.onNotice("warning", text);
    }
  }

  /** How a call of Tenon's own tools looks before it is made; undefined for all others. */
  describe(tool: CatalogTool | undefined, args: JsonObject): BuiltinPresentation | undefined {
    return tool?.origin === "builtin" ? this.builtin.describe(tool.definition.name, args) : undefined;
  }

  /** How calls are approved, kept and accounted for; the journal is the session's own. */
  ports(isNested: boolean = false): Omit<RunPorts, "media" | "journal"> {
    const options = this.#options;
    return {
      world: options.world,
      results: this.results,
      approve: (request, signal) => {
        const asked = isNested ? { ...request, isNested } : request;
        const { tool, arguments: given } = request;
        if (tool.origin !== "builtin") return this.permissions.approve(asked, options.ports(), signal);
        const look = () => this.builtin.preview(tool.definition.name, given, signal);
        const impossible = () => this.builtin.impossible(tool.definition.name, given);
        return this.permissions.approve({ ...asked, look, impossible }, options.ports(), signal);
      },
      trustsAnnotations: (tool) => this.#factsOf(tool).trustsAnnotations === true,
      onUsed: ({ id }) => this.catalog.used(id),
    };
  }

  /** A call beside the conversation, which is ended here. Rejects only with what `read` throws. */
  callForProgram<T>(wanted: ProgramCall, open: OpenCall, reading: Reading<T>): Promise<T> {
    try {
      const found = this.#find(wanted.name);
      const preparing = found.entry && this.permissions.prepareFor(found.entry.tool);
      if (!(preparing instanceof Promise)) return this.#runForProgram(wanted, found, open, reading);
      return this.#callForProgramWhen(preparing, wanted, open, reading);
    } catch (error) {
      open.end();
      return Promise.reject(error);
    }
  }

  /** Found anew then: what is held depends on what was read. */
  #callForProgramWhen<T>(
    preparing: Promise<unknown>,
    wanted: ProgramCall,
    open: OpenCall,
    reading: Reading<T>,
  ): Promise<T> {
    return callWhen(preparing, open, { run: () => this.callForProgram(wanted, open, reading), read: reading.read });
  }

  #runForProgram<T>(
    wanted: ProgramCall,
    { entry, offer }: { readonly entry: CatalogEntry | undefined; readonly offer: Offer },
    { signal, end }: OpenCall,
    { model, read }: Reading<T>,
  ): Promise<T> {
    const call = this.#programCall(wanted, entry);
    if (!call) {
      end();
      return Promise.resolve(read(notJson(entry?.tool.id ?? wanted.name)));
    }
    const prepared = prepareCall(call, offer);
    const ports = wanted.isNested ? this.#makePortsFor(model, true) : this.#portsFor(model);
    return runCallAnd(prepared, ports, { signal }, ({ model: forModel, outcome, raw }) => {
      end();
      return read({ outcome: raw ?? outcome, forModel: forModel.content });
    });
  }

  #find(name: string): { readonly entry: CatalogEntry | undefined; readonly offer: Offer } {
    const offer = this.catalog.lookUp();
    const entry = offer.find(name);
    if (entry) return { entry, offer };
    const resolved = this.catalog.resolve(name);
    return { entry: resolved.kind === "one" ? offer.find(resolved.known.tool.id) : undefined, offer };
  }

  /** Undefined when the arguments are no JSON. */
  #programCall({ name, arguments: given }: ProgramCall, entry: CatalogEntry | undefined): WantedCall | undefined {
    this.#programCalls += 1;
    const toolCallId = `program-${this.#programCalls}`;
    const id = entry?.tool.id ?? name;
    const flat = flatCopy(given);
    if (flat) return { toolCallId, name: id, entry, arguments: flat };
    const argumentsJson = jsonOf(given);
    return argumentsJson === undefined ? undefined : { toolCallId, name: id, entry, argumentsJson };
  }

  /** Of calls of the program: made once for each model. */
  #portsFor(model: Model): RunPorts {
    if (this.#programPorts?.model === model) return this.#programPorts.ports;
    const ports = this.#makePortsFor(model, false);
    this.#programPorts = { model, ports };
    return ports;
  }

  #makePortsFor(model: Model, isNested: boolean): RunPorts {
    return { ...this.ports(isNested), journal: NOT_RECORDED, media: mediaOf(model), onUsed: NOT_HEARD };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#resources.setConnections([]);
    this.#extra?.[Symbol.dispose]();
    await this.builtin[Symbol.asyncDispose]();
    await this.results[Symbol.asyncDispose]();
  }

  #makePermissions(options: SessionToolsOptions): Permissions {
    const { world, cwd, stateDir, decisions } = options;
    const home = world.env["HOME"];
    return new Permissions(world.log, {
      store: recordedDecisions(decisions ?? new DecisionFiles(world, stateDir), world),
      folder: (path) =>
        recordedText(world, "folder", { path }, async () => {
          const found = await world.files.find(resolve(cwd, path));
          return found?.kind === "folder" ? found.realPath : undefined;
        }),
      program: (tool) => this.#programOf(tool),
      platform: world.platform,
      outside: () => this.outside.describe(),
      onAllowed: ({ tool, arguments: given }) => {
        const { origin, source: server } = tool;
        if (origin === "extra" && this.#extra?.has(server)) this.outside.add({ kind: "server", server, origin });
        else this.outside.note(tool, given);
      },
      onMigrated: (report) => options.onNotice("info", migrationText(report)),
      warnings: (tool) => [...(this.#extra?.about(tool) ?? []), ...this.catalog.lookAlikes(tool.id)],
      places: { files: world.files, cwd, ...defined({ home }) },
      policy: () => options.policy(),
      protects: protectedFiles({ ...options, describe: (tool, args) => this.builtin.describe(tool, args) }),
      lock: (tool) => this.#lock.holdOf(tool),
      hasLock: () => this.#lock.isThere,
      server: (tool) => this.#factsOf(tool),
    });
  }

  #programOf({ origin, source }: Pick<CatalogTool, "origin" | "source">): Eventual<string | undefined> {
    const spec = this.#opened.get(origin, source)?.connection.spec;
    if (!spec) return undefined;
    const known = this.#programs.get(spec);
    if (known) return known.program;
    const { world, cwd } = this.#options;
    const looked = recordedText(world, "program", { origin, source }, () => programOf(spec, { world, cwd }));
    const program = looked.then((text) => {
      this.#programs.set(spec, { program: text });
      return text;
    });
    this.#programs.set(spec, { program });
    return program;
  }

  /** Grants every tool a server has now in this project; the names of those granted. Undefined: no such server. */
  async grantServer(name: string): Promise<readonly string[] | undefined> {
    const sources = this.#sources.filter((source) => source.name === name);
    if (sources.length === 0) return undefined;
    const tools = sources.flatMap(({ origin }) => this.catalog.toolsOf(origin, name));
    return (await this.permissions.grantAll(tools)).map(({ raw }) => raw.name);
  }

  get #sources(): readonly OpenServer["source"][] {
    return [...this.#servers.values()].map(({ source }) => source);
  }

  /** Empty for tools that are neither a server's nor a client's own. */
  #factsOf({ origin, source }: Pick<CatalogTool, "origin" | "source">): ServerFacts {
    if (origin === "extra" && this.#extra?.has(source)) return { isOfClient: true };
    const server = this.#opened.get(origin, source);
    return server ? factsOf(server) : NO_FACTS;
  }

  #isTrusted(read: OutsideRead): boolean {
    if (read.kind === "page") return false;
    return this.#factsOf({ origin: read.origin ?? "user", source: read.server }).trustsResults === true;
  }

  #makeCatalog(options: SessionToolsOptions): SessionCatalog {
    const { transformers, findTools: find } = options;
    return new SessionCatalog({
      ...defined({ transformers, find }),
      dense: (query, tools, signal) => this.#closeness(query, tools, signal),
      usage: {
        scores: () => this.#memory?.scores() ?? { counts: new Map(), lengths: new Map() },
        add: (prompt, id) => this.#memory?.add(prompt, id),
      },
      isHeld: (tool) => this.#whyHeld(tool),
      onNotice: options.onNotice,
    });
  }

  async #closeness(query: string, tools: readonly CatalogTool[], signal: AbortSignal) {
    const { world, onNotice } = this.#options;
    if (!this.#embeddings) return undefined;
    const { scores, reason } = await recordedCloseness(this.#embeddings, { query, tools }, { world, signal });
    if (reason !== undefined && !this.#isMeaningTold) {
      this.#isMeaningTold = true;
      onNotice("warning", `Tools are found by their words for now, not by meaning: ${reason}`);
    }
    return scores;
  }

  /** Every tool of the servers that are in the lock of definitions. */
  #lockedTools(): readonly SourcedTool[] {
    return this.#sources.flatMap(({ origin, name }) =>
      this.#lock.covers(name) ? this.catalog.toolsOf(origin, name) : [],
    );
  }

  #whyHeld(sourced: SourcedTool): string | undefined {
    const reason = this.permissions.whyHeld(sourced);
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
    // The client and the person: those attached when a tool runs.
    ports: {
      get fs() {
        return options.ports()?.fs ?? {};
      },
      get terminal() {
        return options.ports()?.terminal;
      },
      plan: (entries) => options.onPlan(entries),
      ask: async (question, choices, signal, toolCallId) => {
        const ports = options.ports();
        if (!ports?.askPerson) return { kind: "unavailable", reason: "nobody is attached who could be asked" };
        return await ports.askPerson(question, choices, signal, toolCallId);
      },
    },
    allowHosts: () => options.allowHosts(),
    commandVariables: () => options.commandVariables(),
    ...defined({ only }),
  });
  return recordedBuiltin(source, world);
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

function toolControls(catalog: SessionCatalog): ToolControls {
  /** Of the embedder, by name: those of clients are not for it to take out. */
  let added: Map<string, () => void> | undefined;
  return {
    list: () => catalog.peek().tools,
    add: (source, settings) => {
      const remove = catalog.add(asExtra(source), settings);
      added ??= new Map();
      added.set(source.name, remove);
      return remove;
    },
    clear: (name) => {
      for (const [known, remove] of [...(added ?? [])]) {
        if (name !== undefined && name !== known) continue;
        added?.delete(known);
        remove();
      }
    },
    search: async (request, signal = new AbortController().signal) => await catalog.search(request, signal),
    include: (name) => catalog.addTool(name),
    remove: (name) => catalog.removeTool(name),
    setInclude: (name, mode) => catalog.setInclude(name, mode),
    all: () => catalog.all(),
    onChange: (listener) => catalog.onChange(listener),
    why: (name) => catalog.why(name),
    inspect: () => catalog.inspect(),
  };
}

/** Whatever it calls itself: a program around Tenon is no server of the user's. */
function asExtra(source: ToolSource): ToolSource {
  return {
    name: source.name,
    origin: "extra",
    tools: source.tools,
    call: (call) => source.call(call),
    ...defined({
      state: source.state,
      hasPlainNames: source.hasPlainNames,
      callsAtOnce: source.callsAtOnce,
      ready: source.ready ? (signal: AbortSignal) => source.ready?.(signal) ?? Promise.resolve(undefined) : undefined,
      about: source.about ? () => source.about?.() ?? {} : undefined,
      mayRepeat: source.mayRepeat ? (tool: string) => source.mayRepeat?.(tool) ?? false : undefined,
      leftOut: source.leftOut ? () => source.leftOut?.() ?? [] : undefined,
    }),
  };
}
