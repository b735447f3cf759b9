// The limits of one server: how many of its calls run at once and begin in a minute, and the line of those that wait.
import { abortListeners } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import type { Timer, World } from "../../base/ports/world.js";
import { POOL_LIMITS } from "../limits.js";
import type { CallOutcome } from "../protocol/call.js";
import { inSeconds } from "../protocol/link.js";
import type { CallLimits } from "./options.js";

const MINUTE_MS = 60_000;

export interface GatedCall {
  readonly signal: AbortSignal;
  readonly server: string;
  readonly tool: string;
  /** Which of the sessions that use the server makes it; absent where it has one. */
  readonly sharingSession?: object | undefined;
}

interface Waiter {
  readonly sharingSession: object | undefined;
  readonly timer: Timer;
  /** Without an outcome the call is let in. */
  readonly settle: (outcome?: CallOutcome) => void;
}

/** Calls that run, and when those of the last minute began: of the server, or of one of several sessions that use it. */
class Use {
  running = 0;
  readonly #world: World;
  /** Oldest first; of those that are a minute old some are left. */
  readonly #starts: number[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  start(perMinute: number): void {
    this.running += 1;
    if (perMinute === Number.POSITIVE_INFINITY) return;
    this.#starts.push(this.#world.monotonicMs());
    if (this.#starts.length % FORGET_EVERY === 0) this.#forget();
  }

  /** Until one more call may start: 0 for now, infinite when one that runs has to end first. */
  waitMs(atOnce: number, perMinute: number): number {
    return this.running >= atOnce ? Number.POSITIVE_INFINITY : this.rateWaitMs(perMinute);
  }

  /** Until one more call keeps to the calls per minute: 0 when it may go now. */
  rateWaitMs(perMinute: number): number {
    if (perMinute < 1) return MINUTE_MS;
    const at = this.#starts.length - Math.ceil(perMinute);
    const over = at < 0 ? undefined : this.#starts[at]; // a place before the first is looked up slowly
    return over === undefined ? 0 : Math.max(0, over + MINUTE_MS - this.#world.monotonicMs());
  }

  isOver(): boolean {
    const last = this.#starts.at(-1);
    return this.running === 0 && (last === undefined || last + MINUTE_MS <= this.#world.monotonicMs());
  }

  #forget(): void {
    const endedMs = this.#world.monotonicMs() - MINUTE_MS;
    const recent = this.#starts.findIndex((startedMs) => startedMs > endedMs);
    this.#starts.splice(0, recent);
  }
}

/** Starts between two looks for those that are a minute old: taking each out by itself would move all others. */
const FORGET_EVERY = 1_024;

export class CallGate {
  readonly #world: World;
  readonly #limits: CallLimits;
  /** First come, first served, among sessions that have as many running; a Set keeps the order and forgets anyone in one step. */
  readonly #line = new Set<Waiter>();
  readonly #all: Use;
  readonly #uses = new Map<object, Use>();
  #sharingSessions = 1;
  #timer: Timer | undefined;

  constructor(world: World, limits: CallLimits) {
    this.#world = world;
    this.#limits = limits;
    this.#all = new Use(world);
  }

