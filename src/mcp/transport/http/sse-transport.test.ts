// The older HTTP+SSE transport, named by the entry or found out by the server's own word.

import { describe, expect, test } from "vitest";
import { bench, ECHO, jsonType } from "../../../../test/remote/bench.js";
import { modernParams, textOf } from "../../../../test/remote/test-transport.js";
import { type Behaviour, echoTool, FakeWorld, type HttpFault } from "../../../testing/index.js";
import { MCP_LIMITS } from "../../limits.js";

const { serve, legacy, transportTo } = bench();
const SSE = { transport: "sse" } as const;
const sse = { kind: "sse" } as const;

function stream(text: string, stays = true): HttpFault {
  return { kind: "events", text, stays };
}

describe("named by the entry", () => {
  test("everything comes over the one stream", async () => {
    const behaviour: Behaviour = {
      tools: [
        echoTool(),
        { name: "ask", reply: { kind: "ask_client", method: "roots/list" } },
        { name: "job", steps: [{ do: "progress", progress: 1 }], reply: { kind: "text", text: "done" } },
      ],
    };
    const server = await serve(behaviour, SSE);
    const transport = await legacy(server, sse);
    expect(textOf(await transport.call("echo", { text: "hi" }))).toBe('{"text":"hi"}');
    const id = transport.send("tools/call", { name: "ask" });
    const asked = await transport.told.find((told) => told.kind === "message" && told.message.kind === "request");
    if (asked.kind !== "message" || asked.message.kind !== "request") throw new Error("not asked");
    transport.transport.send({ jsonrpc: "2.0", id: asked.message.id, result: { roots: [] } });
    expect(textOf(await transport.ended(id))).toBe('{"roots":[]}');
    expect(textOf(await transport.request("tools/call", { name: "job", _meta: { progressToken: 9 } }))).toBe("done");
    expect(transport.notifications("notifications/progress")).toHaveLength(1);
    expect(server.requests.filter(({ method }) => method === "GET")).toHaveLength(1);
    expect(server.requests.filter(({ method }) => method === "DELETE")).toHaveLength(0);
  });

  test("the probe is answered without asking: this transport is older than it", async () => {
    const server = await serve(ECHO, SSE);
    const transport = transportTo(server, sse);
    expect(await transport.request("server/discover", modernParams())).toMatchObject({ kind: "error", code: -32601 });
    expect(server.requests.filter(({ method }) => method === "POST")).toHaveLength(0);
  });

  test("headers and tokens go on both the stream and the messages", async () => {
    const server = await serve(ECHO, { ...SSE, bearer: "t0ken" });
    const transport = await legacy(server, {
      ...sse,
      auth: { type: "bearer", token: "t0ken" },
      headers: { "x-tenant": "a" },
    });
    await transport.call("echo");
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ authorization: "Bearer t0ken", "x-tenant": "a" });
    }
  });

  test("cancelling is a notification", async () => {
    const server = await serve({ tools: [{ name: "ask", reply: { kind: "held" } }] }, SSE);
    const transport = await legacy(server, sse);
    const id = transport.send("tools/call", { name: "ask" });
    const call = await server.awaitCall("ask");
    transport.transport.cancel(id, "enough");
    await call.untilCancelled();
    expect(transport.endsOf(id)).toBe(0);
  });

  test("when the stream ends the session is lost", async () => {
    const server = await serve(ECHO, SSE);
    const transport = await legacy(server, sse);
    await transport.call("echo");
    await server.forgetSessions();
    expect((await transport.closed()).code).toBe("mcp.session_lost");
  });

  test("a message for a session the server does not know ends it, and was not acted on", async () => {
    const server = await serve(ECHO, SSE);
    const transport = await legacy(server, sse);
    server.misbehave({ method: "tools/call" }, { kind: "answer", status: 404, body: "Session not found" });
    expect(await transport.call("echo")).toMatchObject({
      kind: "lost",
      loss: { wasSent: false, error: { code: "mcp.session_lost" } },
    });
    expect((await transport.closed()).code).toBe("mcp.session_lost");
  });

  test("a message the server refuses is lost alone", async () => {
    const server = await serve(ECHO, SSE);
    const transport = await legacy(server, sse);
    server.misbehave({ method: "tools/call" }, { kind: "answer", status: 500, body: "oops" }, 1);
    expect(await transport.call("echo")).toMatchObject({ kind: "lost", loss: { error: { code: "mcp.unavailable" } } });
    const body = '{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad"}}';
    server.misbehave({ method: "tools/call" }, { kind: "answer", status: 400, headers: jsonType, body }, 1);
    expect(await transport.call("echo")).toMatchObject({ kind: "error", code: -32602 });
    expect(textOf(await transport.call("echo", { text: "on" }))).toBe('{"text":"on"}');
  });

  test.each<[string, HttpFault, string]>([
    ["401", { kind: "answer", status: 401 }, "mcp.unauthorized"],
    ["a page", { kind: "answer", status: 200, headers: { "content-type": "text/html" }, body: "<p>" }, "mcp.protocol"],
    ["another event first", stream('data: {"jsonrpc":"2.0","method":"x"}\n\n'), "mcp.protocol"],
    ["an early end", stream(": hello\n\n", false), "mcp.connect_failed"],
    ["another origin", stream("event: endpoint\ndata: https://elsewhere.example/m\n\n"), "mcp.url_refused"],
    ["another port", stream("event: endpoint\ndata: http://127.0.0.1:1/m\n\n"), "mcp.url_refused"],
    ["no URL", stream("event: endpoint\ndata: http://[\n\n"), "mcp.url_refused"],
    ["a reset", { kind: "reset" }, "mcp.connection_lost"],
  ])("%s instead of the endpoint breaks it off, with nothing sent", async (_, fault, code) => {
    const server = await serve(ECHO, SSE);
    server.misbehave({ http: "GET" }, fault);
    const transport = transportTo(server, sse);
    expect(await transport.initialize()).toMatchObject({ kind: "lost", loss: { wasSent: false, error: { code } } });
    expect((await transport.closed()).code).toBe(code);
    expect(server.requests.filter(({ method }) => method === "POST")).toHaveLength(0);
  });

  test("an endpoint that never comes is not waited for for ever", async () => {
    const world = new FakeWorld();
    const server = await serve(ECHO, SSE);
    server.misbehave({ http: "GET" }, stream(": wait\n\n"));
    const transport = transportTo(server, sse, { world });
    await server.awaitRequest(({ method }) => method === "GET");
    await world.advance(MCP_LIMITS.sseEndpointMs);
    expect((await transport.closed()).code).toBe("mcp.connect_timeout");
  });
});

