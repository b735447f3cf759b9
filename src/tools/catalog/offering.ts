// What the model of a session has in front of it: a list that only grows, what joins it next, and what is kept out of it and why.
import type { SourcedTool, ToolId } from "../tool.js";
import type { Notices } from "./notices.js";
import { makeOffer, type Offer, OfferedList, type OfferedTool } from "./offer.js";
import type { IncludeModes, KnownTool, KnownTools, SourceBook } from "./sources.js";
import type { Ranked } from "./tool-search.js";
import type { Pick } from "./why.js";

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

// Which tools join the offered list now, and which stay behind search and why. Pure.
export interface CatalogLimits {
  /** Servers whose tools are offered as `always`. */
  readonly maxAlwaysServers: number;
  /** Tools offered as `always`; what the first prompt chose counts too. */
  readonly maxAlwaysTools: number;
  /** Processes of servers above which the person is told. */
  readonly warnProcesses: number;
  /** Tools the first prompt chooses from those behind search; 0 for none. */
  readonly headStart: number;
}

/** Room kept for Tenon's own tools about tools, once there is something behind search. */
const META_ROOM = 4;

/** What the session has too much of. */
export type BudgetCause = "servers" | "tools";

/** Why a tool is behind search: by its mode, or for want of room. */
export type BehindCause = "search" | BudgetCause;

export type OfferedHow = "always" | "manual" | "head_start";

export interface PlanInput {
  readonly active: readonly KnownTools[];
  readonly modes: IncludeModes;
  readonly limits: CatalogLimits;
  readonly offered: ReadonlyMap<ToolId, OfferedHow>;
  /** Added by the person. */
  readonly added: ReadonlySet<ToolId>;
  /** Servers that went behind search before, and stay there. */
  readonly refused: ReadonlyMap<string, BudgetCause>;
  /** Whether the first prompt has been: until then room for its choice is kept. */
  readonly isFrozen: boolean;
  isSetAside(known: KnownTool): boolean;
  isHeld(known: KnownTool): boolean;
}

export interface Plan {
  /** In the order they join. */
  readonly append: readonly { readonly known: KnownTool; readonly how: OfferedHow }[];
  readonly behind: ReadonlyMap<ToolId, BehindCause>;
  /** How many of each server are behind search for want of room, and of which. */
  readonly overBudget: ReadonlyMap<string, { readonly count: number; readonly cause: BudgetCause }>;
  /** Whether something waits for an approval: then the plan is worth making again. */
  readonly hasHeld: boolean;
}

interface Wish {
  readonly known: KnownTool;
  readonly how: OfferedHow;
  /** Joins whatever the limits say. */
  readonly isSure: boolean;
}

/** What one source brings. */
interface Share {
  readonly source: KnownTools;
  readonly wishes: readonly Wish[];
  /** How many of the wishes need room. */
  readonly wanted: number;
  /** Offered before as `always`. */
  readonly count: number;
  readonly hasHeld: boolean;
}

/**
 * A server's tools are offered together or go behind search together: half a server is of no use to anybody. Tools that
 * somebody named one by one, and those a person added, join over any limit.
 */
function planOffer(input: PlanInput): Plan {
  const behind = new Map<ToolId, BehindCause>();
  const overBudget = new Map<string, { readonly count: number; readonly cause: BudgetCause }>();
  const shares = input.active.map((source) => shareOf(source, input, behind));
  const room = new Room(shares, input);
  const append: Wish[] = [];
  for (const share of shares) {
    const { name } = share.source.source;
    const cause = share.wanted === 0 ? undefined : (input.refused.get(name) ?? room.refuse(share));
    append.push(...share.wishes.filter(({ isSure }) => isSure || cause === undefined));
    if (cause === undefined) continue;
    for (const { known, isSure } of share.wishes) if (!isSure) behind.set(known.tool.id, cause);
    overBudget.set(name, { count: share.wanted, cause });
  }
  return { append, behind, overBudget, hasHeld: shares.some((share) => share.hasHeld) };
}

function shareOf(source: KnownTools, input: PlanInput, behind: Map<ToolId, BehindCause>): Share {
  const wishes: Wish[] = [];
  let count = 0;
  let hasHeld = false;
  for (const known of source.tools) {
    const { id } = known.tool;
    const how = input.offered.get(id);
    if (how === "always") count += 1;
    if (how !== undefined || input.isSetAside(known)) continue;
    const isAdded = input.added.has(id);
    const { mode, by } = input.modes.of(source, known.raw.name);
    if (mode === "search" && !isAdded) behind.set(id, "search");
    if (mode !== "always" && !isAdded) continue;
    if (input.isHeld(known)) hasHeld = true;
    else {
      const isSure = isAdded || by === "tool" || known.tool.origin === "builtin";
      wishes.push({ known, how: isAdded ? "manual" : "always", isSure });
    }
  }
  return { source, wishes, wanted: wishes.filter(({ isSure }) => !isSure).length, count, hasHeld };
}

/** What is left of the limits while the sources are gone through, the strongest first. */
class Room {
  readonly #maxServers: number;
  #servers: number;
  #tools: number;

  constructor(shares: readonly Share[], { limits, offered, isFrozen }: PlanInput) {
    const count = (test: (share: Share) => boolean) =>
      shares.filter((share) => share.source.source.origin !== "builtin" && test(share)).length;
    const wishes = shares.reduce((sum, share) => sum + share.wishes.length, 0);
    const wanted = shares.reduce((sum, share) => sum + share.wanted, 0);
    const isOver =
      offered.size + wishes > limits.maxAlwaysTools ||
      count((share) => share.count + share.wanted > 0) > limits.maxAlwaysServers;
    const kept = isOver ? META_ROOM + (isFrozen ? 0 : limits.headStart) : 0;
    this.#tools = limits.maxAlwaysTools - offered.size - (wishes - wanted) - kept;
    this.#servers = count((share) => share.count > 0);
    this.#maxServers = limits.maxAlwaysServers;
  }

  /** Takes the room a share needs, or says what there is not enough of. */
  refuse({ wanted, count }: Share): BudgetCause | undefined {
    if (count === 0 && this.#servers >= this.#maxServers) return "servers";
    if (wanted > this.#tools) return "tools";
    this.#tools -= wanted;
    if (count === 0) this.#servers += 1;
    return undefined;
  }
}