  /** How many sessions use the server: while there are several, none may use up its limits alone. */
  setSharingSessions(count: number): void {
    this.#sharingSessions = count;
    if (this.#line.size > 0) this.#serve();
  }

  /** Undefined when the call may go at once, as nearly all do. Otherwise its turn, or the outcome of a call that gets none. */
  enter(call: GatedCall): Promise<CallOutcome | undefined> | undefined {
    if (call.signal.aborted) return Promise.resolve({ kind: "cancelled" });
    if (this.#line.size > 0 || !this.#mayStart(call.sharingSession)) return this.#wait(call);
    this.#start(call.sharingSession);
    return undefined;
  }

  /** Once for each call that was let in, when it has ended. */
  leave({ sharingSession }: GatedCall): void {
    if (sharingSession) this.#endUse(sharingSession);
    this.#all.running -= 1;
    if (this.#line.size > 0) this.#serve();
  }

  #wait(call: GatedCall): Promise<CallOutcome | undefined> {
    return new Promise((resolve) => {
      const listeners = abortListeners(call.signal);
      const onAbort = () => waiter.settle({ kind: "cancelled" });
      const onTimeout = () => waiter.settle({ kind: "failed", error: this.#refusal(call) });
      const waiter: Waiter = {
        sharingSession: call.sharingSession,
        timer: this.#world.after(this.#limits.limitWaitMs, onTimeout),
        settle: (outcome) => {
          if (!this.#line.delete(waiter)) return;
          waiter.timer.clear();
          listeners.delete(onAbort);
          if (this.#line.size === 0) {
            this.#timer?.clear();
            this.#timer = undefined;
          }
          resolve(outcome);
        },
      };
      listeners.add(onAbort);
      this.#line.add(waiter);
      this.#serve();
    });
  }

  /** Lets in the calls that may go, and sets a timer for the next time the rate allows one. */
  #serve(): void {
    for (let waiter = this.#next(); waiter; waiter = this.#next()) {
      this.#start(waiter.sharingSession);
      waiter.settle();
    }
    if (this.#line.size === 0 || this.#timer) return;
    const shares = Array.from(this.#line, ({ sharingSession }) => this.#shareWaitMs(sharingSession));
    const waitMs = this.#all.rateWaitMs(this.#limits.callsPerMinute) || Math.min(...shares);
    if (waitMs === 0 || waitMs === Number.POSITIVE_INFINITY) return; // the end of a call serves again
    this.#timer = this.#world.after(waitMs, () => {
      this.#timer = undefined;
      this.#serve();
    });
  }

  /** Of the calls that may go, the first one of the session with the fewest running. */
  #next(): Waiter | undefined {
    if (!this.#hasRoom()) return undefined;
    const [first] = this.#line;
    if (this.#sharingSessions < 2) return first;
    let chosen: Waiter | undefined;
    for (const waiter of this.#line) {
      if (!this.#mayStart(waiter.sharingSession)) continue;
      if (!chosen || this.#runningOf(waiter) < this.#runningOf(chosen)) chosen = waiter;
    }
    return chosen;
  }

  #hasRoom(): boolean {
    return this.#all.waitMs(this.#limits.callsAtOnce, this.#limits.callsPerMinute) === 0;
  }

  #mayStart(sharingSession: object | undefined): boolean {
    return this.#hasRoom() && (!sharingSession || this.#shareWaitMs(sharingSession) === 0);
  }

  #runningOf({ sharingSession }: Waiter): number {
    return (sharingSession && this.#uses.get(sharingSession)?.running) ?? 0;
  }

  #shareWaitMs(sharingSession: object | undefined): number {
    const use = sharingSession && this.#uses.get(sharingSession);
    if (!use || this.#sharingSessions < 2) return 0;
    return use.waitMs(shareOf(this.#limits.callsAtOnce), shareOf(this.#limits.callsPerMinute));
  }

  #endUse(sharingSession: object): void {
    const ended = this.#uses.get(sharingSession);
    if (ended) ended.running -= 1;
    for (const [id, use] of this.#uses) if (use.isOver()) this.#uses.delete(id);
  }

  #start(sharingSession: object | undefined): void {
    const { callsPerMinute } = this.#limits;
    this.#all.start(callsPerMinute);
    if (!sharingSession) return;
    const use = this.#uses.get(sharingSession) ?? new Use(this.#world);
    use.start(callsPerMinute);
    this.#uses.set(sharingSession, use);
  }

  #refusal({ server, tool, sharingSession }: GatedCall): TenonError {
    const { limitWaitMs } = this.#limits;
    const limit = this.#hasRoom() ? this.#shareReason(sharingSession) : this.#reason();
    const text = `${server} / ${tool}: not called, after waiting ${inSeconds(limitWaitMs)} for its turn: ${limit}`;
    return new TenonError("mcp.rate_limited", text);
  }

  #reason(): string {
    const { callsAtOnce, callsPerMinute } = this.#limits;
    const waitMs = this.#all.rateWaitMs(callsPerMinute);
    return waitMs > 0
      ? `it has had ${callsPerMinute} calls in the last minute, which is its limit; retry in ${inSeconds(waitMs)}`
      : `${this.#all.running} calls are running, and ${callsAtOnce} at once is its limit; retry when one has ended`;
  }

  #shareReason(sharingSession: object | undefined): string {
    const { callsAtOnce, callsPerMinute } = this.#limits;
    const waitMs = this.#shareWaitMs(sharingSession);
    return waitMs === Number.POSITIVE_INFINITY
      ? `other sessions use the server too, and one of them may have ${shareOf(callsAtOnce)} calls at once; retry when one has ended`
      : `other sessions use the server too, and one of them may have ${shareOf(callsPerMinute)} calls a minute; retry in ${inSeconds(waitMs)}`;
  }
}

/** At least one, and where there is more than one, never all. */
export function shareOf(limit: number): number {
  if (limit <= 1 || limit === Number.POSITIVE_INFINITY) return limit;
  return Math.min(limit - 1, Math.ceil(limit * POOL_LIMITS.sessionShare));
}
