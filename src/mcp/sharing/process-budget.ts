// Holds the server processes of all sessions within a number and an amount of memory: a start over it waits for a place.
import { TenonError } from "../../base/errors.js";
import type { Timer, World } from "../../base/ports/world.js";
import type { ProcessQueue, ProcessSlot } from "../connection/options.js";
import { POOL_LIMITS } from "../limits.js";

export interface BudgetLimits {
  /** Server processes of all sessions together, and of one. */
  readonly maxProcesses: number;
  readonly maxSessionProcesses: number;
  /** Resident memory of all of them, above which no further one is started. */
  readonly maxMemoryBytes: number;
}

export interface Admission {
  readonly server: string;
  /** Who wants it started: of the others it is told only how much they use. */
  readonly session: string | undefined;
  readonly limits: BudgetLimits;
  /** Whether the process is one of this session's, perhaps among others'. */
  isOf(session: string): boolean;
}

interface Slot {
  readonly admission: Admission;
  /** When its last process was started. */
  sinceMs: number;
  pid: number | undefined;
}

interface Waiter {
  readonly admission: Admission;
  readonly grant: (slot: ProcessSlot) => void;
}

interface Used {
  readonly name: string | undefined;
  readonly bytes: number | undefined;
}

const MB = 1_048_576;
const NOTHING: ReadonlyMap<number, number> = new Map();

export function budgetLimits(world: World, given: Partial<BudgetLimits> = {}): BudgetLimits {
  const { maxProcesses, maxSessionProcesses, memoryShare } = POOL_LIMITS;
  const maxMemoryBytes = Math.floor(world.processes.memoryBytes * memoryShare);
  return { maxProcesses, maxSessionProcesses, maxMemoryBytes, ...given };
}

