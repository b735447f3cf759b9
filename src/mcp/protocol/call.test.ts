// One call, one outcome: whatever the server answers, and also when it does not.
import { expect, test } from "vitest";
import { FakeLink, type FakeLinkOptions } from "../../../test/fake-link.js";
import { TenonError } from "../../base/errors.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { fakeWorld } from "../../testing/index.js";
import { type CallProgress, type CallRequest, callTool } from "./call.js";

function setUp(answer: FakeLinkOptions["answer"], options: Partial<FakeLinkOptions> = {}) {
  const world = fakeWorld();
  const link = new FakeLink(world, { answer, ...options });
  const progress: CallProgress[] = [];
  const controller = new AbortController();
  const request = (over: Partial<CallRequest> = {}): CallRequest => ({
    world,
    server: "files",
    tool: "read",
    args: { path: "a" },
    timeoutMs: 1_000,
    maxTotalMs: 5_000,
    signal: controller.signal,
    onProgress: (note) => progress.push(note),
    ...over,
  });
  return { world, link, progress, controller, request };
}

function answers(result: JsonObject) {
  return () => ({ result });
}

function tool(outputSchema: JsonObject, inputSchema: JsonObject = { type: "object" }) {
  return { name: "read", description: "", inputSchema, outputSchema };
}

function nested(depth: number): JsonValue {
  return JSON.parse("[".repeat(depth) + "]".repeat(depth));
}

test("an answer brings its blocks, its error mark and its structured content", async () => {
  const content = [{ type: "text", text: "hello" }];
  const { link, request } = setUp(answers({ content, structuredContent: { a: 1 }, isError: true }));
  expect(await callTool(link, request())).toEqual({
    kind: "answered",
    isError: true,
    content: [{ type: "text", text: "hello" }],
    structured: { a: 1 },
  });
  expect(link.asked).toMatchObject([{ method: "tools/call", params: { name: "read", arguments: { path: "a" } } }]);
});

test.each([[0], [""], [false], [null], [[1, 2]], ["text"]])(
  "structured content may be any JSON: %j",
  async (structuredContent) => {
    const { link, request } = setUp(answers({ content: [], structuredContent }));
    expect(await callTool(link, request())).toMatchObject({ kind: "answered", structured: structuredContent });
  },
);

test("a block of an unknown kind is labelled and costs the others nothing", async () => {
  const { link, request } = setUp(
    answers({
      content: [
        { type: "hologram", z: 1 },
        { type: "text", text: "b" },
      ],
    }),
  );
  expect(await callTool(link, request())).toMatchObject({
    content: [
      { type: "unknown", kind: "hologram", raw: { type: "hologram", z: 1 } },
      { type: "text", text: "b" },
    ],
  });
});

test("an answer without content is an answer; what the first servers sent in its place is taken as structured", async () => {
  const none = setUp(answers({}));
  expect(await callTool(none.link, none.request())).toEqual({ kind: "answered", isError: false, content: [] });
  const old = setUp(answers({ toolResult: 7 }));
  expect(await callTool(old.link, old.request())).toMatchObject({ kind: "answered", structured: 7 });
});

test("a call always carries a progress token, and progress is passed on", async () => {
  const { link, progress, request } = setUp((ask) => {
    ask.progress(1, "one");
    return { result: { content: [] } };
  });
  await callTool(link, request());
  expect(link.asked[0]?.params).toMatchObject({ _meta: { progressToken: 1 } });
  expect(progress).toEqual([{ progress: 1, message: "one" }]);
});

test("a listener of progress that throws is logged and harms neither call nor wire", async () => {
  const { world, link, request } = setUp((ask) => {
    ask.progress(1);
    return { result: { content: [] } };
  });
  const outcome = await callTool(link, request({ onProgress: () => JSON.parse("{") }));
  expect(outcome.kind).toBe("answered");
  expect(world.logEntries.map(({ event }) => event)).toContain("mcp.progress_listener_failed");
});

