// Two ports for observers: the messages on every transport, and spans. Absent unless one is configured.
import { defined } from "../json/defined.js";
import type { JsonObject, JsonValue } from "../json/json.js";
import type { Fetch, World } from "./world.js";

/** One message as it crossed a wire, before secrets are taken out of it. */
export interface WireEntry {
  /** `host` is what the machine was asked and what it said: see `recorded`. */
  readonly channel: "acp" | "mcp" | "model" | "host";
  /** Seen from Tenon. */
  readonly dir: "in" | "out";
  readonly session?: string;
  readonly server?: string;
  /** Which connection of the process it belongs to: the ids of requests begin anew with each. */
  readonly connection?: number;
  readonly message: object;
}

/** The wire trace. Nothing may fail or wait because it is recorded. */
export interface WireTrace {
  record(entry: WireEntry): void;
  /** From now on these values do not reach the trace, wherever they stand. Very short ones are no secrets. */
  hide(values: Iterable<string>): void;
  nextConnection(): number;
  /** Pairs a question to the machine with its answer. */
  nextQuestion(): number;
  /** The same `fetch`, recorded as traffic with a model. */
  modelFetch(fetch: Fetch): Fetch;
  /** Traffic with models that `run` brings about, also later, is that of the session. */
  within<T>(session: string, run: () => T): T;
}

/** The inputs of an earlier run, replayed in their order. */
export interface WireReplay {
  /** The next connection that was recorded to this server; `onEntry` is called with what came in over it. */
  connect(server: string, onEntry: (entry: JsonObject) => void): ReplayedConnection;
  /** Resolves with what the machine answered then; undefined when it was not asked this. */
  ask(question: HostQuestion): Promise<JsonValue | undefined>;
}

export interface ReplayedConnection {
  send(message: object): void;
  close(): void;
}

/** Something only this machine can say, or a thing only done here: what is in a file, what a command printed. */
export interface HostQuestion {
  readonly ask: string;
  readonly about: JsonValue;
}

export interface RecordedQuestion<T> extends HostQuestion {
  /** Asks the machine. */
  readonly work: () => Promise<T>;
  /** What was recorded as what it stands for; undefined when it is nothing of the kind. */
  readonly read: (recorded: JsonValue) => T | undefined;
}

/** Runs `work` and records its result. In a replay `work` does not run: the recorded result is returned. */
export async function recorded<T>(world: Pick<World, "trace" | "replay">, asked: RecordedQuestion<T>): Promise<T> {
  const { trace, replay } = world;
  const { ask, about, work, read } = asked;
  if (replay) {
    const recorded = await replay.ask({ ask, about });
    const answer = recorded === undefined ? undefined : read(recorded);
    if (answer === undefined) throw new Error(`the recording does not say what came of this: ${ask}`);
    return answer;
  }
  if (!trace) return await work();
  const question = trace.nextQuestion();
  trace.record({ channel: "host", dir: "out", message: { question, ask, about } });
  const answer = await work();
  trace.record({ channel: "host", dir: "in", message: { question, answer: answer ?? null } });
  return answer;
}

/** The fetch for requests to models; recorded where a trace is configured. */
export function modelFetch({ fetch, trace }: Pick<World, "fetch" | "trace">): Fetch {
  return trace ? trace.modelFetch(fetch) : fetch;
}

/** W3C Trace Context, as it is passed on in `_meta`. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface SpanStart {
  readonly name: string;
  readonly kind: "internal" | "client";
  readonly attributes: SpanAttributes;
}

export interface Span {
  set(attributes: SpanAttributes): void;
  /** Ends as an error. The first call counts: it is the one nearest to the fault. `type` is a class of errors. */
  fail(type: string, message?: string): void;
}

/** A span whose work is not one function: each step is run inside it, and it is ended once. */
export interface OpenSpan extends Span {
  /** Its `gen_ai.operation.name`: what is traced outside need not be traced again inside. */
  readonly operation: string | undefined;
  run<T>(step: () => T): T;
  end(): void;
}

/** Spans through a registered OpenTelemetry SDK. Nothing here ever throws by itself. */
export interface Telemetry {
  /** False: no SDK is registered and no context is to be passed on, so no other method need be called. */
  readonly isActive: boolean;
  /** The span the caller runs in. */
  readonly current: OpenSpan | undefined;
  /** The context sent to servers: of this span, or of the client's. */
  readonly context: TraceContext | undefined;
  /** Undefined when no SDK is registered. */
  start(span: SpanStart): Promise<OpenSpan | undefined>;
  /** What `run` brings about belongs to a trace of the client's. */
  adopt<T>(context: TraceContext, run: () => T): T;
}

/** Ends with the work: as an error when it throws. */
export async function inSpan<T>(
  telemetry: Telemetry | undefined,
  start: SpanStart,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = telemetry?.isActive ? await telemetry.start(start) : undefined;
  if (!span) return await work(NO_SPAN);
  try {
    return await span.run(() => work(span));
  } catch (thrown) {
    span.fail(errorType(thrown), thrown instanceof Error ? thrown.message : undefined);
    throw thrown;
  } finally {
    span.end();
  }
}

const NO_SPAN: Span = { set: () => undefined, fail: () => undefined };

/** One of few words, as dashboards want it: our own code where there is one. */
export function errorType(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "_OTHER";
  return "code" in thrown && typeof thrown.code === "string" ? thrown.code : thrown.name;
}

/** Version, trace, span and flags in hexadecimal; versions to come may add more. Zeros stand for nothing. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/u;
const TRACESTATE_MAX_CHARS = 512;

/** From the `_meta` of a message. What does not fit the standard is as good as absent: it is the client's mistake. */
export function readTraceContext(meta: JsonObject | null | undefined): TraceContext | undefined {
  const { traceparent, tracestate } = meta ?? {};
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return undefined;
  const hasState = typeof tracestate === "string" && tracestate !== "" && tracestate.length <= TRACESTATE_MAX_CHARS;
  return { traceparent, ...defined({ tracestate: hasState ? tracestate : undefined }) };
}
