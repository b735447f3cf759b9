// The catalog of one session: every tool it knows, which of them the model is offered, and why the others are not.
import { TOOL_LIMITS } from "../limits.js";
import type { IncludeMode, SourcedTool, ToolId, ToolOrigin, ToolSource } from "../tool.js";
import { CatalogLookAlikes } from "./look-alikes.js";
import { searchMetaSource } from "./meta-tools.js";
import { mentionedTools, type Offer, pathOf, type Resolved, resolveTool } from "./offer.js";
import { type CatalogLimits, type NoticeSink, Offering, serverIndexText } from "./offered-tools.js";
import type { SourceSettings, ToolTransformer } from "./shape.js";
import { type DenseScores, type SearchAnswer, type SearchRequest, ToolSearch, type UsagePort } from "./tool-search.js";
import {
  type AbsentServer,
  type CatalogState,
  type CatalogView,
  inspectCatalog,
  type WhyAnswer,
  whyTool,
} from "./why.js";

export interface CatalogOptions {
  readonly limits?: Partial<CatalogLimits>;
  readonly transformers?: readonly ToolTransformer[];
  readonly usage?: UsagePort;
  readonly dense?: DenseScores;
  /** Why a tool may not be offered until a person approves it. Asked for tools about to be offered or found. */
  isHeld?(tool: SourcedTool): string | undefined;
  onNotice?: NoticeSink;
}

/** The result of a person's change to a tool or server. */
export type Selection =
  | { readonly ok: true; readonly what: string }
  | { readonly ok: false; readonly reason: string; readonly candidates: readonly string[] };

const DEFAULT_LIMITS: CatalogLimits = {
  maxAlwaysServers: TOOL_LIMITS.alwaysMaxServers,
  maxAlwaysTools: TOOL_LIMITS.alwaysMaxTools,
  warnProcesses: TOOL_LIMITS.processesWarn,
  headStart: TOOL_LIMITS.headStart.tools,
};

export class SessionCatalog {
  readonly #options: CatalogOptions;
  readonly #lookAlikes = new CatalogLookAlikes();
  readonly #offering: Offering;
  readonly #search: ToolSearch;
  #absent: readonly AbsentServer[] = [];
  #prompt: string | undefined;
  #serverIndex = "";

  constructor(options: CatalogOptions = {}) {
    this.#options = options;
    this.#offering = new Offering(searchMetaSource(this), { ...DEFAULT_LIMITS, ...options.limits }, options);
    this.#search = new ToolSearch(this.#offering, options);
  }

  /**
   * Adds a source; one of the same layer and name takes the place of the earlier one. Its tools follow its list, and join
   * between model calls. Returns the way to take it out again.
   */
  add(source: ToolSource, settings: SourceSettings = {}): () => void {
    const remove = this.#offering.book.add(source, settings);
    this.#offering.noteShadowed();
    return remove;
  }

  /** Takes out the sources of a layer, or the one of that name. What the model has seen of them answers that it is gone. */
  remove(origin: ToolOrigin, name?: string): void {
    this.#offering.book.remove(origin, name);
  }

  /** What the configuration says now. What the model was offered stays offered. */
  setLimits(limits: Partial<CatalogLimits>): void {
    this.#offering.limits = { ...DEFAULT_LIMITS, ...this.#options.limits, ...limits };
    this.#offering.replan();
  }

  /** Every tool a source has now, as it is known here and as the source defines it. */
  toolsOf(origin: ToolOrigin, name: string): readonly SourcedTool[] {
    this.#offering.refresh();
    return (
      this.#offering.book.active.find(({ source }) => source.origin === origin && source.name === name)?.tools ?? []
    );
  }

