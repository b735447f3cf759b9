// Holds the calls of one server within its limits: so many at once, so many a minute, the others in line for a while.
import { TenonError } from "../../base/errors.js";
import type { Timer, World } from "../../base/world.js";
import type { CallLimits } from "../options.js";
import type { CallOutcome } from "./call.js";
import { inSeconds } from "./outcome-error.js";

const MINUTE_MS = 60_000;

export interface GatedCall {
  readonly signal: AbortSignal;
  readonly server: string;
  readonly tool: string;
}

type Admission = "go" | "cancelled" | TenonError;

interface Waiter {
  readonly timer: Timer;
  readonly settle: (admission: Admission) => void;
}

export class CallGate {
  readonly #world: World;
  readonly #limits: CallLimits;
  /** First come, first served; a Set keeps the order and forgets anyone in one step. */
  readonly #line = new Set<Waiter>();
  /** When the last calls began: as many as a minute may have, in a ring of which `#oldest` is the start. */
  readonly #starts: number[] = [];
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
  }

  /** The call's own outcome, or why it was not made. Rejects only if `call` does. */
  run(request: GatedCall, call: () => Promise<CallOutcome>): Promise<CallOutcome> {
    if (request.signal.aborted) return Promise.resolve({ kind: "cancelled" });
    if (this.#line.size > 0 || !this.#mayStart()) return this.#runInTurn(request, call);
    // Nearly all calls go at once, and one layer of async less is worth a microsecond to each.
    this.#start();
    return call().then(this.#onAnswered, this.#onThrown);
  }

  async #runInTurn(request: GatedCall, call: () => Promise<CallOutcome>): Promise<CallOutcome> {
    const admission = await this.#turnOf(request);
    if (admission === "cancelled") return { kind: "cancelled" };
    if (admission !== "go") return { kind: "failed", error: admission };
    return await call().then(this.#onAnswered, this.#onThrown);
  }

  #end(): void {
    this.#running -= 1;
    if (this.#line.size > 0) this.#serve();
  }

  #turnOf(request: GatedCall): Promise<Admission> {
    return new Promise((resolve) => {
      const onAbort = () => waiter.settle("cancelled");
      const waiter: Waiter = {
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
    for (const waiter of this.#line) {
      if (!this.#mayStart()) break;
      this.#start();
      waiter.settle("go");
    }
    const waitMs = this.#rateWaitMs();
    if (this.#line.size === 0 || waitMs === 0 || this.#timer) return; // otherwise the end of a call serves again
    this.#timer = this.#world.after(waitMs, () => {
      this.#timer = undefined;
      this.#serve();
    });
  }

  #mayStart(): boolean {
    return this.#running < this.#limits.callsAtOnce && this.#rateWaitMs() === 0;
  }

  #start(): void {
    const nowMs = this.#world.monotonicMs();
    this.#running += 1;
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

  #refusal({ server, tool }: GatedCall): TenonError {
    const { callsAtOnce, callsPerMinute, limitWaitMs } = this.#limits;
    const rateWaitMs = this.#rateWaitMs();
    const limit =
      rateWaitMs > 0
        ? `it has had ${callsPerMinute} calls in the last minute, which is its limit; retry in ${inSeconds(rateWaitMs)}`
        : `${this.#running} calls are running, and ${callsAtOnce} at once is its limit; retry when one has ended`;
    const text = `${server} / ${tool}: not called, after waiting ${inSeconds(limitWaitMs)} for its turn: ${limit}`;
    return new TenonError("mcp.rate_limited", text);
  }
}
