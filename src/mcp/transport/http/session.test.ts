// Sessions that are forgotten, streams that end, answers that come later: the legacy era when things go wrong.
import { describe, expect, test } from "vitest";
import { bench, ECHO, jsonType } from "../../../../test/remote/bench.js";
import { textOf } from "../../../../test/remote/test-transport.js";
import { echoTool, FakeWorld, type ScriptedHttpServer } from "../../../testing/index.js";
import { retryDelayMs } from "../../connection/state.js";
import { MCP_LIMITS } from "../../limits.js";

const { serve, legacy } = bench();

function getsOf(server: ScriptedHttpServer): readonly ScriptedHttpServer["requests"][number][] {
  return server.requests.filter(({ method }) => method === "GET");
}

describe("a session the server has forgotten", () => {
  test("is told as such, once, and the call that found it out was certainly not acted on", async () => {
    const server = await serve({ tools: [echoTool(), { name: "ask", reply: { kind: "held" } }] });
    const transport = await legacy(server);
    const inFlight = transport.send("tools/call", { name: "ask" });
    await server.awaitCall("ask");
    await server.forgetSessions();
    const id = transport.send("tools/call", { name: "echo" });
    expect(await transport.ended(id)).toMatchObject({
      kind: "lost",
      loss: { wasSent: false, error: { code: "mcp.session_lost" } },
    });
    expect((await transport.closed()).code).toBe("mcp.session_lost");
    expect(transport.endsOf(inFlight)).toBe(0); // ended by whoever hears `onClosed`, as unknown
    transport.send("tools/call", { name: "echo" });
    await transport.close();
    expect(transport.told.items.filter(({ kind }) => kind === "closed")).toHaveLength(1);
    expect(server.requests.some(({ method }) => method === "DELETE")).toBe(false);
  });

  test.each([
    [400, '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}'],
    [400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}'],
    [404, "<h1>nothing here</h1>"],
    [404, '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'],
  ])("also when it says so with %i %s", async (status, body) => {
    const server = await serve();
    const transport = await legacy(server);
    server.misbehave({ method: "tools/call" }, { kind: "answer", status, headers: jsonType, body });
    expect(await transport.call("echo")).toMatchObject({ kind: "lost", loss: { error: { code: "mcp.session_lost" } } });
    expect((await transport.closed()).code).toBe("mcp.session_lost");
  });

  test("also when a notification finds it out", async () => {
    const server = await serve();
    const transport = await legacy(server);
    await transport.request("tools/list");
    await server.forgetSessions();
    transport.notify("notifications/roots/list_changed");
    expect((await transport.closed()).code).toBe("mcp.session_lost");
  });

  test("also when its standing stream ends and cannot be opened again", async () => {
    const server = await serve(ECHO, { hasListenStream: true });
    const transport = await legacy(server);
    await transport.call("echo");
    await server.forgetSessions();
    expect((await transport.closed()).code).toBe("mcp.session_lost");
  });

  test.each([
    [404, '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}', -32601],
    [400, '{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Bad cursor"}}', -32602],
  ])("is not what %i %s says", async (status, body, code) => {
    const server = await serve();
    const transport = await legacy(server);
    server.misbehave({ method: "tools/call" }, { kind: "answer", status, headers: jsonType, body }, 1);
    expect(await transport.call("echo")).toMatchObject({ kind: "error", code });
    expect(textOf(await transport.call("echo", { text: "x" }))).toBe('{"text":"x"}');
  });

  test("is opened anew at once the first time, and with patience after that", async () => {
    const server = await serve();
    const transport = await legacy(server);
    await server.forgetSessions();
    await transport.call("echo");
    const broken = { cause: await transport.closed(), wasReady: true, isRemote: true };
    expect(retryDelayMs({ ...broken, failuresInARow: 0 }, 0.5)).toBe(0);
    expect(retryDelayMs({ ...broken, failuresInARow: 1 }, 0.5)).toBe(0);
    expect(retryDelayMs({ ...broken, failuresInARow: 2 }, 0.5)).toBeGreaterThan(0);
    expect(retryDelayMs({ ...broken, failuresInARow: MCP_LIMITS.reconnectAttempts }, 0.5)).toBeUndefined();
  });
});

