// Streamable HTTP against the scripted server over real loopback sockets.

import { describe, expect, test } from "vitest";
import { bench, ECHO, jsonType } from "../../../../test/remote/bench.js";
import { modernParams, textOf } from "../../../../test/remote/test-transport.js";
import { type Behaviour, echoTool } from "../../../testing/index.js";

const { serve, transportTo, legacy } = bench();

describe("the legacy era", () => {
  test("initialises, calls, and ends the session with DELETE", async () => {
    const server = await serve();
    const transport = await legacy(server);
    expect(textOf(await transport.call("echo", { text: "hi" }))).toBe('{"text":"hi"}');
    await transport.close();
    expect(server.requests.at(-1)).toMatchObject({ method: "DELETE" });
    expect(server.sessionCount).toBe(0);
  });

  test("version and session go with everything but initialize", async () => {
    const server = await serve();
    const transport = await legacy(server);
    await transport.call("echo");
    const [initialize, initialized, get, call] = server.requests;
    expect(initialize?.headers["mcp-protocol-version"]).toBeUndefined();
    expect(initialize?.headers["mcp-session-id"]).toBeUndefined();
    expect(initialize?.headers["accept"]).toBe("application/json, text/event-stream");
    for (const request of [initialized, get, call]) {
      expect(request?.headers).toMatchObject({
        "mcp-protocol-version": "2025-11-25",
        "mcp-session-id": expect.any(String),
      });
      expect(request?.headers["mcp-method"]).toBeUndefined();
      expect(request?.headers["origin"]).toBeUndefined();
    }
    expect(get).toMatchObject({ method: "GET", headers: { accept: "text/event-stream" } });
  });

  test("answers come as event streams just as well, with the priming event skipped", async () => {
    const server = await serve(ECHO, { streamsAnswers: true });
    const transport = await legacy(server);
    expect(textOf(await transport.call("echo", { text: "hi" }))).toBe('{"text":"hi"}');
    expect(transport.told.items.filter(({ kind }) => kind === "noise")).toEqual([]);
  });

  test("the standing stream is open before the first call, so that a server's question arrives", async () => {
    const behaviour: Behaviour = { tools: [{ name: "ask", reply: { kind: "ask_client", method: "roots/list" } }] };
    const server = await serve(behaviour, { hasListenStream: true, asksOnListenStream: true });
    const transport = await legacy(server);
    const id = transport.send("tools/call", { name: "ask" });
    const asked = await transport.told.find((told) => told.kind === "message" && told.message.kind === "request");
    if (asked.kind !== "message" || asked.message.kind !== "request") throw new Error("not asked");
    transport.transport.send({ jsonrpc: "2.0", id: asked.message.id, result: { roots: [] } });
    expect(textOf(await transport.ended(id))).toBe('{"roots":[]}');
    const order = server.requests.map(({ method, message }) => message?.["method"] ?? method);
    expect(order.slice(0, 4)).toEqual(["initialize", "notifications/initialized", "GET", "tools/call"]);
  });

  test("notifications come over the standing stream", async () => {
    const server = await serve(ECHO, { hasListenStream: true });
    const transport = await legacy(server);
    await transport.call("echo");
    server.announce("notifications/tools/list_changed");
    await transport.told.find((told) => told.kind === "message" && told.message.kind === "notification");
    expect(transport.notifications("notifications/tools/list_changed")).toHaveLength(1);
  });

  test.each([
    [405, "application/json", '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}'],
    [404, "text/html", "<h1>no</h1>"],
    [400, "text/plain", "no body"],
    [409, "application/json", "{}"],
    [500, "text/plain", "oops"],
    [200, "application/json", "{}"],
  ])("a GET answered with %i %s means no stream, and calls go on", async (status, type, body) => {
    const server = await serve();
    server.misbehave({ http: "GET" }, { kind: "answer", status, headers: { "content-type": type }, body });
    const transport = await legacy(server);
    expect(textOf(await transport.call("echo", { text: "x" }))).toBe('{"text":"x"}');
    expect(server.requests.filter(({ method }) => method === "GET")).toHaveLength(1);
    expect(transport.told.items.some(({ kind }) => kind === "closed")).toBe(false);
  });

  test("a GET that never answers holds calls up for a second at most, and lists not at all", async () => {
    const server = await serve();
    server.misbehave({ http: "GET" }, { kind: "hang" });
    const transport = await legacy(server);
    const startMs = performance.now();
    expect((await transport.request("tools/list")).kind).toBe("result");
    expect(performance.now() - startMs).toBeLessThan(700);
    expect(textOf(await transport.call("echo", { text: "x" }))).toBe('{"text":"x"}');
    expect(performance.now() - startMs).toBeLessThan(3_000);
  });

  test("cancelling tells the server with a notification and leaves no request open", async () => {
    const server = await serve({ tools: [{ name: "ask", reply: { kind: "held" } }, echoTool()] });
    const transport = await legacy(server);
    const id = transport.send("tools/call", { name: "ask" });
    const call = await server.awaitCall("ask");
    transport.transport.cancel(id, "enough");
    await call.untilCancelled();
    const { message } = await server.awaitMessage("notifications/cancelled");
    expect(message?.["params"]).toEqual({ requestId: id, reason: "enough" });
    expect(textOf(await transport.call("echo", { text: "on" }))).toBe('{"text":"on"}');
    expect(transport.endsOf(id)).toBe(0);
  });

  test("a call that is cancelled before the stream is there never leaves", async () => {
    const server = await serve();
    server.misbehave({ http: "GET" }, { kind: "hang" });
    const transport = await legacy(server);
    const id = transport.send("tools/call", { name: "echo" });
    transport.transport.cancel(id, "enough");
    expect(textOf(await transport.call("echo", { text: "on" }))).toBe('{"text":"on"}');
    const calls = server.requests.filter(({ message }) => message?.["method"] === "tools/call");
    expect(calls.map(({ message }) => message?.["id"])).toEqual([id + 1]);
  });

  test("batches of answers are taken apart", async () => {
    const server = await serve();
    const transport = await legacy(server);
    const body = JSON.stringify([
      { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } },
      { jsonrpc: "2.0", id: 2, result: { ok: true } },
    ]);
    server.misbehave({ method: "ping" }, { kind: "answer", status: 200, headers: jsonType, body }, 1);
    expect(await transport.request("ping")).toEqual({ kind: "result", result: { ok: true } });
    expect(transport.notifications("notifications/message")).toHaveLength(1);
  });

  test("the answer may come on another stream than its own", async () => {
    const server = await serve(ECHO, { hasListenStream: true, streamsAnswers: true });
    const transport = await legacy(server);
    await transport.call("echo");
    server.misbehave({ method: "tools/call" }, { kind: "events", text: ": waits\n\n", stays: true }, 1);
    const id = transport.send("tools/call", { name: "echo" });
    await server.awaitRequest(({ message }) => message?.["id"] === id);
    server.announceRaw({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "elsewhere" }] } });
    expect(textOf(await transport.ended(id))).toBe("elsewhere");
    expect(transport.endsOf(id)).toBe(1);
  });
});

