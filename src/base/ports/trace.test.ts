// The trace context of a client, and a span around work.
import { expect, test } from "vitest";
import { TenonError } from "../errors.js";
import type { JsonValue } from "../json/json.js";
import { errorType, inSpan, type OpenSpan, readTraceContext, recorded, type Telemetry } from "./trace.js";
import type { Fetch } from "./world.js";

const PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

test.each([
  [{ traceparent: PARENT }, { traceparent: PARENT }],
  [
    { traceparent: PARENT, tracestate: "a=1" },
    { traceparent: PARENT, tracestate: "a=1" },
  ],
  [{ traceparent: PARENT, tracestate: "" }, { traceparent: PARENT }],
  [{ traceparent: PARENT, tracestate: "x".repeat(513) }, { traceparent: PARENT }],
  [{ traceparent: `${PARENT}-more`, tracestate: 7 }, { traceparent: `${PARENT}-more` }],
])("%j is a trace context", (meta, expected) => {
  expect(readTraceContext(meta)).toEqual(expected);
});

test.each([
  undefined,
  null,
  {},
  { traceparent: 1 },
  { traceparent: "" },
  { traceparent: PARENT.toUpperCase() },
  { traceparent: PARENT.replace("00-4", "ff-4") },
  { traceparent: `00-${"0".repeat(32)}-00f067aa0ba902b7-01` },
  { traceparent: `00-4bf92f3577b34da6a3ce929d0e0e4736-${"0".repeat(16)}-01` },
])("%j is none", (meta) => {
  expect(readTraceContext(meta)).toBeUndefined();
});

function heard(isActive = true): { telemetry: Telemetry; words: string[] } {
  const words: string[] = [];
  const span: OpenSpan = {
    operation: undefined,
    set: (attributes) => words.push(`set ${Object.keys(attributes).join()}`),
    fail: (type) => words.push(`fail ${type}`),
    run: (step) => step(),
    end: () => words.push("end"),
  };
  const start = async ({ name }: { name: string }) => {
    words.push(`start ${name}`);
    return span;
  };
  const telemetry = {
    isActive,
    current: undefined,
    context: undefined,
    start,
    adopt: <T>(_c: unknown, run: () => T) => run(),
  };
  return { telemetry, words };
}

const START = { name: "x", kind: "internal", attributes: {} } as const;

test("a span ends with its work, as an error when the work throws, and the error is passed on", async () => {
  const { telemetry, words } = heard();
  expect(await inSpan(telemetry, START, async (span) => (span.set({ a: 1 }), 5))).toBe(5);
  const failing = inSpan(telemetry, START, () => Promise.reject(new TenonError("model.quota", "no")));
  await expect(failing).rejects.toThrow("no");
  expect(words).toEqual(["start x", "set a", "end", "start x", "fail model.quota", "end"]);
});

test("where nobody listens the work is done all the same, without a span", async () => {
  const { telemetry, words } = heard(false);
  for (const one of [telemetry, undefined]) {
    expect(await inSpan(one, START, async (span) => (span.set({ a: 1 }), span.fail("x"), 7))).toBe(7);
  }
  expect(words).toEqual([]);
});

test("the type of an error is its code, else its name, else the word the convention has for others", () => {
  expect(errorType(new TenonError("mcp.protocol", "x"))).toBe("mcp.protocol");
  expect(errorType(new TypeError("x"))).toBe("TypeError");
  expect(errorType("x")).toBe("_OTHER");
});

test("what the machine says is recorded where somebody watches, and not done again in a replay", async () => {
  const entries: object[] = [];
  const trace = {
    record: (entry: object) => entries.push(entry),
    hide: () => undefined,
    nextConnection: () => 1,
    nextQuestion: () => 5,
    modelFetch: (fetch: Fetch) => fetch,
    within: <T>(_session: string, run: () => T) => run(),
  };
  let done = 0;
  const question = {
    ask: "count",
    about: { of: "things" },
    work: async () => ++done,
    read: (said: JsonValue) => (typeof said === "number" ? said : undefined),
  };
  expect(await recorded({}, question)).toBe(1);
  expect(await recorded({ trace }, question)).toBe(2);
  expect(entries).toEqual([
    { channel: "host", dir: "out", message: { question: 5, ask: "count", about: { of: "things" } } },
    { channel: "host", dir: "in", message: { question: 5, answer: 2 } },
  ]);
  const replay = (said: JsonValue | undefined) => ({
    connect: () => ({ send: () => undefined, close: () => undefined }),
    ask: async () => said,
  });
  expect(await recorded({ replay: replay(40) }, question)).toBe(40);
  await expect(recorded({ replay: replay("forty") }, question)).rejects.toThrow("does not say");
  await expect(recorded({ replay: replay(undefined) }, question)).rejects.toThrow("does not say");
  expect(done).toBe(2);
});