test("silence ends at the deadline with an outcome that says it is unknown, and the server is told", async () => {
  const { world, link, request } = setUp(() => undefined);
  const outcome = callTool(link, request());
  await world.advance(1_000);
  expect(await outcome).toMatchObject({
    kind: "unknown",
    error: {
      code: "mcp.call_timeout",
      message: "files / read: no answer within 1 s; whether it took effect is unknown",
    },
  });
  expect(link.cancelled).toEqual([1]);
});

test("silence is told with what the server last wrote to its stderr", async () => {
  const { world, link, request } = setUp(() => undefined, { stderrTail: "waiting for the database" });
  const outcome = callTool(link, request());
  await world.advance(1_000);
  expect(await outcome).toMatchObject({
    kind: "unknown",
    error: {
      code: "mcp.call_timeout",
      message: expect.stringMatching(/unknown; its stderr ends: waiting for the database$/),
    },
  });
});

test("progress extends the deadline, up to the most a call may take", async () => {
  const { world, link, request } = setUp(() => undefined);
  let hasEnded = false;
  const outcome = callTool(link, request()).finally(() => {
    hasEnded = true;
  });
  for (let step = 0; step < 9; step++) {
    await world.advance(500);
    link.asked[0]?.progress(step);
  }
  await world.advance(499);
  expect(hasEnded).toBe(false);
  await world.advance(1);
  expect(await outcome).toMatchObject({
    kind: "unknown",
    error: {
      message: "files / read: still under way after 5 s, the most a call may take; whether it took effect is unknown",
    },
  });
});

test("a call that stops reporting progress says so", async () => {
  const { world, link, request } = setUp(() => undefined);
  const outcome = callTool(link, request());
  await world.advance(500);
  link.asked[0]?.progress(1);
  await world.advance(1_000);
  expect(await outcome).toMatchObject({
    kind: "unknown",
    error: { message: expect.stringContaining("no answer within 1.5 s, and no more progress") },
  });
});

test("cancelling ends it at once and tells the server; a call cancelled before it is made is not made", async () => {
  const { link, request, controller } = setUp(() => undefined);
  const outcome = callTool(link, request());
  controller.abort();
  expect(await outcome).toEqual({ kind: "cancelled" });
  expect(link.cancelled).toEqual([1]);
  expect(await callTool(link, request())).toEqual({ kind: "cancelled" });
  expect(link.asked).toHaveLength(1);
});

test("a protocol error is the server's own answer: the call failed, in its words, bounded", async () => {
  const { link, request } = setUp(() => ({ error: { code: -32602, message: `no such tool ${"x".repeat(9_000)}` } }));
  const outcome = await callTool(link, request());
  expect(outcome).toMatchObject({
    kind: "failed",
    error: {
      code: "mcp.call_failed",
      message: expect.stringContaining("files / read: the server answered with error -32602: no such tool x"),
    },
  });
  expect(outcome.kind === "failed" && outcome.error.message.length).toBeLessThan(3_000);
});

test("a connection lost after sending leaves the outcome unknown, before sending it is a failure", async () => {
  const error = new TenonError("mcp.connection_lost", "it exited with code 3", { hint: "look at it" });
  const sent = setUp(() => ({ lost: { error, wasSent: true } }));
  expect(await callTool(sent.link, sent.request())).toMatchObject({
    kind: "unknown",
    error: {
      code: "mcp.connection_lost",
      message: "files / read: it exited with code 3; whether it took effect is unknown",
      hint: "look at it",
    },
  });
  const unsent = setUp(() => ({ lost: { error, wasSent: false } }));
  expect(await callTool(unsent.link, unsent.request())).toMatchObject({
    kind: "failed",
    error: { code: "mcp.connection_lost", message: "files / read: it exited with code 3" },
  });
});

test.each(["mcp.unauthorized", "mcp.too_large"] as const)(
  "%s fails the call: it is known what happened",
  async (code) => {
    const { link, request } = setUp(() => ({ lost: { error: new TenonError(code, "no"), wasSent: true } }));
    expect(await callTool(link, request())).toMatchObject({ kind: "failed", error: { code } });
  },
);

