// The catalog of one session: every tool it knows, which of them the model is offered, and why the others are not.
import { LIMITS } from "../../base/limits.js";
import { searchMetaSource } from "../meta/search-tools.js";
import type { SourceSettings, ToolTransformer } from "../shape/settings.js";
import type { ToolSource } from "../source.js";
import type { CatalogTool, IncludeMode, ToolDefinition, ToolId, ToolOrigin } from "../tool.js";
import { type DenseScores, type FinderQuery, ToolFinder, type UsagePort } from "./finder.js";
import { chooseHeadStart, type Ranked } from "./head-start.js";
import { IncludeModes } from "./include-modes.js";
import { type CatalogView, inspectCatalog } from "./inspect.js";
import { type KnownTool, KnownTools } from "./known-tools.js";
import { type NoticeSink, Notices } from "./notices.js";
import type { Offer } from "./offer.js";
import { makeOffer, OfferedList, type OfferedTool } from "./offered-list.js";
import { type BudgetCause, type CatalogLimits, type Plan, planOffer } from "./plan.js";
import { mentionedTools, pathOf, resolveTool } from "./resolve.js";
import { serverIndexText } from "./server-index.js";
import { SourceBook } from "./source-book.js";
import type { AbsentServer, CatalogState, FoundTool, Pick } from "./state.js";
import { type WhyAnswer, whyTool } from "./why.js";

export interface CatalogOptions {
  readonly limits?: Partial<CatalogLimits>;
  readonly transformers?: readonly ToolTransformer[];
  readonly usage?: UsagePort;
  readonly dense?: DenseScores;
  /** Why a tool may not be offered until somebody approves of it. Asked for tools about to be offered or found. */
  isHeld?(tool: SourcedTool): string | undefined;
  onNotice?: NoticeSink;
}

export interface SearchRequest {
  readonly query: string;
  readonly server?: string;
  readonly limit?: number;
}

export type SearchAnswer =
  | { readonly kind: "found"; readonly tools: readonly FoundTool[] }
  | { readonly kind: "no_server"; readonly servers: readonly string[] };

/** What a person's word about a tool or server came to. */
export type Selection =
  | { readonly ok: true; readonly what: string }
  | { readonly ok: false; readonly reason: string; readonly candidates: readonly string[] };

/** A tool with the definition its source gave. */
export interface SourcedTool {
  readonly tool: CatalogTool;
  readonly raw: ToolDefinition;
}

const DEFAULT_LIMITS: CatalogLimits = {
  maxAlwaysServers: LIMITS.alwaysMaxServers,
  maxAlwaysTools: LIMITS.alwaysMaxTools,
  warnProcesses: LIMITS.processesWarn,
  headStart: LIMITS.headStart.tools,
};

export class SessionCatalog {
  readonly #options: CatalogOptions;
  #limits: CatalogLimits;
  readonly #book: SourceBook;
  readonly #meta: KnownTools;
  readonly #modes = new IncludeModes();
  readonly #finder: ToolFinder;
  readonly #notices: Notices;
  readonly #added = new Set<ToolId>();
  readonly #setAside = new Map<ToolId, { readonly definitionHash: string; readonly reason: string }>();
  readonly #picks = new Map<ToolId, Pick>();
  /** Servers behind search for want of room: room that comes later is for others, so that nothing hops about. */
  readonly #refused = new Map<string, BudgetCause>();
  #absent: readonly AbsentServer[] = [];
  #list = OfferedList.EMPTY;
  #table: ReadonlyMap<string, KnownTool> = new Map();
  #plan: Plan | undefined;
  #offer: Offer | undefined;
  #prompt: string | undefined;
  #firstPrompt: string | undefined;
  #serverIndex = "";

