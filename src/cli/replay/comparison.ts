// Holds what is sent now against what was sent then: the first difference counts, and nothing goes on before its time.
import type { JsonValue } from "../../base/json/json.js";
import { Expectations, type Expected, type Meeting } from "./expectation.js";
import type { Entry } from "./recording.js";

export interface Difference {
  /** Which line of the recording says otherwise; absent when none does. */
  readonly seq?: number;
  /** In words. */
  readonly where: string;
  /** Inside the message, as a JSON pointer. */
  readonly path?: string;
  readonly recorded?: JsonValue | undefined;
  readonly now?: JsonValue | undefined;
}

export class Comparison {
  readonly expectations: Expectations;
  readonly #stalled: (signal: AbortSignal) => Promise<void>;
  #difference: Difference | undefined;
  #changed: () => void = () => {};

  /** `stalled` resolves once nothing more can be waited for. */
  constructor(entries: readonly Entry[], stalled: (signal: AbortSignal) => Promise<void>) {
    this.expectations = new Expectations(entries);
    this.#stalled = stalled;
  }

  /** The first there was. */
  get difference(): Difference | undefined {
    return this.#difference;
  }

  /** What was expected, or undefined and a difference. */
  meet(lane: string, said: JsonValue, name: string): Expected | undefined {
    return this.take(this.expectations.meet(lane, said), said, name);
  }

  /** The same for what has been looked up already. */
  take(meeting: Meeting, said: JsonValue, name: string): Expected | undefined {
    this.#changed();
    if (meeting.kind === "met") return meeting.expected;
    const { nearest, at } = meeting;
    if (nearest) this.differ({ seq: nearest.entry.seq, where: nearest.name, ...at });
    else this.differ({ where: `${name}, which the recording does not have`, now: said });
    return undefined;
  }

  differ(difference: Difference): void {
    this.#difference ??= difference;
    this.#changed();
  }

  /** Until all that was sent before this line is sent again. */
  async until(seq: number): Promise<void> {
    const stall = new AbortController();
    let isStalled = false;
    const stalled = this.#stalled(stall.signal).then(() => {
      isStalled = true;
    });
    for (;;) {
      const missing = this.expectations.missingBefore(seq);
      if (!missing || this.#difference) break;
      if (isStalled) {
        const { entry, name, said } = missing;
        this.differ({ seq: entry.seq, where: `${name}: it was not sent this time`, recorded: said });
        break;
      }
      const changed = new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
      if (this.expectations.missingBefore(seq)) await Promise.race([changed, stalled]);
    }
    stall.abort();
    await stalled.catch(() => {});
  }
}
