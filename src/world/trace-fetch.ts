// Traffic with a model over HTTP as messages: the request with its hash, the head of the answer, its events, its end.
import { StringDecoder } from "node:string_decoder";
import { messageOf } from "../base/errors.js";
import { type JsonValue, parseJson } from "../base/json/json.js";
import type { Fetch } from "../base/ports/world.js";
import { isPlainHeader } from "../base/text/secrets.js";
import { WORLD_LIMITS } from "./limits.js";

type PlainHeaders = Readonly<Record<string, string>>;

export type ModelMessage =
  | {
      readonly kind: "request";
      readonly method: string;
      readonly url: string;
      readonly headers: PlainHeaders;
      readonly body: JsonValue;
    }
  | { readonly kind: "response"; readonly status: number; readonly headers: PlainHeaders }
  /** Whole events of a stream, as they came. */
  | { readonly kind: "events"; readonly text: string }
  /** An answer that was no stream. */
  | { readonly kind: "body"; readonly body: JsonValue }
  | { readonly kind: "end" }
  | { readonly kind: "failed"; readonly error: string };

/** Records one request and what comes of it. */
type RecordMessage = (dir: "in" | "out", message: ModelMessage) => void;

/** `begin` is called where the request is made: its answer may be read elsewhere. */
export function recordedFetch(fetch: Fetch, begin: () => RecordMessage): Fetch {
  return async (input, init) => {
    const record = begin();
    record("out", requestOf(input, init));
    try {
      const response = await fetch(input, init);
      // The others say nothing of the answer, and what is redacted is taken for a secret everywhere else too.
      const headers = Object.fromEntries([...response.headers].filter(([name]) => isPlainHeader(name)));
      record("in", { kind: "response", status: response.status, headers });
      return response.body ? withRecordedBody(response, response.body, record) : response;
    } catch (thrown) {
      record("in", { kind: "failed", error: messageOf(thrown) });
      throw thrown;
    }
  };
}

function requestOf(input: Parameters<Fetch>[0], init: RequestInit = {}): ModelMessage {
  const isRequest = typeof input === "object" && "url" in input;
  const method = init.method ?? (isRequest ? input.method : "GET");
  const headers = Object.fromEntries(new Headers(init.headers ?? (isRequest ? input.headers : {})));
  const { body } = init;
  const said = body === undefined || body === null ? null : typeof body === "string" ? jsonOr(body) : "[not text]";
  return { kind: "request", method, url: isRequest ? input.url : String(input), headers, body: said };
}

function jsonOr(text: string): JsonValue {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}

/** Read exactly as fast as the reader reads, and cancelled when it cancels. */
function withRecordedBody(response: Response, body: ReadableStream<Uint8Array>, record: RecordMessage): Response {
  const reader = body.getReader();
  const recordedBody = new RecordedBody(response.headers.get("content-type") ?? "", record);
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (done) {
            recordedBody.end();
            controller.close();
          } else {
            recordedBody.add(value);
            controller.enqueue(value);
          }
        } catch (thrown) {
          recordedBody.end(messageOf(thrown));
          throw thrown;
        }
      },
      cancel: async (reason) => {
        recordedBody.end("the reader left");
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  const recorded = new Response(stream, { status, statusText, headers });
  Object.defineProperty(recorded, "url", { value: response.url });
  return recorded;
}

/** A text is recorded by whole events: a secret in it must not come apart where the network cut it. */
class RecordedBody {
  readonly #isStream: boolean;
  readonly #record: RecordMessage;
  readonly #decoder = new StringDecoder("utf8");
  #text = "";
  #isOver = false;

  constructor(contentType: string, record: RecordMessage) {
    this.#isStream = /event-stream/iu.test(contentType);
    this.#record = record;
  }

  add(bytes: Uint8Array): void {
    // A line cannot hold more in any case; what follows in it is left out of the trace, never of the answer.
    if (this.#text.length <= WORLD_LIMITS.trace.lineChars) this.#text += this.#decoder.write(Buffer.from(bytes));
    const end = this.#isStream && !this.#isOver ? lastEventEnd(this.#text) : 0;
    if (end === 0) return;
    this.#record("in", { kind: "events", text: this.#text.slice(0, end) });
    this.#text = this.#text.slice(end);
  }

  /** `error`: why there is no more of it. */
  end(error?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const rest = this.#text + this.#decoder.end();
    this.#text = "";
    if (rest !== "")
      this.#record("in", this.#isStream ? { kind: "events", text: rest } : { kind: "body", body: jsonOr(rest) });
    this.#record("in", error === undefined ? { kind: "end" } : { kind: "failed", error });
  }
}

const EVENT_ENDS = ["\n\n", "\r\n\r\n", "\r\r"] as const;

/** Behind the last empty line, or 0. */
function lastEventEnd(text: string): number {
  const ends = EVENT_ENDS.map((end) => [text.lastIndexOf(end), end.length] as const);
  return Math.max(...ends.map(([at, length]) => (at < 0 ? 0 : at + length)));
}
