// Connections under the requests: kept while they are good, never trusted without a valid certificate.

import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type Socket, type Server as TcpServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import { CERTIFICATE, KEY } from "../../../../test/certificate.js";
import { bench, closeListener, ECHO, listenOnLoopback } from "../../../../test/remote/bench.js";
import { textOf } from "../../../../test/remote/test-transport.js";
import { LIMITS } from "../../../base/limits.js";
import { FakeWorld } from "../../../testing/index.js";
import { MCP_LIMITS } from "../../limits.js";

const { own, serve, legacy, transportTo } = bench();

const unset: string | undefined = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];

afterEach(() => {
  if (unset === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
});

async function listening(server: Server): Promise<string> {
  const origin = await listenOnLoopback(server);
  own({ [Symbol.asyncDispose]: () => closeListener(server) });
  return origin;
}

function echo(request: IncomingMessage, response: ServerResponse): void {
  let body = "";
  request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
  request.on("end", () => {
    const { id }: { id: number } = JSON.parse(body);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
  });
}

test("a certificate nobody vouches for is refused before anything is sent, whatever the environment says", async () => {
  let requests = 0;
  const server = createHttpsServer({ key: KEY, cert: CERTIFICATE }, () => (requests += 1));
  const origin = (await listening(server)).replace("http:", "https:");
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  const transport = transportTo({ url: `${origin}/mcp` });
  expect(await transport.request("ping")).toMatchObject({
    kind: "lost",
    loss: { wasSent: false, error: { code: "mcp.unavailable", message: expect.stringContaining("self-signed") } },
  });
  expect(requests).toBe(0);
});

test("one connection serves call after call, and is dropped before the server would drop it", async () => {
  let connections = 0;
  const server = createHttpServer(echo);
  server.keepAliveTimeout = 2_000; // so it says, and is believed: dropped after one
  server.on("connection", () => (connections += 1));
  const ended: number[] = [];
  server.on("connection", (socket: Socket) => socket.on("end", () => ended.push(performance.now())));
  const transport = transportTo({ url: `${await listening(server)}/mcp` });
  for (let n = 0; n < 5; n++) expect((await transport.request("ping")).kind).toBe("result");
  expect(connections).toBe(1);
  const idleSinceMs = performance.now();
  await expect.poll(() => ended.length, { timeout: 5_000 }).toBe(1);
  expect((ended[0] ?? 0) - idleSinceMs).toBeGreaterThan(500);
  expect((ended[0] ?? 0) - idleSinceMs).toBeLessThan(1_900);
  expect((await transport.request("ping")).kind).toBe("result");
  expect(connections).toBe(2);
});

test("idle connections are dropped in good time before the 5 s of most servers", () => {
  expect(LIMITS.httpIdleSocketMs).toBeLessThan(4_000);
});

test("a server that keeps the stream of an answer open is cut off, not waited for", async () => {
  const world = new FakeWorld();
  const server = await serve();
  const transport = await legacy(server, {}, { world });
  await transport.call("echo");
  const answer = 'data: {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"here"}]}}\n\n';
  server.misbehave({ method: "tools/call" }, { kind: "events", text: answer, stays: true }, 1);
  expect(textOf(await transport.call("echo"))).toBe("here");
  expect(server.openAnswers).toBe(1);
  await world.advance(2 * MCP_LIMITS.httpLingerMs);
  await expect.poll(() => server.openAnswers).toBe(0);
  expect(transport.endsOf(3)).toBe(1);
});

async function tcp(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: TcpServer = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  own({
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/mcp`;
}

test.each([
  ["not HTTP at all", "SSH-2.0-OpenSSH_9.9\r\n"],
  ["headers without end", `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(10_000)}`],
  ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}"],
])("%s is a lost request, not a crash", async (_, bytes) => {
  const url = await tcp((socket) => socket.on("data", () => socket.write(bytes)));
  expect(await transportTo({ url }).request("ping")).toMatchObject({
    kind: "lost",
    loss: { wasSent: true, error: { code: "mcp.connection_lost" } },
  });
});

test("closing ends requests, streams and looking-up at once, and says nothing any more", async () => {
  const server = await serve(ECHO, { hasListenStream: true });
  server.misbehave({ method: "tools/call" }, { kind: "hang" });
  const transport = await legacy(server);
  await transport.request("tools/list");
  const id = transport.send("tools/call", { name: "echo" });
  await server.awaitRequest(({ message }) => message?.["id"] === id);
  const told = transport.told.items.length;
  await transport.close();
  await transport.transport.close({ stdinMs: 1, terminateMs: 1 });
  transport.send("tools/call", { name: "echo" });
  transport.transport.cancel(id, "late");
  expect(transport.told.items).toHaveLength(told);
  const early = transportTo({ url: "https://slow.test/mcp" }, {}, { world: new SlowLookup() });
  early.send("ping");
  await early.close();
  expect(early.told.items).toEqual([]);
});

class SlowLookup extends FakeWorld {
  override lookup(): Promise<never> {
    return new Promise(() => {});
  }
}

test("a DELETE that is never answered does not hold closing up", async () => {
  const server = await serve();
  server.misbehave({ http: "DELETE" }, { kind: "hang" });
  const transport = await legacy(server);
  const startMs = performance.now();
  await transport.transport.close({ stdinMs: 100, terminateMs: 100 });
  expect(performance.now() - startMs).toBeLessThan(1_000);
});
