// Which tools join the offered list now, and which stay behind search and why. Pure.
import type { ToolId } from "../tool.js";
import type { IncludeModes } from "./include-modes.js";
import type { KnownTool, KnownTools } from "./known-tools.js";

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
export function planOffer(input: PlanInput): Plan {
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
