// The server of a gateway with a small agent behind it: both transports, access, limits, and what is left behind.
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { agent, client, methods } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { expect } from "vitest";
import {
  type Gateway,
  type GatewayAccess,
  type GatewayServerOptions,
  loadGatewayServer,
} from "../../src/gateway/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { CERTIFICATE, KEY } from "../certificate.js";
import { cleanEnv, TemporaryFolder } from "../scenarios/agent.js";
import { dial, send, untilEnd, WireClient } from "../scenarios/gateway/wire-client.js";
import { scenario } from "../scenarios/scenario.js";
import { openTestStore } from "../test-store.js";

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Answers every request with the account it belongs to; counts what reached it. */
class EchoAgent {
  readonly heard: string[] = [];

  readonly connect: GatewayServerOptions["connect"] = ({ account }, stream) => {
    agent({ name: "echo" })
      .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
      .onRequest(methods.agent.session.list, () => ({ sessions: [] }))
      .onRequest(methods.agent.session.new, () => {
        this.heard.push("session/new");
        return { sessionId: `s-${account}` };
      })
      .onRequest(methods.agent.session.prompt, async ({ params }) => {
        this.heard.push("session/prompt");
        const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: account } };
        await stream.send({
          jsonrpc: "2.0",
          method: "session/update",
          params: { sessionId: params.sessionId, update },
        });
        return { stopReason: "end_turn" as const };
      })
      .connect(stream);
  };
}

interface Running extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly access: GatewayAccess;
  readonly echo: EchoAgent;
  readonly home: TemporaryFolder;
  readonly port: number;
  readonly socketPath: string;
  audit(): string;
  token(name: string, scopes?: readonly ("read" | "prompt" | "approve" | "tools" | "admin")[]): Promise<string>;
}

async function running(more: Partial<GatewayServerOptions> = {}): Promise<Running> {
  const home = new TemporaryFolder();
  const world = nodeWorld({ env: cleanEnv(home.path), log: QUIET });
  const { startGateway, openAccess } = await loadGatewayServer();
  const store = await openTestStore(world, home.path);
  const access = await openAccess(world, home.path, store);
  const echo = new EchoAgent();
  const socketPath = join(home.path, "gateway", "gateway.sock");
  const listen = [{ kind: "tcp", host: "127.0.0.1", port: 0 } as const, { kind: "socket", path: socketPath } as const];
  const gateway = await startGateway({ world, listen, access, connect: echo.connect, ...more });
  return {
    gateway,
    access,
    echo,
    home,
    socketPath,
    port: Number(gateway.addresses[0]?.split(":")[1]),
    audit: () => readFileSync(access.audit.path, "utf8"),
    token: async (name, scopes = ["read", "prompt"]) => {
      const { token } = await access.tokens.kept.create({ name, scopes });
      await access.tokens.ready();
      return token;
    },
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await access[Symbol.asyncDispose]();
      await store?.[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}

scenario(["G300"], "a client speaks ACP over WebSocket, by token and by socket, and over Streamable HTTP", async () => {
  await using place = await running();
  const authorization = `Bearer ${await place.token("laptop")}`;
  const remote = await WireClient.open(`ws://127.0.0.1:${place.port}/acp`, { authorization });
  expect((await remote.initialize()).result).toMatchObject({ protocolVersion: 1 });
  const { result } = await remote.request("session/new", { cwd: "/", mcpServers: [] });
  expect(result).toEqual({ sessionId: "s-me" });
  const prompt = { sessionId: "s-me", prompt: [{ type: "text", text: "hello" }] };
  expect((await remote.request("session/prompt", prompt)).result).toEqual({ stopReason: "end_turn" });
  expect(remote.received.map(({ method }) => method)).toContain("session/update");
  await remote.close();
  const local = await WireClient.open(`ws+unix:${place.socketPath}:/acp`);
  expect((await local.initialize()).result).toMatchObject({ protocolVersion: 1 });
  await local.close();
  const updates: unknown[] = [];
  const connection = client({ name: "http" })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update);
    })
    .connect(createHttpStream(`http://127.0.0.1:${place.port}/acp`, { headers: { authorization } }));
  await connection.agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const session = await connection.agent.request(methods.agent.session.new, { cwd: "/", mcpServers: [] });
  expect(session.sessionId).toBe("s-me");
  const ended = await connection.agent.request(methods.agent.session.prompt, prompt as never);
  expect(ended.stopReason).toBe("end_turn");
  expect(updates).toHaveLength(1);
  connection.close();
  await connection.closed;
  expect(place.audit().match(/"event":"connected"/gu)).toHaveLength(3);
});

