// The wire trace in a file: one line of JSON for every message of ACP, MCP and the model, in order, without secrets.
import { AsyncLocalStorage } from "node:async_hooks";
import { closeSync, mkdirSync, openSync, write, writeSync } from "node:fs";
import { dirname } from "node:path";
import { StringDecoder } from "node:string_decoder";
import type * as Otel from "@opentelemetry/api";
import { messageOf, TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { hashJson, isJsonObject, type JsonValue, parseJson } from "../base/json/json.js";
import type {
  OpenSpan,
  SpanAttributes,
  SpanStart,
  Telemetry,
  TraceContext,
  WireEntry,
  WireTrace,
} from "../base/ports/trace.js";
import type { Fetch } from "../base/ports/world.js";
import { isPlainHeader } from "../base/text/secrets.js";
import { VERSION } from "../base/version.js";
import { WORLD_LIMITS } from "./limits.js";
import { Redactor } from "./trace-redact.js";

interface TraceOptions {
  readonly path: string;
  /** Secrets among its variables are hidden from the start. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Counts up when a reader of the old form would misread the new one. */
const FORMAT = 1;

export class FileTrace implements WireTrace, AsyncDisposable {
  readonly #options: TraceOptions;
  readonly #redactor = new Redactor();
  readonly #file: TraceFile;
  readonly #sessions = new AsyncLocalStorage<string>();
  #seq = 0;
  #connections = 0;
  #questions = 0;
  #exchanges = 0;

  /** Throws `usage.invalid` when the file cannot be written. */
  constructor(options: TraceOptions) {
    this.#options = options;
    this.#file = new TraceFile(options.path, (lost) => this.#ownLine({ kind: "gap", lost }));
    this.#redactor.hideEnvironment(options.env);
    this.#file.add(this.#ownLine({ kind: "start", format: FORMAT, tenon: VERSION }));
  }

  record(entry: WireEntry): void {
    const { channel, dir, session, server, connection, message } = entry;
    try {
      const { value, cut } = this.#redactor.clean(message);
      this.#file.add(
        JSON.stringify({
          ...this.#head(),
          channel,
          dir,
          session,
          server,
          connection,
          cut: cut === 0 ? undefined : cut,
          message: channel === "model" ? withHash(value) : value,
        }),
      );
    } catch {
      this.#file.add(this.#ownLine({ kind: "unwritten", channel, dir }));
    }
  }

  hide(values: Iterable<string>): void {
    this.#redactor.hide(values);
  }

  /** Of one of several clients. */
  hideEnvironment(env: TraceOptions["env"]): void {
    this.#redactor.hideEnvironment(env);
  }

  nextConnection(): number {
    this.#connections += 1;
    return this.#connections;
  }

  nextQuestion(): number {
    this.#questions += 1;
    return this.#questions;
  }

  modelFetch(fetch: Fetch): Fetch {
    return recordedFetch(fetch, () => {
      this.#exchanges += 1;
      const exchange = this.#exchanges;
      const session = this.#sessions.getStore();
      const place = { channel: "model", ...defined({ session }) } as const;
      return (dir, { kind, ...message }) => this.record({ ...place, dir, message: { kind, exchange, ...message } });
    });
  }

  within<T>(session: string, run: () => T): T {
    return this.#sessions.run(session, run);
  }

  /** Resolves once what was recorded so far is in the file. */
  flush(): Promise<void> {
    return this.#file.flush();
  }

  /** At once, for the exit of the process. */
  end(): void {
    this.#file.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  #head(): { readonly t: number; readonly seq: number } {
    this.#seq += 1;
    return { t: this.#options.now(), seq: this.#seq };
  }

  #ownLine(message: JsonValue): string {
    return JSON.stringify({ ...this.#head(), channel: "trace", message });
  }
}

/** Of the body as it stands in the trace: a replay has no secrets to put back. */
function withHash(message: JsonValue): JsonValue {
  if (!isJsonObject(message) || message["kind"] !== "request") return message;
  return { ...message, hash: hashJson(message["body"] ?? null) };
}

// Lines to a file without waiting for the disk: written in the background, the rest at once when the process exits.

export class TraceFile {
  readonly #file: number;
  readonly #onGap: (lost: number) => string;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  /** Appends, and makes the file private to the user. `onGap` words the line that stands for lines that were left out. */
  constructor(path: string, onGap: (lost: number) => string) {
    this.#onGap = onGap;
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      this.#file = openSync(path, "a", 0o600);
    } catch (thrown) {
      throw new TenonError("usage.invalid", `the trace cannot be written to ${path}: ${messageOf(thrown)}`, {
        cause: thrown,
      });
    }
  }

  /** The newline is added. */
  add(line: string): void {
    if (this.#isClosed) return;
    if (this.#waitingBytes > WORLD_LIMITS.trace.backlogBytes) {
      this.#lost += 1;
      return;
    }
    if (this.#lost > 0) this.#push(this.#onGap(this.#lost));
    this.#lost = 0;
    this.#push(line);
    this.#writing ??= this.#drain().catch(() => undefined); // a hole in the trace
  }

  /** Resolves once everything added so far is written. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.flush();
    this.end();
  }

  /** Everything at once, for the exit of the process. What is on its way to the disk already is not written again. */
  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#lost > 0) this.#push(this.#onGap(this.#lost));
    try {
      writeSync(this.#file, this.#take());
      if (!this.#writing) closeSync(this.#file);
    } catch {
      // A full disk: there is nowhere left to say so.
    }
  }

  #push(line: string): void {
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
  }

  #take(): string {
    const text = this.#waiting.length === 0 ? "" : `${this.#waiting.join("\n")}\n`;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return text;
  }

  /** On a turn of its own, so that lines that come together are written together. */
  async #drain(): Promise<void> {
    await new Promise(setImmediate);
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const bytes = Buffer.from(this.#take());
      for (let done = 0; done < bytes.length; ) {
        const written = await this.#write(bytes, done);
        if (written === 0) break;
        done += written;
      }
    }
    this.#writing = undefined;
  }

  /** 0 when it cannot be written: the trace has a hole then, and the work it records goes on. */
  #write(bytes: Buffer, from: number): Promise<number> {
    return new Promise((resolve) => {
      write(this.#file, bytes, from, bytes.length - from, null, (error, written) => resolve(error ? 0 : written));
    });
  }
}

// Traffic with a model over HTTP as messages: the request with its hash, the head of the answer, its events, its end.

type PlainHeaders = Readonly<Record<string, string>>;

type ModelMessage =
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
function recordedFetch(fetch: Fetch, begin: () => RecordMessage): Fetch {
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

type Api = typeof Otel;

/** Where work stands. SDKs need not bring a context manager, so this is kept beside the API's own context. */
interface ActiveTrace {
  readonly context: TraceContext | undefined;
  readonly span?: OpenSpan;
  readonly otel?: Otel.Context;
}

const storage = new AsyncLocalStorage<ActiveTrace>();

export const openTelemetry: Telemetry = {
  get isActive() {
    return isRegistered() || storage.getStore() !== undefined;
  },
  get current() {
    return storage.getStore()?.span;
  },
  get context() {
    return storage.getStore()?.context;
  },
  start: async (span) => {
    if (!isRegistered()) return undefined;
    try {
      return openSpan(await import("@opentelemetry/api"), span);
    } catch {
      return undefined; // whatever an SDK does wrong must not cost the person's work
    }
  },
  adopt: (context, run) => storage.run({ context }, run),
};

/**
 * Where every copy of the API finds what is registered, whichever was registered with. Asked here, because loading the
 * API takes tens of milliseconds that programs without an SDK should not pay.
 */
const REGISTRY: symbol = Symbol.for("opentelemetry.js.api.1");

const GLOBALS: { readonly [name: symbol]: unknown } = globalThis;

function isRegistered(): boolean {
  const registered = GLOBALS[REGISTRY]; // every call asks, and `Reflect.get` takes five times as long
  return typeof registered === "object" && registered !== null && "trace" in registered;
}

function openSpan(api: Api, { name, kind, attributes }: SpanStart): OpenSpan {
  const outer = storage.getStore();
  const parent = parentOf(api, outer);
  const span = api.trace.getTracer("tenon", VERSION).startSpan(
    name,
    {
      kind: kind === "client" ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
      attributes: toAttributes(attributes),
    },
    parent,
  );
  const otel = api.trace.setSpan(parent, span);
  const operation = attributes["gen_ai.operation.name"];
  let hasFailed = false;
  const opened: OpenSpan = {
    operation: typeof operation === "string" ? operation : undefined,
    set: (more) => {
      span.setAttributes(toAttributes(more));
    },
    fail: (type, message) => {
      if (hasFailed) return;
      hasFailed = true;
      span.setAttribute("error.type", type);
      span.setStatus({ code: api.SpanStatusCode.ERROR, ...defined({ message }) });
    },
    run: (step) => storage.run(place, () => api.context.with(otel, step)),
    end: () => span.end(),
  };
  const place: ActiveTrace = { context: contextOf(api, span) ?? outer?.context, span: opened, otel };
  return opened;
}

/** The client's word comes first, then a span of the program around us, then one of our own. */
function parentOf(api: Api, outer: ActiveTrace | undefined): Otel.Context {
  const active = api.context.active();
  if (outer?.context && !outer.otel) return api.trace.setSpanContext(active, remoteSpan(api, outer.context));
  return api.trace.getSpan(active) ? active : (outer?.otel ?? active);
}

function remoteSpan(api: Api, { traceparent, tracestate }: TraceContext): Otel.SpanContext {
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...defined({ traceState: tracestate === undefined ? undefined : api.createTraceState(tracestate) }),
  };
}

function contextOf(api: Api, span: Otel.Span): TraceContext | undefined {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  if (!api.isValidTraceId(traceId) || !api.isValidSpanId(spanId)) return undefined;
  const tracestate = traceState?.serialize() ?? "";
  const traceparent = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
  return { traceparent, ...defined({ tracestate: tracestate === "" ? undefined : tracestate }) };
}

function toAttributes(given: SpanAttributes): Otel.Attributes {
  const attributes: Otel.Attributes = {};
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) attributes[name] = isList(value) ? [...value] : value;
  }
  return attributes;
}

function isList(value: NonNullable<SpanAttributes[string]>): value is readonly string[] {
  return Array.isArray(value);
}
