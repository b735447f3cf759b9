// What each of several sessions uses of one server's limits: while there are several, none may use them up alone.
import { POOL_LIMITS } from "../limits.js";
import type { CallLimits } from "../options.js";

const MINUTE_MS = 60_000;

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