test("the wire's end in mid-call leaves the outcome unknown", async () => {
  const { link, request } = setUp(() => undefined);
  const outcome = callTool(link, request());
  link.break();
  expect(await outcome).toMatchObject({ kind: "unknown", error: { code: "mcp.connection_lost" } });
});

test("output that does not fit its schema is used all the same, with a warning that is also logged", async () => {
  const { world, link, request } = setUp(answers({ content: [], structuredContent: { n: "x" } }));
  const definition = tool({ type: "object", properties: { n: { type: "number" } } });
  const warning = "the structured output does not fit its schema: /n must be of type number";
  expect(await callTool(link, request({ definition }))).toMatchObject({
    kind: "answered",
    structured: { n: "x" },
    warnings: [warning],
  });
  expect(world.logEntries).toMatchObject([{ level: "warn", event: "mcp.output_mismatch", server: "files", warning }]);
});

test("output that fits, and that of an error, is not warned about", async () => {
  const definition = tool({ type: "object", required: ["n"] });
  const fits = setUp(answers({ content: [], structuredContent: { n: 1 } }));
  expect(await callTool(fits.link, fits.request({ definition }))).not.toHaveProperty("warnings");
  const error = setUp(answers({ content: [], structuredContent: {}, isError: true }));
  expect(await callTool(error.link, error.request({ definition }))).not.toHaveProperty("warnings");
});

test("a dangling $ref loses nothing and is no warning", async () => {
  const { world, link, request } = setUp(answers({ content: [], structuredContent: { n: 1 } }));
  const outcome = await callTool(link, request({ definition: tool({ $ref: "#/$defs/nowhere" }) }));
  expect(outcome).toEqual({ kind: "answered", isError: false, content: [], structured: { n: 1 } });
  expect(world.logEntries).toMatchObject([{ level: "debug", event: "mcp.output_unchecked" }]);
});

test("structured content nested beyond what can be written again is left out, and that is said", async () => {
  const { link, request } = setUp(
    answers({ content: [{ type: "text", text: "t" }], structuredContent: nested(100_000) }),
  );
  expect(await callTool(link, request())).toEqual({
    kind: "answered",
    isError: false,
    content: [{ type: "text", text: "t" }],
    warnings: ["structured content nested more than 256 deep was left out"],
  });
});

const MODERN = { agreement: { era: "modern", protocolVersion: "2026-07-28" } } as const;
const region = (header: string) => ({
  type: "object",
  properties: { path: { type: "string", "x-mcp-header": header } },
});

test("a modern call names its tool and mirrors its annotated arguments; a legacy one has no such headers", async () => {
  const definition = tool({}, region("Path"));
  const modern = setUp(answers({ content: [] }), MODERN);
  await callTool(modern.link, modern.request({ definition }));
  expect(modern.link.asked[0]?.hint).toEqual({ name: "read", headers: { "Mcp-Param-Path": "a" } });
  const legacy = setUp(answers({ content: [] }));
  await callTool(legacy.link, legacy.request({ definition }));
  expect(legacy.link.asked[0]?.hint).toEqual({ name: "read" });
});

test("headers a modern server refuses are made anew from a fresh definition, once", async () => {
  const refused = { error: { code: -32020, message: "header mismatch" } };
  const { link, request } = setUp((ask) => {
    if (ask.method === "tools/list") return { result: { tools: [{ name: "read", inputSchema: region("New") }] } };
    return ask.hint?.headers?.["Mcp-Param-New"] === "a" ? { result: { content: [] } } : refused;
  }, MODERN);
  expect(await callTool(link, request({ definition: tool({}, region("Old")) }))).toMatchObject({ kind: "answered" });
  expect(link.asked.map(({ method }) => method)).toEqual(["tools/call", "tools/list", "tools/call"]);

  const stubborn = setUp(
    (ask) => (ask.method === "tools/list" ? { result: { tools: [{ name: "read", inputSchema: {} }] } } : refused),
    MODERN,
  );
  expect(await callTool(stubborn.link, stubborn.request())).toMatchObject({ kind: "failed" });
  expect(stubborn.link.asked).toHaveLength(3);
});
