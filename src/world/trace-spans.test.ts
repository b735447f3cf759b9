// Spans with the real OpenTelemetry SDK: nested without a context manager, part of the client's trace, gone without an SDK.
import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterEach, describe, expect, test } from "vitest";
import { inSpan } from "../base/ports/trace.js";
import { openTelemetry } from "./trace.js";

const CLIENT = { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", tracestate: "a=1" };
const START = {
  name: "outer",
  kind: "internal",
  attributes: { "gen_ai.operation.name": "chat", left: undefined },
} as const;

function register(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  return exporter;
}

afterEach(() => trace.disable());

describe("with an SDK", () => {
  test("spans nest across awaits, carry their attributes and say what servers are told", async () => {
    const exporter = register();
    let told: unknown;
    await inSpan(openTelemetry, START, async (outer) => {
      await new Promise(setImmediate);
      expect(openTelemetry.current?.operation).toBe("chat");
      await inSpan(openTelemetry, { name: "inner", kind: "client", attributes: { list: ["a"] } }, async () => {
        await new Promise(setImmediate);
        told = openTelemetry.context;
      });
      outer.set({ later: 2 });
    });
    expect(openTelemetry.current).toBeUndefined();
    const [inner, outer] = exporter.getFinishedSpans();
    expect(outer).toMatchObject({ name: "outer", kind: 0, attributes: { "gen_ai.operation.name": "chat", later: 2 } });
    expect(outer?.attributes).not.toHaveProperty("left");
    expect(inner).toMatchObject({ name: "inner", kind: 2, attributes: { list: ["a"] } });
    const { traceId, spanId } = inner?.spanContext() ?? {};
    expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId);
    expect(told).toEqual({ traceparent: `00-${traceId}-${spanId}-01` });
    expect(inner?.instrumentationScope.name).toBe("tenon");
  });

  test("work side by side has its own place", async () => {
    register();
    const places = await Promise.all(
      ["a", "b"].map((name) =>
        inSpan(openTelemetry, { ...START, name }, async () => {
          await new Promise(setImmediate);
          return openTelemetry.context?.traceparent;
        }),
      ),
    );
    expect(new Set(places).size).toBe(2);
  });

  test("a turn belongs to the trace the client named", async () => {
    const exporter = register();
    await openTelemetry.adopt(CLIENT, () => inSpan(openTelemetry, START, async () => undefined));
    const [span] = exporter.getFinishedSpans();
    expect(span?.spanContext().traceId).toBe("4bf92f3577b34da6a3ce929d0e0e4736");
    expect(span?.spanContext().traceState?.serialize()).toBe("a=1");
    expect(span?.parentSpanContext).toMatchObject({ spanId: "00f067aa0ba902b7", isRemote: true });
  });

  test("an error is its type and the words of the first who knew it", async () => {
    const exporter = register();
    const work = inSpan(openTelemetry, START, async (span) => {
      span.fail("-32602", "bad arguments");
      throw new TypeError("later");
    });
    await expect(work).rejects.toThrow("later");
    const [span] = exporter.getFinishedSpans();
    expect(span?.attributes["error.type"]).toBe("-32602");
    expect(span?.status).toEqual({ code: 2, message: "bad arguments" });
  });
});

describe("without one", () => {
  test("nothing is active, and no span is begun", async () => {
    expect(openTelemetry.isActive).toBe(false);
    expect(await openTelemetry.start(START)).toBeUndefined();
  });

  test("what the client named is still passed on to servers", async () => {
    const told = openTelemetry.adopt(CLIENT, () =>
      inSpan(openTelemetry, START, async () => {
        await new Promise(setImmediate);
        return [openTelemetry.isActive, openTelemetry.context];
      }),
    );
    expect(await told).toEqual([true, CLIENT]);
  });
});