  /** What of a tool looks like another one's name, title or server: a sentence each, for people. */
  lookAlikes(id: ToolId): readonly string[] {
    this.#offering.refresh();
    const sources = [...this.#offering.book.active, this.#offering.meta];
    const known = sources.flatMap(({ tools }) => tools).find(({ tool }) => tool.id === id);
    return known ? this.#lookAlikes.of(known, sources) : [];
  }

  /** Servers that are no sources, with the reason: only for explanations. */
  setAbsent(absent: readonly AbsentServer[]): void {
    this.#absent = absent;
  }

  /** For one model call. What it holds does not change; the next one may have more. */
  offer(): Offer {
    return this.#offering.offer();
  }

  /** What the next model call would be offered; nothing is decided by looking. */
  peek(): Offer {
    return this.#offering.peek();
  }

  /**
   * To be called with the text of every prompt before its first model call. Tools it mentions as `@tool:name` are added; the
   * first one chooses a head start from what is behind search and fixes the index of servers.
   */
  async startPrompt(prompt: string, signal: AbortSignal): Promise<void> {
    this.#prompt = prompt;
    for (const name of mentionedTools(prompt)) {
      const selection = this.addTool(name);
      if (!selection.ok) this.#offering.warn(`@tool:${name} adds nothing: ${selection.reason}`);
    }
    if (this.#offering.firstPrompt !== undefined) return;
    const plan = this.#offering.commit();
    const chosen = await this.#search.headStart(plan, prompt, signal);
    if (signal.aborted) return; // nothing was offered yet: the next prompt is the first one
    this.#offering.begin(prompt, chosen);
    this.#serverIndex = plan.behind.size > 0 ? serverIndexText(this.#offering.book.active) : "";
  }

  /** One line per server for the system prompt; empty when nothing is behind search. Fixed by the first prompt. */
  get serverIndex(): string {
    return this.#serverIndex;
  }

  /** What is found can be called from then on: through `tenon_call_tool`, or by its own name where a provider lets it. */
  async search(request: SearchRequest, signal: AbortSignal): Promise<SearchAnswer> {
    this.#offering.commit();
    return await this.#search.search(request, signal);
  }

  /** To be called when a call of a tool went well: what it was good for is remembered, and it counts as loaded. */
  used(id: ToolId): void {
    const known = this.#offering.find(id);
    if (!known || known.tool.origin === "builtin") return;
    this.#offering.pick(known, { how: "called" });
    if (this.#prompt !== undefined) this.#options.usage?.add(this.#prompt, id);
  }

  /** The person adds a tool (`/tools add`): it joins at the next model call, whatever its mode and the limits. */
  addTool(name: string): Selection {
    this.#offering.refresh();
    const resolved = resolveTool(name, this.#offering.book.active);
    if (resolved.kind !== "one") return unresolved(name, resolved);
    this.#offering.added.add(resolved.known.tool.id);
    this.#offering.replan();
    return { ok: true, what: resolved.known.tool.label };
  }

  /**
   * At run time, for a server by its name or a tool by any of its names. What the model was offered stays offered: only
   * what is not yet in front of it is moved.
   */
  setInclude(name: string, mode: IncludeMode): Selection {
    this.#offering.refresh();
    const server = this.#offering.book.active.find(({ source }) => source.name === name);
    const resolved = server ? undefined : resolveTool(name, this.#offering.book.active);
    if (resolved && resolved.kind !== "one") return unresolved(name, resolved);
    const source = resolved?.known.source.name ?? name;
    if (server) this.#offering.refused.delete(name); // it may fit into the limits now
    this.#offering.modes.set(source, resolved?.known.raw.name, mode);
    this.#offering.replan();
    return { ok: true, what: resolved?.known.tool.label ?? `the server "${source}"` };
  }

  /** For servers without an include mode of their own. What the model was offered stays offered. */
  setDefaultInclude(mode: IncludeMode): void {
    this.#offering.modes.setDefault(mode);
    this.#offering.replan();
  }

  /** Takes a tool away for good as long as its definition stays the same: no form of it exists that a provider accepts. */
  quarantine(id: ToolId, reason: string): void {
    this.#offering.quarantine(id, reason);
  }

  /** By any name people use: what became of a tool, and why. */
  why(name: string): WhyAnswer {
    return whyTool(name, this.#state());
  }

  /** What is in front of the model for the whole session, and what this conversation added to it, with scores. */
  inspect(): CatalogView {
    return inspectCatalog(this.#state());
  }

  #state(): CatalogState {
    const offering = this.#offering;
    const plan = offering.plan();
    this.#search.sync();
    const list = offering.next(plan);
    const { active } = offering.book;
    const all = [...active, offering.meta];
    return {
      offering,
      sources: offering.meta.tools.some(({ tool }) => list.how.has(tool.id)) ? all : active,
      list,
      plan,
      search: this.#search,
      absent: this.#absent,
      lookAlikes: (known) => this.#lookAlikes.of(known, all),
    };
  }
}

function unresolved(name: string, resolved: Exclude<Resolved, { kind: "one" }>): Selection {
  const paths = (resolved.kind === "many" ? resolved.candidates : resolved.similar).map(pathOf);
  const reason =
    paths.length === 0
      ? `there is no tool or server "${name}" in this session`
      : `"${name}" is not the name of one tool; do you mean ${paths.join(" or ")}?`;
  return { ok: false, reason, candidates: paths };
}
