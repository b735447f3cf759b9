// The model of a recording: the same question gets the answer of then, another one is a difference.

import { type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import type { Fetch } from "../../base/ports/world.js";
import type { Comparison } from "./comparison.js";
import { ReplayedExchange } from "./exchange.js";
import { modelSaid } from "./expectation.js";

export class ReplayedModel {
  readonly #comparison: Comparison;
  readonly #exchanges = new Map<JsonValue, ReplayedExchange>();
  #isOver = false;

  constructor(comparison: Comparison) {
    this.#comparison = comparison;
  }

  readonly fetch: Fetch = async (input, init) => {
    const url = typeof input === "object" && "url" in input ? input.url : String(input);
    const { method = "GET", body } = init ?? {};
    const parsed = typeof body === "string" ? parseJson(body) : undefined;
    const said = modelSaid({ method, url, body: parsed?.ok ? parsed.value : null });
    // A list of models that was not asked for then is not there now; a question to the model must have been the same.
    const isQuestion = method !== "GET";
    const meeting = this.#comparison.expectations.meet("model", said);
    if (meeting.kind === "unexpected" && !isQuestion) return new Response(null, { status: 404 });
    const expected = this.#comparison.take(meeting, said, "a request to the model");
    const exchange = new ReplayedExchange();
    if (this.#isOver || !expected) exchange.hear({ kind: "failed", error: "it is not in the recording" });
    const number = expected?.entry.message["exchange"];
    if (number !== undefined) this.#exchanges.set(number, exchange);
    return await exchange.response;
  };

  say(message: JsonObject): void {
    const { exchange } = message;
    if (exchange !== undefined) this.#exchanges.get(exchange)?.hear(message);
  }

  /** Whoever still waits is told that there is no more. */
  end(): void {
    this.#isOver = true;
    for (const exchange of this.#exchanges.values()) exchange.hear({ kind: "failed", error: "the recording is over" });
  }
}
