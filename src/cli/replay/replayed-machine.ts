// The machine of a recording: what was asked of it then is answered as it was then.

import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { HostQuestion } from "../../base/ports/trace.js";
import { type Expectations, hostSaid } from "./expectation.js";
import type { SessionNames } from "./names.js";

export class ReplayedMachine {
  readonly #expectations: Expectations;
  readonly #names: SessionNames;
  readonly #answers = new Map<JsonValue, JsonValue>();
  readonly #asking = new Map<JsonValue, (answer: JsonValue | undefined) => void>();
  #isOver = false;

  constructor(expectations: Expectations, names: SessionNames) {
    this.#expectations = expectations;
    this.#names = names;
  }

  /** Undefined for what was not asked then. */
  async ask(question: HostQuestion): Promise<JsonValue | undefined> {
    const said = this.#names.toRecorded(hostSaid({ ...question }));
    const meeting = this.#expectations.meet("host", said);
    const expected = meeting.kind === "met" ? meeting.expected : this.#expectations.again("host", said);
    const number = expected?.entry.message["question"];
    if (number === undefined) return undefined;
    const known = this.#answers.get(number);
    if (known !== undefined || this.#isOver) return known;
    return await new Promise((resolve) => this.#asking.set(number, resolve));
  }

  say({ question, answer = null }: JsonObject): void {
    if (question === undefined) return;
    this.#answers.set(question, answer);
    this.#asking.get(question)?.(answer);
    this.#asking.delete(question);
  }

  /** Whoever still waits is told that there is no more. */
  end(): void {
    this.#isOver = true;
    for (const answer of this.#asking.values()) answer(undefined);
  }
}