describe("found out by the server's word", () => {
  test("`initialize` refused and an endpoint offered: the older transport is used, and nobody notices", async () => {
    const server = await serve(ECHO, SSE);
    const transport = transportTo(server);
    const probe = await transport.request("server/discover", modernParams());
    expect(probe).toMatchObject({ kind: "lost", loss: { httpStatus: 404 } });
    expect((await transport.initialize()).kind).toBe("result");
    expect(textOf(await transport.call("echo", { text: "hi" }))).toBe('{"text":"hi"}');
    await transport.close();
    expect(server.requests.some(({ method }) => method === "DELETE")).toBe(false);
    await expect.poll(() => server.sessionCount).toBe(0);
  });

  test.each([
    ["405 and a page", 405, "text/html", "<p>"],
    ["405 as JSON-RPC", 405, "application/json", '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}'],
    ["400 and a text", 400, "text/plain", "no"],
  ])("also with %s", async (_, status, type, body) => {
    const server = await serve(ECHO, SSE);
    const fault = { kind: "answer", status, headers: { "content-type": type }, body } as const;
    server.misbehave({ method: "initialize" }, fault, 1);
    const transport = transportTo(server);
    expect((await transport.initialize()).kind).toBe("result");
  });

  test("without an endpoint the refusal stands", async () => {
    const server = await serve();
    server.misbehave({ method: "initialize" }, { kind: "answer", status: 404, body: "nothing here" });
    const transport = transportTo(server);
    expect(await transport.initialize()).toMatchObject({
      kind: "lost",
      loss: { httpStatus: 404, error: { code: "mcp.protocol", message: expect.stringContaining("nothing here") } },
    });
    expect(transport.told.items.some(({ kind }) => kind === "closed")).toBe(false);
  });

  test("a JSON-RPC error is no reason to look for it", async () => {
    const server = await serve();
    const body = '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}';
    server.misbehave({ method: "initialize" }, { kind: "answer", status: 400, headers: jsonType, body });
    expect(await transportTo(server).initialize()).toMatchObject({ kind: "error", code: -32000 });
    expect(server.requests.map(({ method }) => method)).toEqual(["POST"]);
  });

  test("looking for it ends with the cancelling of `initialize`, and with closing", async () => {
    const server = await serve();
    server.misbehave({ method: "initialize" }, { kind: "answer", status: 405 });
    server.misbehave({ http: "GET" }, stream(": wait\n\n"));
    const transport = transportTo(server);
    const id = transport.send("initialize");
    await server.awaitRequest(({ method }) => method === "GET");
    transport.transport.cancel(id, "deadline");
    const other = transportTo(server);
    other.send("initialize");
    await server.awaitRequest(({ method }) => method === "GET", { from: 3 });
    await other.close();
    expect(transport.endsOf(id)).toBe(0);
  });
});
