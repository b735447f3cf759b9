// Spans through the OpenTelemetry API for whichever SDK is registered; without one not even the API is loaded.

import { AsyncLocalStorage } from "node:async_hooks";
import type * as Otel from "@opentelemetry/api";
import { defined } from "../base/json/defined.js";
import type { OpenSpan, SpanAttributes, SpanStart, Telemetry, TraceContext } from "../base/ports/trace.js";
import { VERSION } from "../base/version.js";

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

function isRegistered(): boolean {
  const registered: unknown = Reflect.get(globalThis, REGISTRY);
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