scenario(
  ["G305", "G309"],
  "over HTTP requests and notifications above the limit get 429 and when to come again",
  async () => {
    await using place = await running();
    const at = { host: "127.0.0.1", port: place.port };
    const headers = { authorization: `Bearer ${await place.token("t")}`, "content-type": "application/json" };
    const post = (message: object, id?: string) =>
      send(at, {
        method: "POST",
        headers: { ...headers, accept: "application/json, text/event-stream", ...(id && { "acp-connection-id": id }) },
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      });
    const { headers: given } = await post({ id: 1, method: "initialize", params: { protocolVersion: 1 } });
    const id = String(given["acp-connection-id"]);
    const list = { method: "session/list", params: {} };
    expect(JSON.parse((await post({ id: null, ...list }, id)).body)).toMatchObject({
      id: null,
      error: { code: -32600 },
    });
    const cancel = { method: "session/cancel", params: { sessionId: "s" } };
    const answers = [];
    for (let count = 0; count < 200; count++) answers.push(await post(cancel, id));
    const late = answers.filter(({ status }) => status === 429);
    expect(late.length).toBeGreaterThan(20);
    expect(late[0]?.headers["retry-after"]).toBe("1");
    const refused = await Promise.all(Array.from({ length: 20 }, (_, count) => post({ id: count + 2, ...list }, id)));
    const limited = refused.find(({ status }) => status === 429);
    expect(JSON.parse(limited?.body ?? "")).toMatchObject({ error: { code: -32004 } });
    expect(limited?.headers["retry-after"]).toBe("1");
    expect(place.audit().match(/"event":"limited"/gu)).toHaveLength(2);
  },
);

scenario(["G301", "G311"], "health is open, everything else needs a token", async () => {
  await using place = await running();
  const at = { host: "127.0.0.1", port: place.port };
  expect((await send(at, { path: "/healthz" })).status).toBe(200);
  expect((await send(at, { path: "/readyz" })).body).toBe("ready\n");
  expect((await send(at, { path: "/metrics" })).body).toContain("tenon_gateway_connections");
  expect((await send(at, { path: "/elsewhere" })).status).toBe(404);
  expect(await send(at, { method: "POST", body: "{}" })).toMatchObject({ status: 401, body: "Unauthorized\n" });
  place.gateway.drain();
  expect((await send(at, { path: "/readyz" })).status).toBe(503);
});

