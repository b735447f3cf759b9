// The tools of one session: what its servers, Tenon and the embedder bring, put in front of the model and run under its policy.
import { join } from "node:path";
import type { JsonObject } from "../base/json.js";
import type { Scope } from "../base/scope.js";
import type { World } from "../base/world.js";
import {
  type BuiltinName,
  type BuiltinPorts,
  type BuiltinPresentation,
  type BuiltinSource,
  builtinSource,
  type ClientFiles,
  type PlanEntry,
  type Terminal,
  type TextFile,
} from "../builtin/index.js";
import type { EffectiveConfig } from "../config/index.js";
import { launchFingerprint } from "../mcp/index.js";
import {
  type AbsentServer,
  ApprovalFiles,
  type CatalogTool,
  type CatalogView,
  type Embedder,
  type IncludeMode,
  type Offer,
  ResourceSource,
  ResultStore,
  type RunPorts,
  resultTools,
  type SearchAnswer,
  type SearchRequest,
  type Selection,
  SessionCatalog,
  type SourcedTool,
  type SourceSettings,
  ToolEmbeddings,
  type ToolOrigin,
  type ToolSource,
  type ToolTransformer,
  UsageMemory,
  type WhyAnswer,
} from "../tools/index.js";
import type { NoticeLevel } from "./event.js";
import { LockGuard } from "./lock-guard.js";
import { Permissions, type ServerFacts, type SessionPolicy } from "./permission.js";
import type { SessionPorts } from "./ports.js";
import type { OpenServer } from "./servers.js";
import { witnessedApprovals } from "./witnessed-approvals.js";
import { witnessedBuiltin } from "./witnessed-builtin.js";

export interface SessionToolsOptions {
  readonly world: World;
  readonly cwd: string;
  /** Where kept results, approvals and the memory of tools live. */
  readonly places: ToolPlaces;
  readonly transformers?: readonly ToolTransformer[];
  readonly embedder?: Embedder;
  /** Tenon's own tools: all of them unless given. */
  readonly builtin?: readonly BuiltinName[];
  readonly additionalDirectories?: readonly string[];
  policy(): SessionPolicy;
  attached(): SessionPorts | undefined;
  allowHosts(): readonly string[];
  onPlan(entries: readonly PlanEntry[]): void;
  onNotice(level: NoticeLevel, text: string): void;
}

export interface ToolPlaces {
  readonly results: string;
  readonly approvals: string;
  readonly memory: string;
}

export function toolPlaces({ stateDir, id }: { readonly stateDir: string; readonly id: string }): ToolPlaces {
  return {
    results: join(stateDir, "sessions", `${id}.results`),
    approvals: join(stateDir, "approvals"),
    memory: join(stateDir, "tool-memory"),
  };
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
  /** For a server by its name or a tool by any of its names. */
  setInclude(name: string, mode: IncludeMode): Selection;
  /** What became of a tool, and why. */
  why(name: string): WhyAnswer;
  /** What is in front of the model for the session, and what this conversation added, with scores. */
  inspect(): CatalogView;
}

export class SessionTools implements ToolControls, AsyncDisposable {
  readonly results: ResultStore;
  readonly #options: SessionToolsOptions;
  readonly #catalog: SessionCatalog;
  readonly #resources: ResourceSource;
  readonly #builtin: BuiltinSource;
  readonly #permissions: Permissions;
  readonly #lock = new LockGuard();
  readonly #facts = new Map<string, ServerFacts>();
  readonly #followed = new Map<string, { readonly source: ToolSource; readonly settings: SourceSettings }>();
  /** Tools the catalog wanted to offer and may not: their definition changed, or is not as locked. */
  readonly #held = new Map<string, SourcedTool>();
  #memory: UsageMemory | undefined;
  /** Set while prompts are remembered. */
  #opening: Promise<UsageMemory> | undefined;

