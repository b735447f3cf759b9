// Holds the calls of one server within its limits: so many at once, so many a minute, the others in line for a while.
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
  readonly sharingSession?: object;
}

interface Waiter {
  readonly sharingSession: object | undefined;
  readonly timer: Timer;
  /** Without an outcome the call is let in. */
  readonly settle: (outcome?: CallOutcome) => void;
}

/** What one of several sessions uses of the limits. */
interface Use {
  running: number;
  /** When its calls of the last minute began, oldest first. */
  starts: number[];
}

export class CallGate {
  readonly #world: World;
  readonly #limits: CallLimits;
  /** First come, first served, among sessions that have as many running; a Set keeps the order and forgets anyone in one step. */
  readonly #line = new Set<Waiter>();
  /** When the last calls began: as many as a minute may have, in a ring of which `#oldest` is the start. */
  readonly #starts: number[] = [];
  readonly #uses = new Map<object, Use>();
  #sharingSessions = 1;
  #oldest = 0;
  #running = 0;
  #timer: Timer | undefined;

  constructor(world: World, limits: CallLimits) {
    this.#world = world;
    this.#limits = limits;
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
    this.#running -= 1;
    if (this.#line.size > 0) this.#serve();
  }

  #wait(call: GatedCall): Promise<CallOutcome | undefined> {
    return new Promise((resolve) => {
      const onAbort = () => waiter.settle({ kind: "cancelled" });
      const onTimeout = () => waiter.settle({ kind: "failed", error: this.#refusal(call) });
      const waiter: Waiter = {
        sharingSession: call.sharingSession,
        timer: this.#world.after(this.#limits.limitWaitMs, onTimeout),
        settle: (outcome) => {
          if (!this.#line.delete(waiter)) return;
          waiter.timer.clear();
          call.signal.removeEventListener("abort", onAbort);
          if (this.#line.size === 0) this.#clearTimer();
          resolve(outcome);
        },
      };
      call.signal.addEventListener("abort", onAbort, { once: true });
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
    const waitMs = this.#rateWaitMs() || Math.min(...shares);
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
    return this.#running < this.#limits.callsAtOnce && this.#rateWaitMs() === 0;
  }

  #mayStart(sharingSession: object | undefined): boolean {
    return this.#hasRoom() && (!sharingSession || this.#shareWaitMs(sharingSession) === 0);
  }

  #runningOf({ sharingSession }: Waiter): number {
    return (sharingSession && this.#uses.get(sharingSession)?.running) ?? 0;
  }

  /** Until the session's share allows one more call: 0 for now, infinite when one of its own calls has to end first. */
  #shareWaitMs(sharingSession: object | undefined): number {
    const use = sharingSession && this.#uses.get(sharingSession);
    if (!use || this.#sharingSessions < 2) return 0;
    if (use.running >= shareOf(this.#limits.callsAtOnce)) return Number.POSITIVE_INFINITY;
    const nowMs = this.#world.monotonicMs();
    const starts = recent(use.starts, nowMs);
    const over = starts[starts.length - shareOf(this.#limits.callsPerMinute)];
    return over === undefined ? 0 : Math.max(0, over + MINUTE_MS - nowMs);
  }

  #endUse(sharingSession: object): void {
    const nowMs = this.#world.monotonicMs();
    const use = this.#uses.get(sharingSession);
    if (use) use.running -= 1;
    for (const [id, { running, starts }] of this.#uses) {
      if (running === 0 && recent(starts, nowMs).length === 0) this.#uses.delete(id);
    }
  }

  #start(sharingSession: object | undefined): void {
    const nowMs = this.#world.monotonicMs();
    this.#running += 1;
    if (sharingSession) {
      const use = this.#uses.get(sharingSession) ?? { running: 0, starts: [] };
      use.running += 1;
      use.starts = [...recent(use.starts, nowMs), nowMs];
      this.#uses.set(sharingSession, use);
    }
    if (this.#limits.callsPerMinute === Number.POSITIVE_INFINITY) return;
    if (this.#starts.length < this.#limits.callsPerMinute) this.#starts.push(nowMs);
    else {
      this.#starts[this.#oldest] = nowMs;
      this.#oldest = (this.#oldest + 1) % this.#starts.length;
    }
  }

  #clearTimer(): void {
    this.#timer?.clear();
    this.#timer = undefined;
  }

  /** How long until one more call keeps to the calls per minute: 0 when it may go now. */
  #rateWaitMs(): number {
    if (this.#limits.callsPerMinute < 1) return MINUTE_MS;
    const oldestMs = this.#starts[this.#oldest];
    if (oldestMs === undefined || this.#starts.length < this.#limits.callsPerMinute) return 0;
    return Math.max(0, oldestMs + MINUTE_MS - this.#world.monotonicMs());
  }

  #refusal({ server, tool, sharingSession }: GatedCall): TenonError {
    const { limitWaitMs } = this.#limits;
    const limit = this.#hasRoom() ? this.#shareReason(sharingSession) : this.#reason();
    const text = `${server} / ${tool}: not called, after waiting ${inSeconds(limitWaitMs)} for its turn: ${limit}`;
    return new TenonError("mcp.rate_limited", text);
  }

  #reason(): string {
    const { callsAtOnce, callsPerMinute } = this.#limits;
    const waitMs = this.#rateWaitMs();
    return waitMs > 0
      ? `it has had ${callsPerMinute} calls in the last minute, which is its limit; retry in ${inSeconds(waitMs)}`
      : `${this.#running} calls are running, and ${callsAtOnce} at once is its limit; retry when one has ended`;
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

function recent(starts: readonly number[], nowMs: number): number[] {
  return starts.filter((startMs) => startMs + MINUTE_MS > nowMs);
}
