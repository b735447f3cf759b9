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

type Admission = "go" | "cancelled" | TenonError;

interface Waiter {
  readonly sharingSession: object | undefined;
  readonly timer: Timer;
  readonly settle: (admission: Admission) => void;
}

export class CallGate {
  readonly #world: World;
  readonly #limits: CallLimits;
  /** First come, first served, among sessions that have as many running; a Set keeps the order and forgets anyone in one step. */
  readonly #line = new Set<Waiter>();
  /** When the last calls began: as many as a minute may have, in a ring of which `#oldest` is the start. */
  readonly #starts: number[] = [];
  readonly #shares: SessionShares;
  #oldest = 0;
  #running = 0;
  #timer: Timer | undefined;
  readonly #onAnswered = (outcome: CallOutcome): CallOutcome => {
    this.#end();
    return outcome;
  };
  readonly #onThrown = (thrown: unknown): never => {
    this.#end();
    throw thrown;
  };

  constructor(world: World, limits: CallLimits) {
    this.#world = world;
    this.#limits = limits;
    this.#shares = new SessionShares(limits);
  }

  /** Of how many sessions the server is. */
  setSharingSessions(count: number): void {
    this.#shares.sharingSessions = count;
    if (this.#line.size > 0) this.#serve();
  }

  /** The call's own outcome, or why it was not made. Rejects only if `call` does. */
  run(request: GatedCall, call: () => Promise<CallOutcome>): Promise<CallOutcome> {
    if (request.signal.aborted) return Promise.resolve({ kind: "cancelled" });
    const { sharingSession } = request;
    if (this.#line.size > 0 || !this.#mayStart(sharingSession)) return this.#runInTurn(request, call);
    // Nearly all calls go at once, and one layer of async less is worth a microsecond to each.
    this.#start(sharingSession);
    return sharingSession ? this.#runFor(sharingSession, call) : call().then(this.#onAnswered, this.#onThrown);
  }

  async #runFor(sharingSession: object, call: () => Promise<CallOutcome>): Promise<CallOutcome> {
    try {
      return await call();
    } finally {
      this.#shares.end(sharingSession, this.#world.monotonicMs());
      this.#end();
    }
  }

  async #runInTurn(request: GatedCall, call: () => Promise<CallOutcome>): Promise<CallOutcome> {
    const admission = await this.#turnOf(request);
    if (admission === "cancelled") return { kind: "cancelled" };
    if (admission !== "go") return { kind: "failed", error: admission };
    const { sharingSession } = request;
    return await (sharingSession ? this.#runFor(sharingSession, call) : call().then(this.#onAnswered, this.#onThrown));
  }

  #end(): void {
    this.#running -= 1;
    if (this.#line.size > 0) this.#serve();
  }

  #turnOf(request: GatedCall): Promise<Admission> {
    return new Promise((resolve) => {
      const onAbort = () => waiter.settle("cancelled");
      const waiter: Waiter = {
        sharingSession: request.sharingSession,
        timer: this.#world.after(this.#limits.limitWaitMs, () => waiter.settle(this.#refusal(request))),
        settle: (admission) => {
          if (!this.#line.delete(waiter)) return;
          waiter.timer.clear();
          request.signal.removeEventListener("abort", onAbort);
          if (this.#line.size === 0) this.#clearTimer();
          resolve(admission);
        },
      };
      request.signal.addEventListener("abort", onAbort, { once: true });
      this.#line.add(waiter);
      this.#serve();
    });
  }

  /** Lets in whoever may go, and sets the clock for the next time the rate allows one. */
  #serve(): void {
    for (let waiter = this.#next(); waiter; waiter = this.#next()) {
      this.#start(waiter.sharingSession);
      waiter.settle("go");
    }
    if (this.#line.size === 0 || this.#timer) return;
    const waitMs = this.#rateWaitMs() || this.#shareWaitMs();
    if (waitMs === 0 || waitMs === Number.POSITIVE_INFINITY) return; // the end of a call serves again
    this.#timer = this.#world.after(waitMs, () => {
      this.#timer = undefined;
      this.#serve();
    });
  }

  /** Of those who may go, whoever's session has the fewest running; the first of them. */
  #next(): Waiter | undefined {
    if (!this.#hasRoom()) return undefined;
    const [first] = this.#line;
    if (this.#shares.sharingSessions < 2) return first;
    let chosen: Waiter | undefined;
    for (const waiter of this.#line) {
      if (!this.#mayStart(waiter.sharingSession)) continue;
      if (!chosen || this.#shares.runningOf(waiter.sharingSession) < this.#shares.runningOf(chosen.sharingSession))
        chosen = waiter;
    }
    return chosen;
  }

  #hasRoom(): boolean {
    return this.#running < this.#limits.callsAtOnce && this.#rateWaitMs() === 0;
  }

  #mayStart(sharingSession: object | undefined): boolean {
    return this.#hasRoom() && (!sharingSession || this.#shares.waitMs(sharingSession, this.#world.monotonicMs()) === 0);
  }

  /** Until the share of any of those in line has room. */
  #shareWaitMs(): number {
    const nowMs = this.#world.monotonicMs();
    return Math.min(...Array.from(this.#line, ({ sharingSession }) => this.#shares.waitMs(sharingSession, nowMs)));
  }

  #start(sharingSession: object | undefined): void {
    const nowMs = this.#world.monotonicMs();
    this.#running += 1;
    if (sharingSession) this.#shares.start(sharingSession, nowMs);
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
    const waitMs = this.#shares.waitMs(sharingSession, this.#world.monotonicMs());
    return waitMs === Number.POSITIVE_INFINITY
      ? `other sessions use the server too, and one of them may have ${shareOf(callsAtOnce)} calls at once; retry when one has ended`
      : `other sessions use the server too, and one of them may have ${shareOf(callsPerMinute)} calls a minute; retry in ${inSeconds(waitMs)}`;
  }
}

interface Use {
  running: number;
  /** When its calls of the last minute began, oldest first. */
  starts: number[];
}

export class SessionShares {
  readonly #limits: CallLimits;
  readonly #uses = new Map<object, Use>();
  /** Of how many sessions the server is. */
  sharingSessions = 1;

  constructor(limits: CallLimits) {
    this.#limits = limits;
  }

  start(sharingSession: object, nowMs: number): void {
    const use = this.#uses.get(sharingSession) ?? { running: 0, starts: [] };
    use.running += 1;
    use.starts = [...recent(use.starts, nowMs), nowMs];
    this.#uses.set(sharingSession, use);
  }

  end(sharingSession: object, nowMs: number): void {
    const use = this.#uses.get(sharingSession);
    if (use) use.running -= 1;
    for (const [id, { running, starts }] of this.#uses) {
      if (running === 0 && recent(starts, nowMs).length === 0) this.#uses.delete(id);
    }
  }

  runningOf(sharingSession: object | undefined): number {
    return (sharingSession && this.#uses.get(sharingSession)?.running) ?? 0;
  }

  /** How long until its share has room for one more: 0 for now, infinite when one of its own calls has to end first. */
  waitMs(sharingSession: object | undefined, nowMs: number): number {
    const use = sharingSession && this.#uses.get(sharingSession);
    if (!use || this.sharingSessions < 2) return 0;
    if (use.running >= shareOf(this.#limits.callsAtOnce)) return Number.POSITIVE_INFINITY;
    const starts = recent(use.starts, nowMs);
    const over = starts[starts.length - shareOf(this.#limits.callsPerMinute)];
    return over === undefined ? 0 : Math.max(0, over + MINUTE_MS - nowMs);
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