describe("a call whose stream ends before the answer", () => {
  const answer = (id: number) => `data: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n\n`;

  test("is resumed at its last event after the time the server named", async () => {
    const server = await serve(ECHO, { hasListenStream: true });
    const transport = await legacy(server);
    await transport.call("echo");
    server.misbehave({ method: "tools/call" }, { kind: "events", text: "id: e-7\nretry: 600\ndata:\n\n" }, 1);
    server.misbehave({ http: "GET" }, { kind: "events", text: `id: e-8\ndata:\n\n${answer(3)}` }, 1);
    const sent = transport.send("tools/call", { name: "echo" });
    expect(sent).toBe(3);
    expect(await transport.ended(sent)).toEqual({ kind: "result", result: { content: [] } });
    const resumed = getsOf(server).at(-1);
    expect(resumed?.headers).toMatchObject({ "last-event-id": "e-7", "mcp-session-id": expect.any(String) });
    const call = server.requests.find(({ message }) => message?.["id"] === sent);
    expect((resumed?.atMs ?? 0) - (call?.atMs ?? 0)).toBeGreaterThanOrEqual(595);
    expect(transport.endsOf(sent)).toBe(1);
  });

  test("is resumed also when the connection broke, and again when the resumed stream ends", async () => {
    const server = await serve();
    const transport = await legacy(server);
    await transport.call("echo");
    const start = 'id: 1\nretry: 250\ndata:\n\ndata: {"jsonr';
    server.misbehave({ method: "tools/call" }, { kind: "half", contentType: "text/event-stream", body: start }, 1);
    server.misbehave({ http: "GET" }, { kind: "events", text: answer(3) }, 1);
    server.misbehave({ http: "GET" }, { kind: "events", text: "id: 2\ndata:\n\n" }, 1);
    server.misbehave({ http: "GET" }, { kind: "answer", status: 503 }, 1);
    const sent = transport.send("tools/call", { name: "echo" });
    expect(await transport.ended(sent)).toMatchObject({ kind: "result" });
    expect(getsOf(server).map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "1", "1", "2"]);
  });

  test("is lost when the stream had no place to take it up at", async () => {
    const server = await serve();
    const transport = await legacy(server);
    server.misbehave({ method: "tools/call" }, { kind: "events", text: ": nothing\n\n" });
    expect(await transport.call("echo")).toMatchObject({
      kind: "lost",
      loss: { wasSent: true, error: { code: "mcp.connection_lost" } },
    });
  });

  test("is lost when the server refuses to take it up", async () => {
    const server = await serve();
    const transport = await legacy(server);
    server.misbehave({ method: "tools/call" }, { kind: "events", text: "id: 1\nretry: 250\ndata:\n\n" });
    expect(await transport.call("echo")).toMatchObject({
      kind: "lost",
      loss: { error: { code: "mcp.connection_lost" } },
    });
    expect(getsOf(server)).toHaveLength(2);
  });

  test("is not taken up any more once it is cancelled", async () => {
    const world = new FakeWorld();
    const server = await serve();
    const transport = await legacy(server, {}, { world });
    await transport.request("tools/list");
    server.misbehave({ method: "tools/call" }, { kind: "events", text: "id: 1\nretry: 5000\ndata:\n\n" });
    const id = transport.send("tools/call", { name: "echo" });
    await server.awaitMessage("tools/call");
    await until(() => world.clock.pendingTimers > 0);
    transport.transport.cancel(id, "enough");
    await server.awaitMessage("notifications/cancelled");
    await world.advance(60_000);
    expect(getsOf(server)).toHaveLength(1);
    expect(transport.endsOf(id)).toBe(0);
  });
});

describe("the standing stream", () => {
  test("is opened again after it ended, at its last event", async () => {
    const server = await serve(ECHO, { hasListenStream: true });
    server.misbehave({ http: "GET" }, { kind: "events", text: "id: s-1\nretry: 300\ndata:\n\n" }, 1);
    const transport = await legacy(server);
    await transport.call("echo");
    const second = await server.awaitRequest(({ headers }) => headers["last-event-id"] === "s-1");
    expect(second.method).toBe("GET");
    server.announce("notifications/tools/list_changed");
    await transport.told.find((told) => told.kind === "message" && told.message.kind === "notification");
  });

  test("does not become a storm, whatever `retry` the server names, and is given up in the end", async () => {
    const world = new FakeWorld();
    const server = await serve();
    server.misbehave({ http: "GET" }, { kind: "events", text: "retry: 1\ndata:\n\n" });
    const transport = await legacy(server, {}, { world });
    await transport.call("echo");
    const atMs: number[] = [];
    for (let elapsed = 0; elapsed < 600_000; elapsed += 500) {
      const before = getsOf(server).length;
      await world.advance(500);
      if (world.clock.pendingTimers === 0) await until(() => world.clock.pendingTimers > 0 || isGivenUp(transport));
      if (getsOf(server).length > before) atMs.push(elapsed);
      if (isGivenUp(transport)) break;
    }
    expect(getsOf(server)).toHaveLength(MCP_LIMITS.httpReopenAttempts + 1);
    expect(atMs.filter((ms) => ms < 3_000).length).toBeLessThanOrEqual(3);
    expect(textOf(await transport.call("echo", { text: "on" }))).toBe('{"text":"on"}');
  });

  test("that a server closes to be polled at a calm pace is polled for as long as it takes", async () => {
    const world = new FakeWorld();
    const server = await serve();
    server.misbehave({ http: "GET" }, { kind: "events", text: "id: 1\nretry: 5000\ndata:\n\n" });
    const transport = await legacy(server, {}, { world });
    await transport.call("echo");
    for (let poll = 1; poll <= 2 * MCP_LIMITS.httpReopenAttempts; poll++) {
      await until(() => getsOf(server).length === poll && world.clock.pendingTimers > 0);
      await world.advance(5_000);
    }
    expect(isGivenUp(transport)).toBe(false);
  });

  test("of a server that is gone breaks the connection after a few attempts", async () => {
    const world = new FakeWorld();
    const server = await serve(ECHO, { hasListenStream: true });
    const transport = await legacy(server, {}, { world });
    await transport.call("echo");
    server.misbehave({ http: "GET" }, { kind: "reset" });
    server.endStreams();
    const isClosed = () => transport.told.items.some(({ kind }) => kind === "closed");
    while (!isClosed()) {
      await until(() => world.clock.pendingTimers > 0 || isClosed());
      await world.advance(30_000);
    }
    expect((await transport.closed()).code).toBe("mcp.connection_lost");
    expect(getsOf(server)).toHaveLength(1 + MCP_LIMITS.httpUnreachableAttempts);
  });
});

function isGivenUp(transport: { told: { items: readonly { kind: string; what?: string }[] } }): boolean {
  return transport.told.items.some(({ kind, what }) => kind === "noise" && what?.includes("given up"));
}

/** Real sockets under a clock that stands: turns of the loop, until something has happened. */
async function until(test: () => boolean): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (!test()) {
    if (performance.now() > endMs) throw new Error("waited in vain");
    await new Promise((resolve) => setImmediate(resolve));
  }
}