  constructor(options: CatalogOptions = {}) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#book = new SourceBook(options.transformers);
    this.#finder = new ToolFinder(options);
    this.#notices = new Notices(options.onNotice ?? (() => {}));
    this.#meta = new KnownTools(searchMetaSource(this));
    this.#meta.refresh();
  }

  /**
   * Adds a source; one of the same layer and name takes the place of the earlier one. Its tools follow its list, and join
   * between model calls. Returns the way to take it out again.
   */
  add(source: ToolSource, settings: SourceSettings = {}): () => void {
    const remove = this.#book.add(source, settings);
    this.#notices.sourcesChanged(this.#book);
    return remove;
  }

  /** Takes out the sources of a layer, or the one of that name. What the model has seen of them answers that it is gone. */
  remove(origin: ToolOrigin, name?: string): void {
    this.#book.remove(origin, name);
  }

  /** What the configuration says now. What the model was offered stays offered. */
  setLimits(limits: Partial<CatalogLimits>): void {
    this.#limits = { ...DEFAULT_LIMITS, ...this.#options.limits, ...limits };
    this.#plan = undefined;
  }

  /** Every tool a source has now, as it is known here and as the source defines it. */
  toolsOf(origin: ToolOrigin, name: string): readonly SourcedTool[] {
    this.#refresh();
    return this.#book.active.find(({ source }) => source.origin === origin && source.name === name)?.tools ?? [];
  }

  /** Servers that are no sources, with the reason: only for explanations. */
  setAbsent(absent: readonly AbsentServer[]): void {
    this.#absent = absent;
  }

  /** For one model call. What it holds does not change; the next one may have more. */
  offer(): Offer {
    this.#commit();
    this.#offer ??= this.#makeOffer(this.#list);
    return this.#offer;
  }

  /** What the next model call would be offered; nothing is decided by looking. */
  peek(): Offer {
    const plan = this.#planned();
    return this.#makeOffer(this.#list.append(this.#joining(plan)));
  }

  /**
   * To be called with the text of every prompt before its first model call. Tools it mentions as `@tool:name` are added; the
   * first one chooses a head start from what is behind search and fixes the index of servers.
   */
  async startPrompt(prompt: string, signal: AbortSignal): Promise<void> {
    this.#prompt = prompt;
    for (const name of mentionedTools(prompt)) {
      const selection = this.addTool(name);
      if (!selection.ok) this.#notices.mention(name, selection.reason);
    }
    if (this.#firstPrompt !== undefined) return;
    const plan = this.#commit();
    const picks = await this.#headStart(plan, prompt, signal);
    if (signal.aborted) return; // nothing was offered yet: the next prompt is the first one
    this.#firstPrompt = prompt;
    this.#commit();
    for (const { known, score } of picks) this.#picks.set(known.tool.id, { how: "head_start", query: prompt, score });
    this.#append(picks.map(({ known }) => ({ known, how: "head_start" })));
    this.#plan = undefined;
    this.#serverIndex = plan.behind.size > 0 ? serverIndexText(this.#book.active) : "";
  }

  /** One line per server for the system prompt; empty when nothing is behind search. Fixed by the first prompt. */
  get serverIndex(): string {
    return this.#serverIndex;
  }

  /** What is found can be called from then on: through `tenon_call_tool`, or by its own name where a provider lets it. */
  async search({ query, server, limit }: SearchRequest, signal: AbortSignal): Promise<SearchAnswer> {
    this.#commit();
    const servers = this.#book.active
      .filter(({ source }) => source.origin !== "builtin")
      .map(({ source }) => source.name);
    const meant = server === undefined ? undefined : nameLike(server, servers);
    if (server !== undefined && meant === undefined) return { kind: "no_server", servers };
    const count = Math.min(Math.max(1, limit ?? LIMITS.toolSearchResults.usual), LIMITS.toolSearchResults.most);
    const ranked = await this.#rank({ query, limit: count, ...(meant === undefined ? {} : { server: meant }) }, signal);
    for (const { known, score } of ranked) this.#pick(known, { how: "found", query, score });
    const tools = ranked.map(({ known: { tool }, score }) => ({
      tool,
      score,
      isOffered: this.#list.how.has(tool.id),
    }));
    return { kind: "found", tools };
  }

  /** To be called when a call of a tool went well: what it was good for is remembered, and it counts as loaded. */
  used(id: ToolId): void {
    const known = this.#table.get(id);
    if (!known || known.tool.origin === "builtin") return;
    this.#pick(known, { how: "called" });
    if (this.#prompt !== undefined) this.#options.usage?.add(this.#prompt, id);
  }

  /** The person adds a tool (`/tools add`): it joins at the next model call, whatever its mode and the limits. */
  addTool(name: string): Selection {
    this.#refresh();
    const resolved = resolveTool(name, this.#book.active);
    if (resolved.kind !== "one")
      return unresolved(name, resolved.kind === "many" ? resolved.candidates : resolved.similar);
    this.#added.add(resolved.known.tool.id);
    this.#plan = undefined;
    return { ok: true, what: resolved.known.tool.label };
  }

  /**
   * At run time, for a server by its name or a tool by any of its names. What the model was offered stays offered: only
   * what is not yet in front of it is moved.
   */
  setInclude(name: string, mode: IncludeMode): Selection {
    this.#refresh();
    const server = this.#book.active.find(({ source }) => source.name === name);
    const resolved = server ? undefined : resolveTool(name, this.#book.active);
    if (resolved && resolved.kind !== "one") {
      return unresolved(name, resolved.kind === "many" ? resolved.candidates : resolved.similar);
    }
    const source = resolved?.known.source.name ?? name;
    if (server) this.#refused.delete(name);
    this.#modes.set(source, resolved?.known.raw.name, mode);
    this.#plan = undefined;
    return { ok: true, what: resolved?.known.tool.label ?? `the server "${source}"` };
  }

  /** For servers nobody said anything about. What the model was offered stays offered. */
  setDefaultInclude(mode: IncludeMode): void {
    this.#modes.setDefault(mode);
    this.#plan = undefined;
  }

  /** Takes a tool away for good as long as its definition stays the same: no form of it exists that a provider accepts. */
  quarantine(id: ToolId, reason: string): void {
    const known = this.#table.get(id);
    if (!known) return;
    this.#setAside.set(id, { definitionHash: known.tool.definitionHash, reason });
    this.#setList(this.#list.without(id));
    this.#plan = undefined;
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
    const plan = this.#planned();
    this.#sync();
    const { active } = this.#book;
    const list = this.#list.append(this.#joining(plan));
    const hasMeta = this.#meta.tools.some(({ tool }) => list.how.has(tool.id));
    return {
      book: this.#book,
      sources: hasMeta ? [...active, this.#meta] : active,
      modes: this.#modes,
      limits: this.#limits,
      list,
      plan,
      picks: this.#picks,
      finder: this.#finder,
      firstPrompt: this.#firstPrompt,
      absent: this.#absent,
      whySetAside: (known) => this.#whySetAside(known),
      whyHeld: (known) => this.#whyHeld(known),
    };
  }

  #commit(): Plan {
    const plan = this.#planned();
    this.#append(this.#joining(plan));
    if (this.#firstPrompt !== undefined)
      for (const [server, { cause }] of plan.overBudget) this.#refused.set(server, cause);
    this.#notices.processes(this.#book, this.#limits);
    this.#notices.overBudget(plan.overBudget, this.#limits);
    return plan;
  }

  #append(joining: readonly OfferedTool[]): void {
    this.#setList(this.#list.append(joining));
  }

  #setList(list: OfferedList): void {
    if (list === this.#list) return;
    this.#list = list;
    this.#offer = undefined;
  }

  /** Tenon's own tools about tools come with the first tool behind search, and stay. */
  #joining(plan: Plan): readonly OfferedTool[] {
    const meta = plan.behind.size > 0 ? this.#meta.tools : [];
    return [...meta.map((known): OfferedTool => ({ known, how: "always" })), ...plan.append];
  }

  #planned(): Plan {
    this.#refresh();
    if (this.#plan && !this.#plan.hasHeld) return this.#plan;
    this.#plan = planOffer({
      active: this.#book.active,
      modes: this.#modes,
      limits: this.#limits,
      offered: this.#list.how,
      added: this.#added,
      refused: this.#refused,
      isFrozen: this.#firstPrompt !== undefined,
      isSetAside: (known) => this.#whySetAside(known) !== undefined,
      isHeld: (known) => this.#whyHeld(known) !== undefined,
    });
    return this.#plan;
  }

  #refresh(): void {
    if (!this.#book.refresh()) return;
    const table = new Map<string, KnownTool>();
    for (const { tools } of this.#book.active) {
      for (const known of tools) if (!table.has(known.tool.id)) table.set(known.tool.id, known);
    }
    this.#table = table;
    this.#plan = undefined;
    this.#offer = undefined;
  }

  #makeOffer(list: OfferedList): Offer {
    const table = this.#table;
    const meta = new Map<string, KnownTool>(this.#meta.tools.map((known) => [known.tool.id, known]));
    return makeOffer({
      list,
      current: (name) => table.get(name) ?? (list.seen.has(name) ? meta.get(name) : undefined),
      whySetAside: (known) => this.#whySetAside(known),
      whyHeld: (known) => this.#whyHeld(known),
    });
  }

  async #headStart(plan: Plan, prompt: string, signal: AbortSignal): Promise<readonly Ranked[]> {
    const { headStart, maxAlwaysTools } = this.#limits;
    const places = Math.min(headStart, maxAlwaysTools - this.#list.entries.length);
    if (places <= 0 || plan.behind.size === 0) return [];
    const limit = places + this.#list.entries.length; // what is offered already is found too
    const ranked = await this.#rank({ query: prompt, limit }, signal);
    return chooseHeadStart(
      ranked.filter(({ known: { tool } }) => plan.behind.has(tool.id) && !this.#list.how.has(tool.id)),
      places,
    );
  }

  async #rank(query: FinderQuery, signal: AbortSignal): Promise<readonly Ranked[]> {
    this.#sync();
    const hits = await this.#finder.search(query, signal);
    return hits.flatMap(({ id, score }) => {
      const known = this.#table.get(id); // what went away meanwhile is not found
      const isUsable = known && this.#whySetAside(known) === undefined && this.#whyHeld(known) === undefined;
      return isUsable ? [{ known, score }] : [];
    });
  }

  #sync(): void {
    this.#finder.sync(this.#book.active, (source, known) => this.#modes.of(source, known.raw.name).mode === "manual");
  }

  #pick(known: KnownTool, pick: Pick): void {
    const { id } = known.tool;
    if (this.#list.how.has(id)) return;
    if (!this.#picks.has(id)) this.#picks.set(id, pick);
    this.#setList(this.#list.show([known]));
  }

  #whySetAside({ tool }: KnownTool): string | undefined {
    const setAside = this.#setAside.get(tool.id);
    return setAside && setAside.definitionHash === tool.definitionHash ? setAside.reason : undefined;
  }

  #whyHeld({ tool, raw }: KnownTool): string | undefined {
    return this.#options.isHeld?.({ tool, raw });
  }
}

function nameLike(name: string, names: readonly string[]): string | undefined {
  return names.find((one) => one === name) ?? names.find((one) => one.toLowerCase() === name.toLowerCase());
}

function unresolved(name: string, candidates: readonly KnownTool[]): Selection {
  const paths = candidates.map(pathOf);
  const reason =
    paths.length === 0
      ? `there is no tool or server "${name}" in this session`
      : `"${name}" is not the name of one tool; do you mean ${paths.join(" or ")}?`;
  return { ok: false, reason, candidates: paths };
}
