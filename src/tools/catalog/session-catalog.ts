// The catalog of one session: every tool it knows, which of them the model is offered, and why the others are not.

import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import { TOOL_LIMITS } from "../limits.js";
import { type Explanation, ToolIndex, type UsageScores } from "../search/index-of-tools.js";
import { DENSE_SHARE } from "../search/indexed-tools.js";
import type {
  CatalogTool,
  IncludeMode,
  SourceCall,
  SourcedTool,
  ToolId,
  ToolOrigin,
  ToolOutcome,
  ToolSource,
} from "../tool.js";
import { CatalogLookAlikes } from "./look-alikes.js";
import { searchMetaSource } from "./meta-tools.js";
import { type KnownTool, mentionedTools, type Offer, pathOf, type Resolved, resolveTool } from "./offer.js";
import {
  type CatalogLimits,
  type Choice,
  doingOf,
  type NoticeSink,
  Offering,
  type Plan,
  type Ranked,
  serverIndexText,
} from "./offered-tools.js";
import type { SourceSettings, ToolTransformer } from "./shape.js";
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
  /** Finds tools in place of Tenon's own search. */
  readonly find?: FindTools;
  /** Why a tool may not be offered until a person approves it. Asked for tools about to be offered or found. */
  isHeld?(tool: SourcedTool): string | undefined;
  onNotice?: NoticeSink;
}

export interface StartingServer {
  readonly name: string;
  /** What goes on. */
  readonly doing: string;
  /** Tools that are known from the last time. */
  readonly toolCount: number;
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

  /** A name the model called a tool by before the session was loaded again: it keeps it. */
  keepName(name: string, server: string, tool: string): void {
    this.#offering.names.keep(name, server, tool);
  }

  /** Every tool a source has now, as it is known here and as the source defines it. */
  toolsOf(origin: ToolOrigin, name: string): readonly SourcedTool[] {
    this.#offering.refresh();
    return (
      this.#offering.book.active.find(({ source }) => source.origin === origin && source.name === name)?.tools ?? []
    );
  }

  /** Whether any source, or a server that is no source now, has the name. */
  knows(name: string): boolean {
    return this.#offering.knows(name);
  }

