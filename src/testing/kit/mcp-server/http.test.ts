// The scripted server over Streamable HTTP, driven by the real MCP client.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LeakCheck, leakCheck } from "../leaks.js";
import { type Behaviour, echoTool } from "./behaviour.js";
import { type HttpServerOptions, type ScriptedHttpServer, scriptedHttpServer } from "./http.js";

const open: AsyncDisposable[] = [];
let leaks: LeakCheck;

beforeEach(async () => {
  leaks = await leakCheck();
});

afterEach(async () => {
  for (const owned of open.splice(0).reverse()) await owned[Symbol.asyncDispose]();
  await leaks.verify();
});

async function serverWith(behaviour: Behaviour, options?: HttpServerOptions): Promise<ScriptedHttpServer> {
  const server = await scriptedHttpServer(behaviour, options);
  open.push(server);
  return server;
}

async function connected(server: ScriptedHttpServer, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  open.push({ [Symbol.asyncDispose]: () => client.close() });
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }));
  return client;
}

test("it initialises, lists and calls", async () => {
  const server = await serverWith({ serverName: "remote", tools: [echoTool()] });
  const client = await connected(server);
  expect(client.getServerVersion()).toMatchObject({ name: "remote" });
  expect((await client.listTools()).tools).toHaveLength(1);
  expect(await client.callTool({ name: "echo", arguments: { text: "hi" } })).toMatchObject({
    content: [{ text: '{"text":"hi"}' }],
  });
  expect(server.sessionCount).toBe(1);
  const call = await server.awaitMessage("tools/call");
  expect(call.headers["mcp-session-id"]).toEqual(expect.any(String));
});

test("progress comes on the stream of its request", async () => {
  const server = await serverWith({
    tools: [
      {
        name: "job",
        steps: [
          { do: "progress", progress: 1, total: 2 },
          { do: "delay", ms: 1 },
        ],
        reply: { kind: "text", text: "done" },
      },
    ],
  });
  const client = await connected(server);
  const seen: unknown[] = [];
  const result = await client.callTool({ name: "job" }, { onprogress: (progress) => seen.push(progress) });
  expect(result).toMatchObject({ content: [{ text: "done" }] });
  expect(seen).toEqual([{ progress: 1, total: 2 }]);
});

test("held calls, crashes and forgotten sessions show as they would from a real server", async () => {
  const server = await serverWith({
    tools: [
      { name: "ask", reply: { kind: "held" } },
      { name: "die", steps: [{ do: "crash" }], reply: { kind: "echo" } },
    ],
  });
  const client = await connected(server);
  const answer = client.callTool({ name: "ask" });
  (await server.awaitCall("ask")).respondWith("answered");
  expect(await answer).toMatchObject({ content: [{ text: "answered" }] });
  await server.forgetSessions();
  await expect(client.listTools()).rejects.toMatchObject({ data: { status: 404 } });
  const other = await connected(server);
  await expect(other.callTool({ name: "die" })).rejects.toThrow("fetch failed");
  expect(server.sessionCount).toBe(0);
});

test("a body that is no message breaks only the request it answers", async () => {
  const server = await serverWith({
    tools: [echoTool()],
    steps: { "tools/list": [{ do: "garbage", text: "<html>" }] },
  });
  const client = await connected(server);
  await expect(client.listTools()).rejects.toThrow("Unexpected token");
  expect(await client.callTool({ name: "echo", arguments: {} })).toMatchObject({ content: [{ text: "{}" }] });
});

test("it can want a bearer token", async () => {
  const server = await serverWith({ tools: [echoTool()] }, { bearer: "secret" });
  await expect(connected(server)).rejects.toThrow("unauthorized");
  expect((await (await connected(server, { authorization: "Bearer secret" })).listTools()).tools).toHaveLength(1);
});

test("a server that never answers is closed all the same", async () => {
  const server = await serverWith({ steps: { initialize: [{ do: "never" }] } });
  const connecting = connected(server);
  connecting.catch(() => {});
  await server.awaitMessage("initialize");
  open.splice(open.indexOf(server), 1);
  await server[Symbol.asyncDispose]();
  await expect(connecting).rejects.toThrow("fetch failed");
});

test.each([
  ["GET", undefined, 405],
  ["POST", "no json", 400],
  ["POST", '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 400],
  ["DELETE", undefined, 404],
])("%s with body %s gets %i", async (method, body, status) => {
  const server = await serverWith({});
  const response = await fetch(server.url, { method, ...(body !== undefined && { body }) });
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
});

test("what HTTP cannot carry is refused at once", async () => {
  await expect(scriptedHttpServer({ ignoresSigterm: true })).rejects.toThrow("cannot be done by a server over HTTP");
});