export class ProcessBudget {
  readonly #world: World;
  readonly #slots = new Set<Slot>();
  /** In the order in which they asked. */
  readonly #queue = new Set<Waiter>();
  #check: Timer | undefined;
  #measured: { readonly atMs: number; readonly bytes: ReadonlyMap<number, number> | undefined } | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  /** What runs already is never ended for one that wants to start: that one waits until others have ended. */
  admit(admission: Admission, { signal, onQueued }: ProcessQueue): ProcessSlot | Promise<ProcessSlot> {
    this.#serve();
    const cause = this.#refusal(admission);
    if (!cause) return this.#take(admission);
    onQueued(cause);
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener("abort", onAbort);
        this.#queue.delete(waiter);
      };
      const onAbort = () => {
        leave();
        this.#watch();
        reject(signal.reason);
      };
      const waiter: Waiter = {
        admission,
        grant: (slot) => {
          leave();
          resolve(slot);
        },
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      this.#queue.add(waiter);
      this.#watch();
    });
  }

  #take(admission: Admission): ProcessSlot {
    const slot: Slot = { admission, sinceMs: this.#world.monotonicMs(), pid: undefined };
    this.#slots.add(slot);
    return {
      started: (id) => {
        slot.pid = id;
        slot.sinceMs = this.#world.monotonicMs();
      },
      [Symbol.dispose]: () => {
        if (this.#slots.delete(slot)) this.#serve();
      },
    };
  }

  /** Gives places to those who wait. One that has to wait on holds up none behind it: it may be over another limit. */
  #serve(): void {
    for (const waiter of this.#queue) {
      if (!this.#refusal(waiter.admission)) waiter.grant(this.#take(waiter.admission));
    }
    this.#watch();
  }

  #watch(): void {
    this.#check?.clear();
    this.#check = undefined;
    if (this.#queue.size > 0) this.#check = this.#world.after(POOL_LIMITS.queueCheckMs, () => this.#serve());
  }

  #refusal({ server, session, limits }: Admission): TenonError | undefined {
    const { maxProcesses, maxSessionProcesses, maxMemoryBytes } = limits;
    const own = [...this.#slots].filter((slot) => session !== undefined && slot.admission.isOf(session));
    if (own.length >= maxSessionProcesses) {
      const hint = "It starts when another one ends: switch servers of this session off (/mcp disable).";
      return refusal(server, `this session has ${own.length} server processes, which is the most it may have`, hint);
    }
    if (this.#slots.size >= maxProcesses) {
      const words = `${this.#slots.size} server processes run, which is the limit (serverLimits.maxProcesses)`;
      return refusal(server, `${words}: ${this.#uses(session, undefined)}`, raise("maxProcesses"));
    }
    if (this.#slots.size === 0) return undefined;
    // Servers that start together are taken for what they are about to need: what they use by now says less.
    if (this.#areAllNew() && this.#total(NOTHING) < maxMemoryBytes) return undefined;
    const bytes = this.#measure();
    if (!bytes) return undefined; // not shown by the system: only the number counts there
    const total = this.#total(bytes);
    if (total < maxMemoryBytes) return undefined;
    const words = `the server processes use ${inMb(total)} MB of memory, and ${inMb(maxMemoryBytes)} MB is the limit (serverLimits.maxMemoryMb)`;
    return refusal(server, `${words}: ${this.#uses(session, bytes)}`, raise("maxMemoryMb"));
  }

  #total(measured: ReadonlyMap<number, number>): number {
    return [...this.#slots].reduce((sum, slot) => sum + this.#bytesOf(slot, measured), 0);
  }

  #areAllNew(): boolean {
    const sinceMs = this.#world.monotonicMs() - POOL_LIMITS.measuredForMs;
    return [...this.#slots].every((slot) => slot.sinceMs > sinceMs);
  }

  #measure(): ReadonlyMap<number, number> | undefined {
    const nowMs = this.#world.monotonicMs();
    if (!this.#measured || nowMs - this.#measured.atMs >= POOL_LIMITS.measuredForMs) {
      const pids = [...this.#slots].flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
      this.#measured = { atMs: nowMs, bytes: this.#world.processes.memoryOf(pids) };
    }
    return this.#measured.bytes;
  }

  /** One that has just begun is taken for what it is about to need. */
  #bytesOf({ pid, sinceMs }: Slot, measured: ReadonlyMap<number, number>): number {
    const bytes = pid === undefined ? 0 : (measured.get(pid) ?? 0);
    const isYoung = this.#world.monotonicMs() - sinceMs < POOL_LIMITS.young.forMs;
    return isYoung ? Math.max(bytes, POOL_LIMITS.young.bytes) : bytes;
  }

  /** The session's own by name, the largest first; those of others as one sum. */
  #uses(session: string | undefined, measured: ReadonlyMap<number, number> | undefined): string {
    const uses = [...this.#slots].map((slot): Used => {
      const isOwn = session !== undefined && slot.admission.isOf(session);
      return { name: isOwn ? slot.admission.server : undefined, bytes: measured && this.#bytesOf(slot, measured) };
    });
    const own = uses
      .filter(({ name }) => name !== undefined)
      .sort((one, other) => (other.bytes ?? 0) - (one.bytes ?? 0));
    const named = own.slice(0, POOL_LIMITS.namedInRefusal);
    const rest = own.slice(POOL_LIMITS.namedInRefusal);
    const others = uses.filter(({ name }) => name === undefined);
    return [
      ...named.map(({ name, bytes }) => `${JSON.stringify(name)}${amount(bytes)}`),
      ...(rest.length > 0 ? [`${rest.length} more of this session${amount(sum(rest))}`] : []),
      ...(others.length > 0 ? [`${others.length} of other sessions${amount(sum(others))}`] : []),
    ].join(", ");
  }
}

function raise(limit: "maxProcesses" | "maxMemoryMb"): string {
  return `Close sessions or switch servers off (/mcp disable), or raise serverLimits.${limit} in the user configuration: then it starts.`;
}

function refusal(server: string, words: string, hint: string): TenonError {
  return new TenonError("mcp.over_budget", `the server ${JSON.stringify(server)} waits for a place: ${words}`, {
    hint,
  });
}

function sum(uses: readonly Used[]): number | undefined {
  if (uses.some(({ bytes }) => bytes === undefined)) return undefined;
  return uses.reduce((total, { bytes = 0 }) => total + bytes, 0);
}

function amount(bytes: number | undefined): string {
  return bytes === undefined ? "" : ` (${inMb(bytes)} MB)`;
}

function inMb(bytes: number): number {
  return Math.round(bytes / MB);
}
