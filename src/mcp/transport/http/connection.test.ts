// The remote transport under a whole connection: what people see when a remote server changes under their hands.
import { expect, test } from "vitest";
import { bench, ECHO, jsonType } from "../../../../test/remote/bench.js";
import { echoTool, type FaultMatch, type HttpFault } from "../../../testing/index.js";
import { nodeWorld } from "../../../world/index.js";
import { McpConnection } from "../../connection/connection.js";
import type { ToolOverrides } from "../../connection/options.js";

const { own, serve } = bench();

function connect(server: { readonly url: string }, tools: Readonly<Record<string, ToolOverrides>> = {}): McpConnection {
  const connection = new McpConnection(
    { kind: "http", name: "remote", url: server.url, headers: {} },
    { world: nodeWorld({ env: {} }), cwd: "/", client: { name: "test", version: "1" }, tools },
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

test("calls that find the session forgotten at the same time all go on, in one new session", async () => {
  const server = await serve();
  const connection = connect(server);
  await ready(connection);
  await server.forgetSessions();
  const calls = ["a", "b", "c", "d", "e"].map((text) => connection.call("echo", { text }, anyhow));
  expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(calls.map(() => "answered"));
  expect(server.requests.filter(({ message }) => message?.["method"] === "initialize")).toHaveLength(2);
});

test.each([
  [404, -32_000, "no such tool"],
  [404, -32_602, "unknown tool"],
  [400, -32_602, "session_id is required"],
])("%i under the id of the call is its answer (%i: %s), and no end of the session", async (status, code, message) => {
  const server = await serve();
  const connection = connect(server);
  await ready(connection);
  await connection.call("echo", {}, anyhow);
  const calls = () => server.requests.filter((request) => request.message?.["method"] === "tools/call");
  const id = Number(calls()[0]?.message?.["id"]) + 1;
  const body = JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });
  server.misbehave({ method: "tools/call" }, { kind: "answer", status, headers: jsonType, body }, 1);
  expect(await connection.call("echo", {}, anyhow)).toMatchObject({
    kind: "failed",
    error: { code: "mcp.call_failed", message: expect.stringContaining(message) },
  });
  expect([connection.state.value.kind, calls().length]).toEqual(["ready", 2]);
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

const idempotent = { echo: { isIdempotent: true } };

test("a 5xx says of an idempotent tool at once what it says of any: the connection lives, nothing is waited for", async () => {
  const server = await serve();
  const connection = connect(server, idempotent);
  await ready(connection);
  server.misbehave({ method: "tools/call" }, { kind: "answer", status: 500, body: "oops" }, 1);
  expect(await connection.call("echo", {}, anyhow)).toMatchObject({
    kind: "unknown",
    error: { code: "mcp.unavailable" },
  });
  expect(server.requests.filter(({ message }) => message?.["method"] === "tools/call")).toHaveLength(1);
});

test.each<[string, HttpFault]>([
  ["reset", { kind: "reset" }],
  ["half", { kind: "half", contentType: "application/json", body: '{"jsonrpc":"2.0",' }],
])(
  "an answer that is cut off (%s) is asked for once more if the tool is idempotent, and only then",
  async (_, fault) => {
    const server = await serve();
    const connection = connect(server, idempotent);
    await ready(connection);
    server.misbehave({ method: "tools/call" }, fault, 1);
    expect(await connection.call("echo", {}, anyhow)).toMatchObject({ kind: "answered" });
    const careful = connect(server);
    await ready(careful);
    server.misbehave({ method: "tools/call" }, fault, 1);
    expect(await careful.call("echo", {}, anyhow)).toMatchObject({ kind: "unknown" });
    expect(server.requests.filter(({ message }) => message?.["method"] === "tools/call")).toHaveLength(3);
  },
);

test.each([401, 403])("%i during the handshake is a failure that says what is missing", async (status) => {
  const server = await serve();
  server.misbehave({}, { kind: "answer", status, headers: { "www-authenticate": 'Bearer scope="mcp"' } });
  const connection = connect(server);
  const state = await connection.state.until(({ kind }) => kind === "failed", never);
  expect(state).toMatchObject({
    cause: { code: "mcp.unauthorized", message: expect.stringContaining("scope needed mcp") },
  });
});

test.each([429, 503])("a call that is answered with %i says how long to wait, and is made once", async (status) => {
  const server = await serve();
  const connection = connect(server);
  await ready(connection);
  server.misbehave({ method: "tools/call" }, { kind: "answer", status, headers: { "retry-after": "7" } }, 1);
  expect(await connection.call("echo", {}, anyhow)).toMatchObject({
    kind: status === 429 ? "failed" : "unknown",
    error: { code: "mcp.unavailable", retryAfterMs: 7_000 },
  });
  expect(server.requests.filter(({ message }) => message?.["method"] === "tools/call")).toHaveLength(1);
  expect(await connection.call("echo", {}, anyhow)).toMatchObject({ kind: "answered" });
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

test.each<[string, FaultMatch]>([
  ["at once", {}],
  ["when its tools are listed", { method: "tools/list" }],
])("a server that asks for patience %s is waited for as long as it says", async (_, match) => {
  const server = await serve();
  server.misbehave(match, { kind: "answer", status: 503, headers: { "retry-after": "120" } });
  const connection = connect(server);
  const state = await connection.state.until(({ kind }) => kind === "waiting", never);
  if (state.kind !== "waiting") throw new Error("not waiting");
  expect(state.cause).toMatchObject({ code: "mcp.unavailable", retryAfterMs: 120_000 });
  expect(state.untilMs - performance.now()).toBeGreaterThan(100_000);
});

test("an HTTP+SSE server under a Streamable entry works", async () => {
  const connection = connect(await serve(ECHO, { transport: "sse" }));
  await ready(connection);
  expect(await connection.call("echo", { text: "x" }, anyhow)).toMatchObject({ kind: "answered" });
});

test.each<[string, HttpFault]>([
  ["500", { kind: "answer", status: 500, body: "oops" }],
  ["a reset", { kind: "reset" }],
  ["half an answer", { kind: "half", contentType: "application/json", body: "{" }],
  [
    "an empty result",
    { kind: "answer", status: 200, headers: jsonType, body: '{"jsonrpc":"2.0","id":1,"result":null}' },
  ],
  ["events without the answer", { kind: "events", text: "data: hello\n\n" }],
])("a server that answers the probe with %s is talked to the legacy way", async (_, fault) => {
  const server = await serve();
  server.misbehave({ method: "server/discover" }, fault);
  const connection = connect(server);
  await ready(connection);
  expect(await connection.call("echo", { text: "x" }, anyhow)).toMatchObject({ kind: "answered" });
});

test("a modern server over HTTP works without a session and without a GET", async () => {
  const server = await serve({ ...ECHO, era: "modern" });
  const connection = connect(server);
  await ready(connection);
  expect(await connection.call("echo", { text: "x" }, anyhow)).toMatchObject({ kind: "answered" });
  await connection.close();
  expect(new Set(server.requests.map(({ method }) => method))).toEqual(new Set(["POST"]));
});
