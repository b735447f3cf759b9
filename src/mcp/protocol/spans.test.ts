// Requests as spans by the MCP conventions, with the real SDK, over a real connection to a scripted server.
import { trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inSpan } from "../../base/ports/trace.js";
import {
  echoTool,
  type FakeWorld,
  fakeWorld,
  scriptedHttpServer,
  spawnsServer,
  type ToolScript,
} from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { McpConnection } from "../connection/connection.js";

const { telemetry } = nodeWorld({ env: {} });
const never = new AbortController().signal;
const client = { name: "t", version: "1" };
let exporter: InMemorySpanExporter;

beforeEach(() => {
  exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
});
afterEach(() => trace.disable());

const spansOf = (name: string): ReadableSpan[] => exporter.getFinishedSpans().filter((span) => span.name === name);
const call = (connection: McpConnection, tool: string) =>
  connection.call(tool, { text: "hi" }, { signal: never, onProgress: () => {} });

const TOOLS: readonly ToolScript[] = [
  echoTool(),
  { name: "sad", reply: { kind: "error", text: "no" } },
  { name: "odd", reply: { kind: "protocol_error", code: -32_602, message: "bad" } },
];

async function overStdio(): Promise<{ world: FakeWorld; connection: McpConnection }> {
  const world = fakeWorld({ spawn: spawnsServer({ tools: TOOLS }), ...(telemetry ? { telemetry } : {}) });
  const spec = { kind: "stdio", name: "s", command: "/bin/server", args: [], env: {} } as const;
  const connection = new McpConnection(spec, { world, cwd: "/project", client });
  connection.start();
  await connection.state.until(({ kind }) => kind === "ready", never);
  return { world, connection };
}

async function close({ world, connection }: { world: FakeWorld; connection: McpConnection }): Promise<void> {
  const closing = connection.close();
  await world.advance(10_000);
  await closing;
}

test("a call is a client span with method, tool, protocol, transport and the id of its request", async () => {
  const server = await overStdio();
  await call(server.connection, "echo");
  const [span] = spansOf("tools/call echo");
  expect(span?.kind).toBe(2);
  expect(span?.attributes).toEqual({
    "mcp.method.name": "tools/call",
    "mcp.protocol.version": "2025-11-25",
    "network.transport": "pipe",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "echo",
    "jsonrpc.request.id": expect.stringMatching(/^\d+$/),
  });
  expect(spansOf("tools/list")).toHaveLength(1);
  await close(server);
});

test("a tool that fails and a server that refuses are errors of the kinds the convention names", async () => {
  const server = await overStdio();
  await call(server.connection, "sad");
  await call(server.connection, "odd");
  const [sad] = spansOf("tools/call sad");
  const [odd] = spansOf("tools/call odd");
  expect(sad?.attributes["error.type"]).toBe("tool_error");
  expect(odd?.attributes).toMatchObject({ "error.type": "-32602", "rpc.response.status_code": "-32602" });
  expect(odd?.status).toEqual({ code: 2, message: expect.stringContaining("bad") });
  await close(server);
});

test("a call that is traced as a tool already gets the attributes instead of a second span", async () => {
  const server = await overStdio();
  const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "mcp__s__echo" };
  await inSpan(telemetry, { name: "execute_tool mcp__s__echo", kind: "internal", attributes }, () =>
    call(server.connection, "echo"),
  );
  expect(spansOf("tools/call echo")).toEqual([]);
  const [span] = spansOf("execute_tool mcp__s__echo");
  expect(span?.attributes).toMatchObject({
    "gen_ai.tool.name": "mcp__s__echo",
    "mcp.method.name": "tools/call",
    "network.transport": "pipe",
  });
  await close(server);
});

test.each(["legacy", "modern"] as const)("the server is told the trace in _meta over HTTP (%s)", async (era) => {
  await using server = await scriptedHttpServer({ era, tools: TOOLS });
  const world = nodeWorld({ env: {} });
  await using connection = new McpConnection(
    { kind: "http", name: "s", url: server.url, headers: {} },
    { world, cwd: "/", client },
  );
  connection.start();
  await connection.state.until(({ kind }) => kind === "ready", never);
  await call(connection, "echo");
  const [span] = spansOf("tools/call echo");
  const { traceId, spanId } = span?.spanContext() ?? {};
  const sent = server.requests.find(({ message }) => message?.["method"] === "tools/call");
  expect(JSON.stringify(sent?.message)).toContain(`"traceparent":"00-${traceId}-${spanId}-01"`);
  expect(span?.attributes).toMatchObject({
    "network.transport": "tcp",
    "server.address": "127.0.0.1",
    "server.port": Number(new URL(server.url).port),
  });
  expect(typeof span?.attributes["mcp.session.id"]).toBe(era === "legacy" ? "string" : "undefined");
});