  constructor(options: SessionToolsOptions) {
    const { world, cwd, places, transformers, embedder } = options;
    const embeddings = embedder && new ToolEmbeddings(embedder);
    this.#options = options;
    this.results = new ResultStore({ world, folder: places.results });
    const home = world.env["HOME"];
    this.#permissions = new Permissions(world.log, {
      store: witnessedApprovals(new ApprovalFiles(world, places.approvals), world),
      places: { files: world.files, cwd, ...(home === undefined ? {} : { home }) },
      policy: () => options.policy(),
      lock: (tool) => this.#lock.holdOf(tool),
      server: ({ origin, source }) => this.#facts.get(keyOf(origin, source)) ?? {},
      siblings: (tool) =>
        this.#catalog.toolsOf(tool.origin, tool.source).map(({ tool: { definitionHash, origin, source }, raw }) => ({
          origin,
          source,
          definition: raw,
          definitionHash,
        })),
    });
    this.#catalog = new SessionCatalog({
      ...(transformers ? { transformers } : {}),
      ...(embeddings
        ? {
            dense: (query: string, tools: readonly CatalogTool[], signal: AbortSignal) =>
              embeddings.scores(query, tools, signal),
          }
        : {}),
      usage: {
        scores: () => this.#memory?.scores() ?? { counts: new Map(), lengths: new Map() },
        add: (prompt, id) => this.#memory?.add(prompt, id),
      },
      isHeld: (tool) => this.#whyHeld(tool),
      onNotice: (level, text) => options.onNotice(level, text),
    });
    const builtin = builtinSource({
      world,
      cwd,
      additionalDirectories: options.additionalDirectories ?? [],
      ports: builtinPorts(options),
      allowHosts: () => options.allowHosts(),
      ...(options.builtin ? { only: options.builtin } : {}),
    });
    this.#builtin = witnessedBuiltin(builtin, world);
    this.#catalog.add(this.#builtin);
    this.#resources = new ResourceSource(world);
    this.#catalog.add(this.#resources);
    this.#catalog.add(resultTools(this.results));
  }

  /** Makes the sources of servers those that are open now. */
  follow(servers: readonly OpenServer[], absent: readonly AbsentServer[]): void {
    // First what goes: one of another layer that takes its place replaces it, and shadows nobody.
    const present = new Set(servers.map(({ source }) => keyOf(source.origin, source.name)));
    for (const [key, { source }] of [...this.#followed].filter(([known]) => !present.has(known))) {
      this.#followed.delete(key);
      this.#facts.delete(key);
      this.#catalog.remove(source.origin, source.name);
    }
    for (const { connection, source, catalog = {}, trustsAnnotations = false, project } of servers) {
      const key = keyOf(source.origin, source.name);
      const { spec } = connection;
      this.#facts.set(key, {
        fingerprint: launchFingerprint(spec),
        trustsAnnotations,
        ...(project === undefined ? {} : { project }),
        ...(spec.kind === "stdio" && spec.cwd !== undefined ? { cwd: spec.cwd } : {}),
      });
      const before = this.#followed.get(key);
      if (before?.source === source && JSON.stringify(before.settings) === JSON.stringify(catalog)) continue;
      this.#followed.set(key, { source, settings: catalog });
      this.#catalog.add(source, catalog);
    }
    this.#catalog.setAbsent(absent);
    this.#resources.setConnections(servers.map(({ connection }) => connection));
  }

  /** What the configuration says about tools in general. */
  configure(config: Pick<EffectiveConfig, "tools" | "toolsLock" | "project">, scope: Scope): void {
    const { tools, toolsLock, project } = config;
    const { limits, hasMemory } = tools;
    this.#lock.follow(toolsLock);
    this.#catalog.setLimits(limits);
    if (!hasMemory) {
      this.#opening = undefined;
      this.#memory = undefined;
    } else if (!this.#opening) {
      const { world, places } = this.#options;
      const opening = UsageMemory.open({ world, folder: places.memory, project });
      this.#opening = opening;
      scope.run("open the memory of tools", async () => {
        const memory = await opening;
        if (this.#opening === opening) this.#memory = memory; // or it was switched off meanwhile
      });
    }
  }

  /** Before the first model call of a turn. */
  async startPrompt(prompt: string, ports: SessionPorts | undefined, signal: AbortSignal): Promise<void> {
    await this.#opening; // the first prompt chooses by it
    const offer = this.#catalog.peek();
    const locked = this.#lockedTools();
    await this.#permissions.prepare([...this.#entries(offer, offer.tools), ...locked, ...this.#held.values()]);
    await this.#catalog.startPrompt(prompt, signal);
    const differing = locked.filter((tool) => this.#permissions.isHeldByLock(tool));
    for (const text of this.#lock.news(differing)) this.#options.onNotice("warning", text);
    await this.#permissions.review([...this.#held.values()], ports, signal);
  }

  /** For one model call. */
  offer(): Offer {
    return this.#catalog.offer();
  }

  /** One line per server for the system prompt; fixed by the first prompt. */
  get serverIndex(): string {
    return this.#catalog.serverIndex;
  }

  quarantine(tool: CatalogTool, reason: string): void {
    this.#catalog.quarantine(tool.id, reason);
  }

  /** How a call of Tenon's own tools looks before it is made; undefined for all others. */
  describe(tool: CatalogTool | undefined, args: JsonObject): BuiltinPresentation | undefined {
    return tool?.origin === "builtin" ? this.#builtin.describe(tool.definition.name, args) : undefined;
  }

  /** A file of the session's directories, for a prompt that mentions it. */
  readText(path: string, signal: AbortSignal): Promise<TextFile> {
    return this.#builtin.readText(path, signal);
  }

  /** How tools come before the model that nobody said anything about. */
  setDefaultInclude(mode: IncludeMode): void {
    this.#catalog.setDefaultInclude(mode);
  }

  /** How calls are approved, kept and accounted for; the journal is the session's own. */
  ports(): Omit<RunPorts, "media" | "journal"> {
    const options = this.#options;
    return {
      world: options.world,
      results: this.results,
      approve: (request, signal) => {
        const { tool, arguments: given } = request;
        const look = () => this.#builtin.preview(tool.definition.name, given, signal);
        return this.#permissions.approve(
          { ...request, ...(tool.origin === "builtin" ? { look } : {}) },
          options.attached(),
          signal,
        );
      },
      trustsAnnotations: ({ origin, source }) => this.#facts.get(keyOf(origin, source))?.trustsAnnotations === true,
      onUsed: ({ id }) => this.#catalog.used(id),
    };
  }

  list(): readonly CatalogTool[] {
    return this.#catalog.peek().tools;
  }

  add(source: ToolSource, settings?: SourceSettings): () => void {
    return this.#catalog.add(asExtra(source), settings);
  }

  clear(name?: string): void {
    this.#catalog.remove("extra", name);
  }

  async search(request: SearchRequest, signal: AbortSignal = new AbortController().signal): Promise<SearchAnswer> {
    return await this.#catalog.search(request, signal);
  }

  include(name: string): Selection {
    return this.#catalog.addTool(name);
  }

  setInclude(name: string, mode: IncludeMode): Selection {
    return this.#catalog.setInclude(name, mode);
  }

  why(name: string): WhyAnswer {
    return this.#catalog.why(name);
  }

  inspect(): CatalogView {
    return this.#catalog.inspect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#resources.setConnections([]);
    await this.#builtin[Symbol.asyncDispose]();
    await this.results[Symbol.asyncDispose]();
  }

  #entries(offer: Offer, tools: readonly CatalogTool[]): { tool: CatalogTool; raw: CatalogTool["definition"] }[] {
    return tools.map((tool) => ({ tool, raw: offer.find(tool.id)?.raw ?? tool.definition }));
  }

  /** Every tool of the servers that are in the lock of definitions. */
  #lockedTools(): readonly SourcedTool[] {
    const sources = [...this.#followed.values()].map(({ source }) => source);
    return sources.flatMap(({ origin, name }) => (this.#lock.covers(name) ? this.#catalog.toolsOf(origin, name) : []));
  }

  #whyHeld(sourced: SourcedTool): string | undefined {
    const reason = this.#permissions.whyHeld(sourced);
    if (reason === undefined) this.#held.delete(sourced.tool.id);
    else this.#held.set(sourced.tool.id, sourced);
    return reason;
  }
}

/** Whoever is attached when a tool runs. */
function builtinPorts(options: SessionToolsOptions): BuiltinPorts {
  return {
    get fs(): ClientFiles {
      return options.attached()?.fs ?? {};
    },
    get terminal(): Terminal | undefined {
      return options.attached()?.terminal;
    },
    plan: (entries) => options.onPlan(entries),
    ask: async (question, choices, signal, toolCallId) => {
      const ports = options.attached();
      if (!ports?.askPerson) return { kind: "unavailable", reason: "nobody is attached who could be asked" };
      return await ports.askPerson(question, choices, signal, toolCallId);
    },
  };
}

/** Whatever it calls itself: a program around Tenon is no server of the user's. */
function asExtra(source: ToolSource): ToolSource {
  return {
    name: source.name,
    origin: "extra",
    tools: source.tools,
    call: (call) => source.call(call),
    ...(source.state ? { state: source.state } : {}),
    ...(source.callsAtOnce === undefined ? {} : { callsAtOnce: source.callsAtOnce }),
    ...(source.about ? { about: () => source.about?.() ?? {} } : {}),
    ...(source.problems ? { problems: () => source.problems?.() ?? [] } : {}),
  };
}

function keyOf(origin: ToolOrigin, name: string): string {
  return `${origin}\0${name}`;
}