scenario(
  ["G310", "G300", "G661"],
  "a gateway listens with TLS, and not at all where its certificate, its socket or its port are not in order",
  async () => {
    using home = new TemporaryFolder();
    const at = (name: string) => join(home.path, name);
    const files = { certificate: at("cert.pem"), key: at("key.pem") };
    writeFileSync(files.certificate, CERTIFICATE);
    writeFileSync(files.key, KEY);
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
      type: "pkcs8",
      format: "pem",
    });
    writeFileSync(at("other.pem"), other);
    writeFileSync(at("text.pem"), "no certificate");
    const { startGateway, openAccess } = await loadGatewayServer();
    const world = nodeWorld({ env: cleanEnv(home.path), log: QUIET });
    await using access = await openAccess(world, home.path);
    const start = (listen: GatewayServerOptions["listen"], now = Date.UTC(2030)) =>
      startGateway({ world: { ...world, now: () => now }, listen, access, connect: new EchoAgent().connect });
    const tcp = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
    const secure = { ...tcp, tls: files };
    await using gateway = await start([secure, { kind: "socket", path: at("run/gateway.sock") }]);
    const port = Number(gateway.addresses[0]?.split(":")[1]);
    const { token } = await access.tokens.kept.create({ name: "tls", expiresInMs: Number.POSITIVE_INFINITY });
    await access.tokens.ready();
    const client = await WireClient.open(`wss://127.0.0.1:${port}/acp`, { authorization: `Bearer ${token}` });
    expect((await client.initialize()).result).toMatchObject({ protocolVersion: 1 });
    await client.close();
    const origin = `https://127.0.0.1:${port}`;
    const cookies = await new Promise((resolve, reject) => {
      const headers = { origin, "content-type": "application/json" };
      const where = { host: "127.0.0.1", port, path: "/login", method: "POST", rejectUnauthorized: false, headers };
      httpsRequest(where, (response) => resolve(response.resume().headers["set-cookie"]))
        .once("error", reject)
        .end(JSON.stringify({ token }));
    });
    expect(cookies).toEqual([
      expect.stringMatching(/^__Host-tenon=tnd_[\w-]+; Path=\/; HttpOnly; SameSite=Strict;.*; Secure$/u),
    ]);
    const [cookie = ""] = String(cookies).split(";");
    // It is let in, and ended at once: the clock of this gateway is years ahead of the one that made the cookie.
    const page = await WireClient.open(`wss://127.0.0.1:${port}/acp`, { cookie, origin });
    expect(await page.ended).toMatchObject({ code: 1008, reason: "the token expired" });
    const plain = await dial({ host: "127.0.0.1", port });
    plain.write("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    expect(await untilEnd(plain)).not.toContain("ok");

    mkdirSync(at("open"), { mode: 0o755 });
    mkdirSync(at("real"), { mode: 0o700 });
    symlinkSync(at("real"), at("linked"));
    mkdirSync(at("occupied"), { mode: 0o700 });
    writeFileSync(at("occupied/gateway.sock"), "a file");
    const socket = (path: string) => [{ kind: "socket", path: at(path) } as const];
    const refused: readonly (readonly [GatewayServerOptions["listen"], string, RegExp, number?])[] = [
      [[{ ...tcp, tls: { ...files, key: at("none.pem") } }], "config.unreadable", /none\.pem/u],
      [[{ ...tcp, tls: { ...files, certificate: at("text.pem") } }], "config.invalid", /holds no certificate/u],
      [[{ ...tcp, tls: { ...files, key: at("text.pem") } }], "config.invalid", /holds no private key/u],
      [[{ ...tcp, tls: { ...files, key: at("other.pem") } }], "config.invalid", /is not the key of/u],
      [[secure], "config.invalid", /expired on/u, Date.UTC(2200)],
      [[secure], "config.invalid", /is not valid before/u, Date.UTC(2020)],
      [[{ ...tcp, host: "0.0.0.0" }], "usage.invalid", /without TLS/u],
      [[{ ...tcp, port }], "gateway.not_started", new RegExp(`process ${process.pid}`, "u")],
      [socket("run/gateway.sock"), "gateway.not_started", new RegExp(`process ${process.pid}`, "u")],
      [socket("open/gateway.sock"), "gateway.not_started", /open to other users/u],
      [socket("linked/gateway.sock"), "gateway.not_started", /is a link/u],
      [socket("occupied/gateway.sock"), "gateway.not_started", /is a file/u],
    ];
    for (const [listen, code, message, now] of refused) {
      // What comes before it in the list is not left listening.
      const free = { kind: "socket", path: at("free/gateway.sock") } as const;
      const starting = start([free, ...listen], now);
      await expect(starting, String(message)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
      expect(existsSync(free.path)).toBe(false);
    }
    const insecure = await start([{ ...tcp, host: "0.0.0.0", isInsecure: true }, ...socket("free/gateway.sock")]);
    await insecure[Symbol.asyncDispose]();
    expect(existsSync(at("free/gateway.sock"))).toBe(false);
    expect(readFileSync(at("occupied/gateway.sock"), "utf8")).toBe("a file");
  },
  { platform: "linux" },
);

function shared(message: object) {
  return { message, bytes: Buffer.from(JSON.stringify(message)) };
}

scenario(["G306"], "a client that reads nothing delays nobody", async () => {
  const slowed: number[] = [];
  let isHeld = 0;
  await using place = await running({
    connect: (_principal, stream) => {
      const update = shared({ jsonrpc: "2.0", method: "x", params: { text: "x".repeat(200_000) } });
      const index = slowed.push(0) - 1;
      const pump = async () => {
        for (let count = 0; count < 100; count++) {
          isHeld += 1;
          await stream.sendShared(update);
          isHeld -= 1;
          slowed[index] = count + 1;
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      pump().catch(() => {});
    },
  });
  const authorization = `Bearer ${await place.token("t")}`;
  const slow = await WireClient.open(`ws://127.0.0.1:${place.port}/acp`, { authorization });
  slow.web.pause();
  const quick = await WireClient.open(`ws://127.0.0.1:${place.port}/acp`, { authorization });
  await quick.next(() => quick.received.length === 100);
  expect(slowed[1]).toBe(100);
  expect(slowed[0]).toBeLessThan(100);
  expect(isHeld).toBe(1);
  await quick.close();
  slow.web.terminate();
  await slow.ended;
});