  /** What of a tool looks like another one's name, title or server: a sentence each, for people. */
  lookAlikes(id: ToolId): readonly string[] {
    this.#offering.refresh();
    const sources = [...this.#offering.book.active, this.#offering.meta];
    const known = sources.flatMap(({ tools }) => tools).find(({ tool }) => tool.id === id);
    return known ? this.#lookAlikes.of(known, sources) : [];
  }

  /** Calls `listener` when the tools may have changed; returns the way to stop. */
  onChange(listener: () => void): () => void {
    return this.#offering.book.onChange(listener);
  }

  /** Every tool of all sources that counts now, offered or not, but for Tenon's own. */
  all(): readonly KnownTool[] {
    this.#offering.refresh();
    return this.#offering.book.active.flatMap(({ source, tools }) => (source.origin === "builtin" ? [] : tools));
  }

  /** By any of its names: what the model calls it, its own name where only one tool has it, or `server/tool`. */
  resolve(name: string): Resolved {
    this.#offering.refresh();
    return resolveTool(name, this.#offering.book.active);
  }

  /** Servers that are no sources, with the reason: only for explanations. */
  setAbsent(absent: readonly AbsentServer[]): void {
    this.#offering.absent = absent;
  }

  /** For one model call. What it holds does not change; the next one may have more. */
  offer(): Offer {
    return this.#offering.offer();
  }

  /** What the next model call would be offered; nothing is decided by looking. */
  peek(): Offer {
    return this.#offering.peek();
  }

  /** The tools there are by their include modes alone, for callers that have no model call to keep small. */
  byMode(): Readonly<Record<"always" | "search", readonly CatalogTool[]>> {
    const offering = this.#offering;
    offering.refresh();
    const found: Record<IncludeMode, CatalogTool[]> = { always: [], search: [], manual: [] };
    for (const source of offering.book.active) {
      for (const known of source.isDown ? [] : source.tools) {
        if (offering.whySetAside(known) !== undefined || offering.whyHeld(known) !== undefined) continue;
        found[offering.modes.of(source, known.raw.name).mode].push(known.tool);
      }
    }
    return found;
  }

  /** Every tool by its name, for calls beside the conversation: nothing is decided, and nothing joins, by looking. */
  lookUp(): Offer {
    return this.#offering.lookUp();
  }

  /**
   * To be called with the text of every prompt before its first model call. Tools it mentions as `@tool:name` are added, and
   * it chooses from what is behind search; the first one fixes the index of servers.
   */
  async startPrompt(prompt: string, signal: AbortSignal): Promise<void> {
    this.#prompt = prompt;
    for (const name of mentionedTools(prompt)) {
      const selection = this.addTool(name);
      if (!selection.ok) this.#offering.warn(`@tool:${name} adds nothing: ${selection.reason}`);
    }
    const isFirst = this.#offering.prompt === undefined;
    const plan = this.#offering.commit();
    const choice = await this.#search.choose(plan, prompt, signal);
    if (signal.aborted) return; // after a first prompt that was cancelled the next one is the first
    this.#offering.choose(prompt, choice);
    if (!isFirst) return;
    this.#serverIndex = plan.behind.size > 0 ? serverIndexText(this.#offering.book.active) : "";
  }

  /** One line per server for the system prompt; empty when nothing is behind search. Fixed by the first prompt. */
  get serverIndex(): string {
    return this.#serverIndex;
  }

  /** What is found can be called from then on: through `tenon_call_tool`, or by its own name where a provider lets it. */
  async search(request: SearchRequest, signal: AbortSignal): Promise<SearchAnswer> {
    if (request.isTrial) this.#offering.refresh();
    else this.#offering.commit();
    return await this.#search.search(request, signal);
  }

  /** Servers that start for the first time, with what goes on. */
  get starting(): readonly StartingServer[] {
    this.#offering.refresh();
    return this.#offering.starting.map((source) => {
      return { name: source.name, doing: doingOf(source), toolCount: source.tools.value.length };
    });
  }

  /** Waits until a server has started, by any form of its name. */
  async waitFor(name: string, signal: AbortSignal, onProgress: SourceCall["onProgress"]): Promise<ToolOutcome> {
    return await this.#offering.waitFor(name, signal, onProgress);
  }

  /** To be called when a call of a tool went well: what it was good for is remembered, and it counts as loaded. */
  used(id: ToolId): void {
    const known = this.#offering.find(id);
    if (!known || known.tool.origin === "builtin") return;
    this.#offering.pick(known, { how: "called" });
    if (this.#prompt !== undefined) this.#options.usage?.add(this.#prompt, known.key);
  }

  /** The person adds a tool (`/tools add`): it joins at the next model call, whatever its mode and the limits. */
  addTool(name: string): Selection {
    this.#offering.refresh();
    const resolved = resolveTool(name, this.#offering.book.active);
    if (resolved.kind !== "one") return unresolved(name, resolved);
    this.#offering.added.add(resolved.known.tool.id);
    this.#offering.restore(resolved.known.tool.id);
    return { ok: true, what: resolved.known.tool.label };
  }

  /** The person takes a tool away (`/tools remove`), or all of a server: it is not offered any more, and a call of it says so. */
  removeTool(name: string): Selection {
    const named = this.#named(name);
    if (!named.ok) return named;
    if (named.single) this.#offering.remove(named.single.tool.id);
    else this.#offering.removeServer(name, named.tools);
    return named;
  }

  /**
   * At run time, for a server by its name or a tool by any of its names. What the model was offered stays offered: only
   * what is not yet in front of it is moved.
   */
  setInclude(name: string, mode: IncludeMode): Selection {
    const named = this.#named(name);
    if (!named.ok) return named;
    const { tools, single } = named;
    if (!single) {
      this.#offering.refused.delete(name); // it may fit into the limits now
      this.#offering.restoreServer(name);
    }
    this.#offering.modes.set(single?.source.name ?? name, single?.raw.name, mode);
    for (const { tool } of tools) this.#offering.restore(tool.id);
    this.#offering.replan();
    return named;
  }

  /** A server by its name with all its tools, or a single tool by any of its names. */
  #named(
    name: string,
  ):
    | { ok: true; what: string; tools: readonly KnownTool[]; single?: KnownTool }
    | Extract<Selection, { readonly ok: false }> {
    this.#offering.refresh();
    const { active } = this.#offering.book;
    const server = active.find(({ source }) => source.name === name);
    if (server) return { ok: true, what: `the server "${name}"`, tools: server.tools };
    const resolved = resolveTool(name, active);
    if (resolved.kind !== "one") return unresolved(name, resolved);
    return { ok: true, what: resolved.known.tool.label, tools: [resolved.known], single: resolved.known };
  }

  /** For servers without an include mode of their own. What the model was offered stays offered. */
  setDefaultInclude(mode: IncludeMode): void {
    this.#offering.modes.setDefault(mode);
    this.#offering.replan();
  }

  /** To be called when providers' caches are lost anyway: the conversation was compacted, or the model is another one. */
  renew(): void {
    this.#offering.renew();
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
      absent: offering.absent,
      lookAlikes: (known) => this.#lookAlikes.of(known, all),
    };
  }
}