describe("the modern era", () => {
  test("every POST says what is in it, nothing names a session, and nothing is GET or DELETE", async () => {
    const server = await serve({ ...ECHO, era: "modern" });
    const transport = transportTo(server);
    const discovered = await transport.requestModern("server/discover");
    expect(discovered).toMatchObject({ kind: "result", result: { supportedVersions: ["2026-07-28"] } });
    transport.beModern();
    const hint = { name: "echo", headers: { "Mcp-Param-Region": "eu", "X-Other": "no" } };
    const called = await transport.requestModern("tools/call", { name: "echo", arguments: { text: "hi" } }, hint);
    expect(textOf(called)).toBe('{"text":"hi"}');
    await transport.close();
    const [discover, call] = server.requests;
    expect(discover?.headers).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "server/discover",
    });
    expect(call?.headers).toMatchObject({ "mcp-method": "tools/call", "mcp-name": "echo", "mcp-param-region": "eu" });
    expect(call?.headers["x-other"]).toBeUndefined();
    for (const { method, headers } of server.requests) {
      expect(method).toBe("POST");
      expect(headers["mcp-session-id"]).toBeUndefined();
    }
  });

  test("names that a header cannot hold are encoded", async () => {
    const server = await serve({ tools: [echoTool("größe")], era: "modern" });
    const transport = transportTo(server).beModern();
    const called = await transport.requestModern("tools/call", { name: "größe", arguments: { text: "hi" } });
    expect(textOf(called)).toBe('{"text":"hi"}');
    expect(server.requests[0]?.headers["mcp-name"]).toMatch(/^=\?base64\?/);
  });

  test("cancelling ends the request itself, and nothing else is sent", async () => {
    const server = await serve({ tools: [{ name: "ask", reply: { kind: "held" } }], era: "modern" });
    const transport = transportTo(server).beModern();
    const id = transport.send("tools/call", modernParams({ name: "ask" }));
    const call = await server.awaitCall("ask");
    transport.transport.cancel(id, "enough");
    await call.untilCancelled();
    expect(server.requests).toHaveLength(1);
    expect(transport.endsOf(id)).toBe(0);
  });

  test("a stream that breaks off loses the call, and it is not resumed", async () => {
    const server = await serve({ ...ECHO, era: "modern" });
    const transport = transportTo(server).beModern();
    server.misbehave({}, { kind: "events", text: "id: 1\nretry: 1\ndata:\n\n" });
    expect(await transport.requestModern("tools/call", { name: "echo" })).toMatchObject({
      kind: "lost",
      loss: { wasSent: true, error: { code: "mcp.connection_lost" } },
    });
    expect(server.requests).toHaveLength(1);
  });

  test("a session id in an answer is ignored", async () => {
    const server = await serve({ ...ECHO, era: "modern" });
    const transport = transportTo(server).beModern();
    const headers = { ...jsonType, "mcp-session-id": "abc" };
    const body = '{"jsonrpc":"2.0","id":1,"result":{}}';
    server.misbehave({}, { kind: "answer", status: 200, headers, body }, 1);
    await transport.requestModern("tools/list");
    await transport.requestModern("tools/list");
    expect(server.requests[1]?.headers["mcp-session-id"]).toBeUndefined();
  });

  test("an error without an id is for the POST it answers, whatever the status", async () => {
    const server = await serve({ ...ECHO, era: "modern" });
    const transport = transportTo(server).beModern();
    for (const [status, id] of [
      [400, "null"],
      [404, "1"],
      [500, "99"],
      [200, "null"],
    ] as const) {
      const body = `{"jsonrpc":"2.0","id":${id},"error":{"code":-32022,"message":"no","data":{"supported":["x"]}}}`;
      server.misbehave({}, { kind: "answer", status, headers: jsonType, body }, 1);
      expect(await transport.requestModern("tools/list")).toEqual({ kind: "error", code: -32022, message: "no" });
    }
  });
});
