// A call of a `held` tool in the test's hands: it sees the arguments and decides when and how the call ends.
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { type Answer, textAnswer } from "./replies.js";

export interface CallProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

interface CallWire {
  readonly signal: AbortSignal;
  reply(answer: Answer): void;
  progress(progress: CallProgress): void;
  done(): void;
}

export class HeldCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly #wire: CallWire;

  constructor(name: string, args: JsonObject, wire: CallWire) {
    this.name = name;
    this.arguments = args;
    this.#wire = wire;
  }

  /** Aborts when the client cancels the call. Replying after that is possible: it is how a late reply is made. */
  get cancelled(): AbortSignal {
    return this.#wire.signal;
  }

  /** Resolves when the client has cancelled. */
  async untilCancelled(): Promise<void> {
    if (this.cancelled.aborted) return;
    await new Promise<void>((resolve) => this.cancelled.addEventListener("abort", () => resolve(), { once: true }));
  }

  /** Sent only when the client asked for progress. */
  progress(progress: CallProgress): void {
    this.#wire.progress(progress);
  }

  /** A text, or content blocks as they go over the wire. May be called again: a duplicate reply. */
  respondWith(content: string | readonly JsonValue[]): void {
    this.#end(typeof content === "string" ? textAnswer(content) : { result: { content } });
  }

  /** The whole `result`, verbatim. */
  respondWithResult(result: JsonValue): void {
    this.#end({ result });
  }

  /** The tool failed: a result with `isError`. */
  respondWithError(text: string): void {
    this.#end({ result: { content: [{ type: "text", text }], isError: true } });
  }

  /** The request failed: a JSON-RPC error. */
  respondWithProtocolError(code: number, message: string): void {
    this.#end({ error: { code, message } });
  }

  #end(answer: Answer): void {
    this.#wire.reply(answer);
    this.#wire.done();
  }
}