function unresolved(
  name: string,
  resolved: Exclude<Resolved, { kind: "one" }>,
): Extract<Selection, { readonly ok: false }> {
  const paths = (resolved.kind === "many" ? resolved.candidates : resolved.similar).map(pathOf);
  const reason =
    paths.length === 0
      ? `there is no tool or server "${name}" in this session`
      : `"${name}" is not the name of one tool; do you mean ${paths.join(" or ")}?`;
  return { ok: false, reason, candidates: paths };
}

/** Which prompts led to which tool. */
export interface UsagePort {
  scores(query: string): UsageScores;
  /** The tool of this key was called with success while this prompt was worked on. */
  add(prompt: string, key: string): void;
}

/** A search of the program around Tenon: ids of the tools that fit, the best first, with scores from 0 to 1. */
export type FindTools = (
  request: { readonly query: string; readonly limit: number; readonly tools: readonly CatalogTool[] },
  signal: AbortSignal,
) => Promise<readonly { readonly id: string; readonly score: number }[]>;

/** How close tools are to the query, by an embedder; undefined without one. A failure costs only this hint. */
export type DenseScores = (
  query: string,
  tools: readonly CatalogTool[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, number> | undefined>;

export interface SearchRequest {
  readonly query: string;
  readonly server?: string;
  readonly limit?: number;
  /** Somebody only looks what would be found: nothing becomes callable by it. */
  readonly isTrial?: boolean;
  /** By words alone: no embedder is asked, so it costs nothing. */
  readonly isFree?: boolean;
}

type RankOptions = Pick<SearchRequest, "server" | "isFree"> & { readonly limit: number };

/** A tool as a search found it. */
export interface FoundTool {
  readonly tool: CatalogTool;
  readonly score: number;
  /** It is in the offered list already, so it can be called by its own name in any case. */
  readonly isOffered: boolean;
}

export type SearchAnswer =
  | { readonly kind: "found"; readonly tools: readonly FoundTool[] }
  | { readonly kind: "no_server"; readonly servers: readonly string[] };

interface DenseAnswer {
  readonly query: string;
  readonly scores: ReadonlyMap<string, number> | undefined;
}

export class ToolSearch {
  readonly #offering: Offering;
  readonly #options: Pick<CatalogOptions, "usage" | "dense" | "find" | "onNotice">;
  /** Made with the first server: many sessions have none. */
  #made: ToolIndex | undefined;
  /** The tools of each server that are in the index. */
  readonly #indexed = new Map<string, readonly KnownTool[]>();
  /** What the embedder said about the last query, and about the last prompt: an explanation gives the same scores. */
  #latest: DenseAnswer | undefined;
  /** Of the program's own search. */
  #isFailureTold = false;
  #dense: DenseAnswer | undefined;

  constructor(offering: Offering, options: CatalogOptions) {
    this.#offering = offering;
    this.#options = options;
  }

  get #index(): ToolIndex {
    this.#made ??= new ToolIndex();
    return this.#made;
  }

  /** Brings the index to where the sources and their modes are. Only servers whose lists changed cost anything. */
  sync(): void {
    const { book, modes } = this.#offering;
    const servers = book.active.filter(({ source }) => source.origin !== "builtin");
    for (const known of servers) {
      const { name } = known.source;
      const isFindable = ({ raw }: KnownTool) => !known.isDown && modes.of(known, raw.name).mode !== "manual";
      const tools = known.tools.filter(isFindable);
      const before = this.#indexed.get(name);
      if (before && before.length === tools.length && before.every((one, index) => one === tools[index])) continue;
      this.#indexed.set(name, tools);
      const documents = tools.map(({ key, tool: { id, definition } }) => {
        const { name: own, title, description, inputSchema: schema } = definition;
        return { id, key, server: name, name: own, ...defined({ title }), description, schema };
      });
      this.#index.setServer(name, documents);
    }
    const names = new Set(servers.map(({ source }) => source.name));
    for (const name of this.#indexed.keys()) {
      if (names.has(name)) continue;
      this.#indexed.delete(name);
      this.#index.dropServer(name);
    }
  }

  async search({ query, server, limit, isTrial, isFree }: SearchRequest, signal: AbortSignal): Promise<SearchAnswer> {
    const offering = this.#offering;
    const servers = offering.book.active
      .filter(({ source }) => source.origin !== "builtin")
      .map(({ source }) => source.name);
    const isLike = (name: string) => name.toLowerCase() === server?.toLowerCase();
    const meant = servers.find((name) => name === server) ?? servers.find(isLike);
    if (server !== undefined && meant === undefined) return { kind: "no_server", servers };
    const count = Math.min(Math.max(1, limit ?? LIMITS.toolSearchResults.usual), LIMITS.toolSearchResults.most);
    const ranked = await this.#rank(query, { limit: count, ...defined({ server: meant, isFree }) }, signal);
    if (!isTrial) for (const { known, score } of ranked) offering.pick(known, { how: "found", query, score });
    const { how } = offering.list;
    const tools = ranked.map(({ known: { tool }, score }) => ({ tool, score, isOffered: how.has(tool.id) }));
    return { kind: "found", tools };
  }

  /**
   * The tools a prompt chooses from those behind search. The first one takes the best there are; later ones only what they
   * clearly need, since every tool is paid for with every model call.
   */
  async choose({ behind }: Plan, prompt: string, signal: AbortSignal): Promise<Choice> {
    const { limits, list, prompt: before } = this.#offering;
    const isFirst = before === undefined;
    const { tools, tokens } = isFirst ? TOOL_LIMITS.headStart : TOOL_LIMITS.laterChoice;
    const most = isFirst ? limits.headStart : Math.min(limits.headStart, tools);
    const places = Math.min(most, limits.maxAlwaysTools - list.entries.length);
    if (places <= 0 || behind.size === 0) return { chosen: [], leastScore: 0 };
    const limit = places + list.entries.length; // tools that are offered already are found too
    const ranked = await this.#rank(prompt, { limit }, signal);
    this.#dense = this.#latest;
    // An exact name scores above 1 and must not push out what fits by its words.
    const clearScore = isFirst ? 0 : CLEAR_SHARE * Math.min(1, ranked[0]?.score ?? 0);
    const isClear = ({ score, words = 0 }: Ranked) => isFirst || (score >= clearScore && words >= CLEAR_WORDS);
    const isFree = ({ known: { tool } }: Ranked) => behind.has(tool.id) && !list.how.has(tool.id);
    const chosen = chooseHeadStart(
      ranked.filter((one) => isFree(one) && isClear(one)),
      places,
      tokens,
    );
    return { chosen, leastScore: Math.max(clearScore, chosen.at(-1)?.score ?? 0) };
  }

  /** The rank of a tool for a query, whether it was among the results or not. */
  explain(query: string, id: ToolId, limit: number): Explanation {
    const dense = this.#dense?.query === query ? this.#dense.scores : undefined;
    return this.#index.explain(query, id, { limit, ...defined({ dense, usage: this.#options.usage?.scores(query) }) });
  }

  async #rank(query: string, { limit, server, isFree = false }: RankOptions, signal: AbortSignal) {
    const offering = this.#offering;
    const { usage, dense } = this.#options;
    this.sync();
    const tools = [...this.#indexed.values()].flat().map(({ tool }) => tool);
    const close = isFree ? undefined : await dense?.(query, tools, signal).catch(() => undefined);
    this.#latest = { query, scores: close };
    const scores = { usage: usage?.scores(query), dense: close };
    const own = await this.#found(query, { limit, ...defined({ server, isFree }) }, tools, signal);
    const hits = own ?? this.#index.search(query, { limit, ...defined({ server, ...scores }) });
    return hits.flatMap(({ id, score, matches }): Ranked[] => {
      const known = offering.find(id); // a tool that went away meanwhile is not found
      const isUsable = known && offering.whySetAside(known) === undefined && offering.whyHeld(known) === undefined;
      const isNamed = own !== undefined || matches.some(({ field }) => field === "exact name");
      const words = matches.filter(({ field, score: part }) => field !== "meaning" || part >= CLEAR_MEANING).length;
      return isUsable ? [{ known, score, words: isNamed ? Number.MAX_SAFE_INTEGER : words }] : [];
    });
  }

  /** By the program's own search; undefined without one, and when it fails, which is reported once. */
  async #found(
    query: string,
    { limit, server, isFree }: RankOptions,
    tools: readonly CatalogTool[],
    signal: AbortSignal,
  ): Promise<readonly { id: ToolId; score: number; matches: readonly [] }[] | undefined> {
    const { find, onNotice } = this.#options;
    if (!find || isFree === true) return undefined;
    const searched = server === undefined ? tools : tools.filter(({ source }) => source === server);
    try {
      const found = await find({ query, limit, tools: searched }, signal);
      const scores = new Map(found.slice(0, limit).map(({ id, score }) => [id, score]));
      const known = searched.filter(({ id }) => typeof scores.get(id) === "number");
      const hits = known.map(({ id }) => ({ id, score: scores.get(id) ?? 0, matches: [] as const }));
      return hits.toSorted((one, other) => other.score - one.score);
    } catch (error) {
      if (!this.#isFailureTold) onNotice?.("warning", `the search of the program failed: ${messageOf(error)}`);
      this.#isFailureTold = true;
      return undefined;
    }
  }
}

/**
 * When a later prompt clearly needs a tool: at least two words of it and half the score of the best. On the public sets that
 * keeps 54 to 92 of 100 needed tools (the best five: 69 to 92), and adds next to nothing for prompts such as "try again".
 */
const CLEAR_WORDS = 2;
const CLEAR_SHARE = 0.5;
/** A tool this close to the closest one by meaning counts as if it had one word more; others are close to any prompt. */
const CLEAR_MEANING = 0.8 * DENSE_SHARE;

const FIRST_FACTOR = 4;

/** The best tools that fit into a small budget. One server gets at most half of the places while others have something that fits. */
export function chooseHeadStart(
  ranked: readonly Ranked[],
  places: number,
  maxTokens: number = TOOL_LIMITS.headStart.tokens,
): readonly Ranked[] {
  const share = Math.max(1, Math.ceil(places / 2));
  const perServer = new Map<string, number>();
  const chosen = new Set<Ranked>();
  let tokens = maxTokens;
  const waiting = ranked.filter(({ known: { source } }) => {
    perServer.set(source.name, (perServer.get(source.name) ?? 0) + 1);
    return (perServer.get(source.name) ?? 0) > share;
  });
  for (const one of [...ranked.filter((other) => !waiting.includes(other)), ...waiting]) {
    const cost = tokensOf(one.known.tool);
    // The best one may cost more: a head start without it is none.
    const allowed = chosen.size === 0 ? tokens * FIRST_FACTOR : tokens;
    if (chosen.size >= places || cost > allowed) continue;
    tokens -= cost;
    chosen.add(one);
  }
  return ranked.filter((one) => chosen.has(one));
}

/** About four characters a token, for English and JSON. */
export function tokensOf({ id, definition }: CatalogTool): number {
  const { title = "", description, inputSchema } = definition;
  return Math.ceil((id.length + title.length + description.length + JSON.stringify(inputSchema).length) / 4);
}
