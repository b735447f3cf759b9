// The remote wire under a whole connection: what people see when a remote server changes under their hands.

import { expect, test } from "vitest";
import { bench, ECHO } from "../../../test/remote/bench.js";
import { echoTool } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { McpConnection } from "../connection.js";
import type { RemoteSpec } from "../spec.js";

const { own, serve } = bench();

function connect(server: { readonly url: string }, spec: Partial<RemoteSpec> = {}): McpConnection {
  const connection = new McpConnection(
    { kind: "http", name: "remote", url: server.url, headers: {}, ...spec },
    { world: nodeWorld({ env: {} }), cwd: "/", client: { name: "test", version: "1" } },
  );
  own(connection);
  connection.start();
  return connection;
}

const never: AbortSignal = new AbortController().signal;
const anyhow = { signal: never, onProgress: () => {} };

async function ready(connection: McpConnection): Promise<void> {
  await connection.state.until((state) => state.kind === "ready", never);
}

test("a forgotten session is opened anew, once, and the call goes on as if nothing had been", async () => {
  const server = await serve({ tools: [echoTool(), { name: "ask", reply: { kind: "held" } }] });
  const connection = connect(server);
  await ready(connection);
  const inFlight = connection.call("ask", {}, anyhow);
  await server.awaitCall("ask");
  await server.forgetSessions();
  const next = connection.call("echo", { text: "on" }, anyhow);
  expect(await inFlight).toMatchObject({ kind: "unknown", error: { code: "mcp.session_lost" } });
  expect(await next).toMatchObject({ kind: "answered", content: [{ text: '{"text":"on"}' }] });
  const initialized = server.requests.filter(({ message }) => message?.["method"] === "initialize");
  expect(initialized).toHaveLength(2);
  expect(initialized.every(({ headers }) => headers["mcp-session-id"] === undefined)).toBe(true);
  const calls = server.requests.filter(({ message }) => message?.["method"] === "tools/call");
  expect(calls).toHaveLength(3);
});

test("one that forgets every session is not asked for ever", async () => {
  const server = await serve();
  const connection = connect(server);
  await ready(connection);
  server.misbehave({ method: "tools/call" }, { kind: "answer", status: 404 });
  expect(await connection.call("echo", {}, anyhow)).toMatchObject({
    kind: "failed",
    error: { code: "mcp.session_lost" },
  });
  const calls = server.requests.filter(({ message }) => message?.["method"] === "tools/call");
  expect(calls).toHaveLength(2);
});

test.each([401, 403])("%i during the handshake is a failure that says what is missing", async (status) => {
  const server = await serve();
  server.misbehave({}, { kind: "answer", status, headers: { "www-authenticate": 'Bearer scope="mcp"' } });
  const connection = connect(server);
  const state = await connection.state.until(({ kind }) => kind === "failed", never);
  expect(state).toMatchObject({
    cause: { code: "mcp.unauthorized", message: expect.stringContaining("scope needed mcp") },
  });
});

test("401 in the middle fails that call and leaves the connection", async () => {
  const server = await serve();
  const connection = connect(server);
  await ready(connection);
  server.misbehave({ method: "tools/call" }, { kind: "answer", status: 401 }, 1);
  expect(await connection.call("echo", {}, anyhow)).toMatchObject({
    kind: "failed",
    error: { code: "mcp.unauthorized" },
  });
  expect(connection.state.value.kind).toBe("ready");
  expect(await connection.call("echo", {}, anyhow)).toMatchObject({ kind: "answered" });
});

test("a server that asks for patience is waited for as long as it says", async () => {
  const server = await serve();
  server.misbehave({}, { kind: "answer", status: 503, headers: { "retry-after": "120" } });
  const connection = connect(server);
  const state = await connection.state.until(({ kind }) => kind === "waiting", never);
  if (state.kind !== "waiting") throw new Error("not waiting");
  expect(state.cause).toMatchObject({ code: "mcp.unavailable", retryAfterMs: 120_000 });
  expect(state.untilMs - performance.now()).toBeGreaterThan(100_000);
});

test("an HTTP+SSE server under a Streamable entry works, and so does one that answers the probe with 500", async () => {
  const old = await serve(ECHO, { transport: "sse" });
  const odd = await serve();
  odd.misbehave({ method: "server/discover" }, { kind: "answer", status: 500, body: "oops" });
  for (const server of [old, odd]) {
    const connection = connect(server);
    await ready(connection);
    expect(await connection.call("echo", { text: "x" }, anyhow)).toMatchObject({ kind: "answered" });
  }
});

test("a modern server over HTTP works without a session and without a GET", async () => {
  const server = await serve({ ...ECHO, era: "modern" });
  const connection = connect(server);
  await ready(connection);
  expect(await connection.call("echo", { text: "x" }, anyhow)).toMatchObject({ kind: "answered" });
  await connection.close();
  expect(new Set(server.requests.map(({ method }) => method))).toEqual(new Set(["POST"]));
});
