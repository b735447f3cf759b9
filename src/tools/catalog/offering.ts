// What the model of a session has in front of it: a list that only grows, what joins it next, and what is kept out of it and why.
import type { SourcedTool, ToolId } from "../tool.js";
import type { Ranked } from "./head-start.js";
import type { IncludeModes } from "./include-modes.js";
import type { KnownTool, KnownTools } from "./known-tools.js";
import type { Notices } from "./notices.js";
import type { Offer } from "./offer.js";
import { makeOffer, OfferedList, type OfferedTool } from "./offered-list.js";
import { type BudgetCause, type CatalogLimits, type Plan, planOffer } from "./plan.js";
import type { SourceBook } from "./source-book.js";
import type { Pick } from "./state.js";

export interface OfferingOptions {
  readonly book: SourceBook;
  readonly modes: IncludeModes;
  /** Tenon's own tools about tools: they come with the first tool behind search, and stay. */
  readonly meta: KnownTools;
  readonly notices: Notices;
  readonly limits: CatalogLimits;
  /** Why a tool may not be offered until somebody approves of it. */
  isHeld(tool: SourcedTool): string | undefined;
}

export class Offering {
  readonly #options: OfferingOptions;
  readonly #added = new Set<ToolId>();
  readonly #setAside = new Map<ToolId, { readonly definitionHash: string; readonly reason: string }>();
  readonly #picks = new Map<ToolId, Pick>();
  /** Servers behind search for want of room: room that comes later is for others, so that nothing hops about. */
  readonly #refused = new Map<string, BudgetCause>();
  #limits: CatalogLimits;
  #list = OfferedList.EMPTY;
  #table: ReadonlyMap<string, KnownTool> = new Map();
  #plan: Plan | undefined;
  #offer: Offer | undefined;
  #firstPrompt: string | undefined;

  constructor(options: OfferingOptions) {
    this.#options = options;
    this.#limits = options.limits;
  }

  get limits(): CatalogLimits {
    return this.#limits;
  }

  /** What was offered so far. */
  get list(): OfferedList {
    return this.#list;
  }

  /** The tools behind search that came to be used, and how. */
  get picks(): ReadonlyMap<ToolId, Pick> {
    return this.#picks;
  }

  /** The prompt the head start was chosen by. */
  get firstPrompt(): string | undefined {
    return this.#firstPrompt;
  }

  setLimits(limits: CatalogLimits): void {
    this.#limits = limits;
    this.replan();
  }

  /** Something changed that decides what joins. */
  replan(): void {
    this.#plan = undefined;
  }

  /** Takes the sources as they are now. */
  refresh(): void {
    const { book } = this.#options;
    if (!book.refresh()) return;
    const table = new Map<string, KnownTool>();
    for (const { tools } of book.active) {
      for (const known of tools) if (!table.has(known.tool.id)) table.set(known.tool.id, known);
    }
    this.#table = table;
    this.replan();
    this.#offer = undefined;
  }

  /** As of the last refresh. */
  find(id: string): KnownTool | undefined {
    return this.#table.get(id);
  }

  /** For one model call. */
  offer(): Offer {
    this.commit();
    this.#offer ??= this.#makeOffer(this.#list);
    return this.#offer;
  }

  /** What the next model call would be offered. */
  peek(): Offer {
    return this.#makeOffer(this.next(this.plan()));
  }

  /** The list as the next model call would find it. */
  next(plan: Plan): OfferedList {
    return this.#list.append(this.#joining(plan));
  }

  plan(): Plan {
    this.refresh();
    if (this.#plan && !this.#plan.hasHeld) return this.#plan;
    const { book, modes } = this.#options;
    this.#plan = planOffer({
      active: book.active,
      modes,
      limits: this.#limits,
      offered: this.#list.how,
      added: this.#added,
      refused: this.#refused,
      isFrozen: this.#firstPrompt !== undefined,
      isSetAside: (known) => this.whySetAside(known) !== undefined,
      isHeld: (known) => this.whyHeld(known) !== undefined,
    });
    return this.#plan;
  }

  /** What the plan says joins now; whoever has to hear of it does. */
  commit(): Plan {
    const { book, notices } = this.#options;
    const plan = this.plan();
    this.#append(this.#joining(plan));
    if (this.#firstPrompt !== undefined)
      for (const [server, { cause }] of plan.overBudget) this.#refused.set(server, cause);
    notices.processes(book, this.#limits);
    notices.overBudget(plan.overBudget, this.#limits);
    return plan;
  }

  /** The first prompt has chosen: from now on no room is kept for its choice. */
  begin(prompt: string, chosen: readonly Ranked[]): void {
    this.#firstPrompt = prompt;
    this.commit();
    for (const { known, score } of chosen) this.#picks.set(known.tool.id, { how: "head_start", query: prompt, score });
    this.#append(chosen.map(({ known }) => ({ known, how: "head_start" })));
    this.replan();
  }

  /** By the person: it joins whatever its mode and the limits. */
  add(id: ToolId): void {
    this.#added.add(id);
    this.replan();
  }

  /** What there was no room for may have some now. */
  reconsider(server: string): void {
    this.#refused.delete(server);
    this.replan();
  }

  /** A tool behind search came to be used: from now on it can be called. */
  pick(known: KnownTool, pick: Pick): void {
    const { id } = known.tool;
    if (this.#list.how.has(id)) return;
    if (!this.#picks.has(id)) this.#picks.set(id, pick);
    this.#setList(this.#list.show([known]));
  }

  /** Takes a tool away for good as long as its definition stays the same. */
  quarantine(id: ToolId, reason: string): void {
    const known = this.#table.get(id);
    if (!known) return;
    this.#setAside.set(id, { definitionHash: known.tool.definitionHash, reason });
    this.#setList(this.#list.without(id));
    this.replan();
  }

  whySetAside({ tool }: KnownTool): string | undefined {
    const setAside = this.#setAside.get(tool.id);
    return setAside && setAside.definitionHash === tool.definitionHash ? setAside.reason : undefined;
  }

  whyHeld({ tool, raw }: KnownTool): string | undefined {
    return this.#options.isHeld({ tool, raw });
  }

  #append(joining: readonly OfferedTool[]): void {
    this.#setList(this.#list.append(joining));
  }

  #setList(list: OfferedList): void {
    if (list === this.#list) return;
    this.#list = list;
    this.#offer = undefined;
  }

  #joining(plan: Plan): readonly OfferedTool[] {
    const meta = plan.behind.size > 0 ? this.#options.meta.tools : [];
    return [...meta.map((known): OfferedTool => ({ known, how: "always" })), ...plan.append];
  }

  #makeOffer(list: OfferedList): Offer {
    const table = this.#table;
    const meta = new Map<string, KnownTool>(this.#options.meta.tools.map((known) => [known.tool.id, known]));
    return makeOffer({
      list,
      current: (name) => table.get(name) ?? (list.seen.has(name) ? meta.get(name) : undefined),
      whySetAside: (known) => this.whySetAside(known),
      whyHeld: (known) => this.whyHeld(known),
    });
  }
}
