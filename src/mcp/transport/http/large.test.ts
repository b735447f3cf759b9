// Large and endless answers: one call at most is lost, the loop is never held, and nothing piles up.

import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { bench } from "../../../../test/remote/bench.js";
import { type Ended, textOf } from "../../../../test/remote/test-transport.js";
import { isJsonObject } from "../../../base/json/json.js";
import { echoTool, type HttpFault, type HttpServerOptions } from "../../../testing/index.js";
import { MCP_LIMITS } from "../../limits.js";
import { spilledOf } from "../large/spilled.js";

const { serve, legacy } = bench();

const tools = [
  echoTool(),
  { name: "mb1", reply: { kind: "bytes", bytes: 1_000_000 } },
  { name: "mb10", reply: { kind: "bytes", bytes: 10_000_000 } },
  { name: "mb20", reply: { kind: "bytes", bytes: 20_000_000 } },
] as const;

function firstBlock(ended: Ended): ReturnType<typeof spilledOf> {
  const content = ended.kind === "result" ? ended.result["content"] : undefined;
  return Array.isArray(content) ? spilledOf(content[0]) : undefined;
}

describe.each<[string, HttpServerOptions]>([
  ["JSON", {}],
  ["an event stream", { streamsAnswers: true }],
  ["HTTP+SSE", { transport: "sse" }],
])("as %s", (_, options) => {
  test("10 MB arrive whole, and 20 MB as a file that goes with the connection", async () => {
    const server = await serve({ tools }, options);
    const transport = await legacy(server, options.transport === "sse" ? { kind: "sse" } : {});
    expect(textOf(await transport.call("mb1"))).toHaveLength(1_000_000);
    expect(textOf(await transport.call("mb10"))).toHaveLength(10_000_000);
    const spilled = firstBlock(await transport.call("mb20"));
    expect(spilled).toMatchObject({ kind: "text", bytes: 20_000_000 });
    expect(textOf(await transport.call("echo", { text: "on" }))).toBe('{"text":"on"}');
    expect(existsSync(spilled?.path ?? "")).toBe(true);
    await transport.close();
    expect(existsSync(spilled?.path ?? "")).toBe(false);
  });
});

test("pretty-printed JSON of any length is one message", async () => {
  const server = await serve();
  const transport = await legacy(server);
  const list = Array.from({ length: 20_000 }, (_, n) => ({ type: "text", text: `line ${n}` }));
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, result: { content: list } }, undefined, 2);
  expect(body.length).toBeGreaterThan(MCP_LIMITS.messagePlainBytes * 4);
  const headers = { "content-type": "application/json" };
  server.misbehave({ method: "tools/call" }, { kind: "answer", status: 200, headers, body }, 1);
  const ended = await transport.call("echo");
  const content = ended.kind === "result" ? ended.result["content"] : [];
  expect(content).toHaveLength(20_000);
});

test("an event of many data lines is one message", async () => {
  const server = await serve();
  const transport = await legacy(server);
  const list = Array.from({ length: 20_000 }, (_, n) => ({ type: "text", text: `line ${n}` }));
  const json = JSON.stringify({ jsonrpc: "2.0", id: 2, result: { content: list } }, undefined, 2);
  const text = `${json.replace(/^/gmu, "data: ")}\n\n`;
  server.misbehave({ method: "tools/call" }, { kind: "events", text }, 1);
  const ended = await transport.call("echo");
  expect(ended.kind === "result" && isJsonObject(ended.result) ? ended.result["content"] : []).toHaveLength(20_000);
});

test.each<[string, HttpFault]>([
  ["a JSON body", { kind: "endless", contentType: "application/json", start: '{"jsonrpc":"2.0","id":2,"result":"' }],
  ["an event", { kind: "endless", contentType: "text/event-stream", start: 'data: {"jsonrpc":"2.0","id":2,"x":"' }],
])("%s without end is cut at the limit, for that one call", async (_, fault) => {
  const server = await serve();
  const transport = await legacy(server);
  server.misbehave({ method: "tools/call" }, fault, 1);
  const before = process.memoryUsage().rss;
  const id = transport.send("tools/call", { name: "echo" });
  const ended = await transport.ended(id);
  expect(ended).toMatchObject({ kind: "lost", loss: { wasSent: true, error: { code: "mcp.too_large" } } });
  expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000); // of which the server in this process has its part
  expect(textOf(await transport.call("echo", { text: "on" }))).toBe('{"text":"on"}');
  expect(transport.endsOf(id)).toBe(1);
});

test("a page without end costs a page", async () => {
  const server = await serve();
  const transport = await legacy(server);
  server.misbehave({ method: "tools/call" }, { kind: "endless", contentType: "text/html", start: "<p>" }, 1);
  expect(await transport.call("echo")).toMatchObject({ kind: "lost", loss: { error: { code: "mcp.protocol" } } });
  expect(textOf(await transport.call("echo", { text: "on" }))).toBe('{"text":"on"}');
});

test("a storm of 300,000 notifications is heard in turns", async () => {
  const server = await serve({
    tools: [{ name: "storm", steps: [{ do: "list_changed", count: 300_000 }], reply: { kind: "text", text: "over" } }],
  });
  const transport = await legacy(server);
  const id = transport.send("tools/call", { name: "storm" });
  await transport.told.find((told) => told.kind === "message" && told.message.kind === "notification");
  let longestMs = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - lastMs);
    lastMs = performance.now();
  }, 1);
  expect(textOf(await transport.ended(id))).toBe("over");
  clearInterval(timer);
  expect(transport.notifications("notifications/tools/list_changed")).toHaveLength(300_000);
  expect(longestMs).toBeLessThan(500); // the server that floods us runs in this very process
});
