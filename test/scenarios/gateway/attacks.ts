// Attempts to get in, to take more than one may, or to stop others: each with what it must meet, and what must be written down.
import { strict as assert } from "node:assert";
import type { Socket } from "node:net";
import type { Scope } from "../../../src/gateway/index.js";
import { dial, type Frame, type Place, send, untilEnd, WireClient } from "./wire-client.js";

/** A running gateway. */
export interface Target extends Place {
  readonly socketPath: string;
  /** Good for `read` and `prompt` of the account `me` unless said otherwise. */
  token(more?: { scopes?: readonly Scope[]; account?: string; expiresInMs?: number }): Promise<string>;
  revoke(token: string): Promise<void>;
  /** The root that sessions may be in, with a link `out` that leads out of it. */
  readonly root: string;
  /** Stored sessions that nobody has open, in the root and outside of it. */
  readonly stored: { readonly inside: string; readonly outside: string };
}

export interface Attack {
  /** `from`: an address of this machine that only this attack uses. */
  run(target: Target, from: string): Promise<void>;
  /** In the audit file afterwards; `ADDRESS` stands for `from`. */
  readonly logged: RegExp;
}

const INITIALIZE = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } });
const JSON_TYPE = { "content-type": "application/json" };

export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

export function url({ host, port }: Place, path = "/acp"): string {
  return `ws://${host}:${port}${path}`;
}

async function isRefused(opening: Promise<WireClient>, status: number): Promise<void> {
  await assert.rejects(opening, new RegExp(`HTTP ${status}`, "u"));
}

/** Over WebSocket and over HTTP. */
function withHeaders(
  headers: (target: Target) => Promise<Record<string, string>>,
  status: number,
  path = "/acp",
): Attack["run"] {
  return async (target, from) => {
    const given = await headers(target);
    await isRefused(WireClient.open(url(target, path), given, from), status);
    const answer = await send(target, {
      method: "POST",
      path,
      headers: { ...JSON_TYPE, ...given },
      body: INITIALIZE,
      from,
    });
    assert.equal(answer.status, status);
    assert.ok(answer.body.length < 40, `tells more than it should: ${answer.body}`);
    assert.equal(answer.headers["acp-connection-id"], undefined);
  };
}

export async function opened(
  target: Target,
  from: string,
  scopes: readonly Scope[] = ["read", "prompt"],
): Promise<WireClient> {
  const client = await WireClient.open(url(target), bearer(await target.token({ scopes })), from);
  assert.equal((await client.initialize()).error, undefined);
  return client;
}

function errorOf({ error }: Frame): number {
  assert.ok(error, "it was not refused");
  return error.code;
}

/** What a gateway says to bytes that are no good request, until it ends the connection. */
async function answerTo(target: Target, from: string, write: (socket: Socket) => void): Promise<string> {
  const socket = await dial(target, from);
  const answer = untilEnd(socket);
  write(socket);
  return await answer;
}

async function httpConnection(target: Target, token: string, from: string): Promise<string> {
  const headers = { ...JSON_TYPE, ...bearer(token) };
  const { status, headers: answered } = await send(target, { method: "POST", headers, body: INITIALIZE, from });
  assert.equal(status, 200);
  return String(answered["acp-connection-id"]);
}

export const ATTACKS: Readonly<Record<string, Attack>> = {
  "no token": { run: withHeaders(async () => ({}), 401), logged: /"reason":"no_token","remote":"ADDRESS"/u },
  "a wrong token": {
    run: withHeaders(async () => bearer(`tng_${"x".repeat(43)}`), 401),
    logged: /"reason":"unknown_token","remote":"ADDRESS"/u,
  },
  "the hash of a token": {
    run: withHeaders(async () => bearer("0".repeat(64)), 401),
    logged: /"reason":"unknown_token","remote":"ADDRESS"/u,
  },
  "an expired token": {
    run: withHeaders(async (target) => {
      const token = await target.token({ expiresInMs: 1 });
      await new Promise((resolve) => setTimeout(resolve, 5));
      return bearer(token);
    }, 401),
    logged: /"reason":"expired_token","remote":"ADDRESS"/u,
  },
  "a revoked token": {
    run: withHeaders(async (target) => {
      const token = await target.token();
      await target.revoke(token);
      return bearer(token);
    }, 401),
    logged: /"reason":"revoked_token","remote":"ADDRESS"/u,
  },
  "a token that is revoked while it is connected": {
    run: async (target, from) => {
      const token = await target.token();
      const client = await WireClient.open(url(target), bearer(token), from);
      await client.initialize();
      const startedMs = performance.now();
      await target.revoke(token);
      assert.deepEqual(await client.ended, { code: 1008, reason: "the token was revoked" });
      assert.ok(performance.now() - startedMs < 1_000, "it took more than a second");
    },
    logged: /"event":"disconnected".*"remote":"ADDRESS","code":1008/u,
  },
  "a token in the query": {
    run: async (target, from) => {
      const token = await target.token();
      await isRefused(WireClient.open(url(target, `/acp?token=${token}`), {}, from), 401);
      const path = `/acp?access_token=${token}`;
      assert.equal(
        (await send(target, { method: "POST", path, headers: JSON_TYPE, body: INITIALIZE, from })).status,
        401,
      );
    },
    logged: /"reason":"token_in_query","remote":"ADDRESS"/u,
  },
  "a token as Basic credentials": {
    run: withHeaders(async (target) => {
      const basic = Buffer.from(`me:${await target.token()}`).toString("base64");
      return { authorization: `Basic ${basic}` };
    }, 401),
    logged: /"reason":"no_token","remote":"ADDRESS"/u,
  },
  "eleven wrong tokens in a minute": {
    run: async (target, from) => {
      for (let count = 0; count < 10; count++)
        await isRefused(WireClient.open(url(target), bearer("tng_x"), from), 401);
      await isRefused(WireClient.open(url(target), bearer("tng_x"), from), 429);
    },
    logged: /"reason":"too_many_failures","remote":"ADDRESS"/u,
  },
  "a page of another site": {
    run: withHeaders(async (target) => ({ ...bearer(await target.token()), origin: "https://evil.example" }), 403),
    logged: /"reason":"origin","remote":"ADDRESS"/u,
  },
  "a page without an origin": {
    run: withHeaders(async (target) => ({ ...bearer(await target.token()), origin: "null" }), 403),
    logged: /"reason":"origin","remote":"ADDRESS"/u,
  },
  "a page of the same machine at another port": {
    run: withHeaders(async (target) => ({ ...bearer(await target.token()), origin: "http://127.0.0.1:3000" }), 403),
    logged: /"reason":"origin","remote":"ADDRESS"/u,
  },
  "a name that was made to lead here": {
    run: withHeaders(
      async (target) => ({ ...bearer(await target.token()), host: `rebind.evil.example:${target.port}` }),
      403,
    ),
    logged: /"reason":"host","remote":"ADDRESS"/u,
  },
  "health and figures by such a name": {
    run: async (target, from) => {
      const headers = { host: `rebind.evil.example:${target.port}` };
      for (const path of ["/healthz", "/readyz", "/metrics"])
        assert.equal((await send(target, { path, headers, from })).status, 403);
    },
    logged: /"reason":"host","remote":"ADDRESS"/u,
  },
  "a stolen connection id, with another account's token": {
    run: async (target, from) => {
      const id = await httpConnection(target, await target.token(), from);
      const thief = { ...bearer(await target.token({ account: "thief" })), "acp-connection-id": id };
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: 2,
        method: "session/new",
        params: { cwd: "/", mcpServers: [] },
      });
      const asked = await send(target, { method: "POST", headers: { ...JSON_TYPE, ...thief }, body, from });
      const heard = await send(target, { headers: { ...thief, accept: "text/event-stream" }, from });
      const ended = await send(target, { method: "DELETE", headers: thief, from });
      assert.deepEqual([asked.status, heard.status, ended.status], [404, 404, 404]);
    },
    logged: /"reason":"foreign_connection_id","remote":"ADDRESS"/u,
  },
  "a connection id, with a token of the account that may do less": {
    run: async (target, from) => {
      const id = await httpConnection(target, await target.token(), from);
      const reader = { ...bearer(await target.token({ scopes: ["read"] })), "acp-connection-id": id };
      assert.equal((await send(target, { method: "DELETE", headers: reader, from })).status, 404);
    },
    logged: /"reason":"foreign_connection_id","remote":"ADDRESS"/u,
  },
  "a prompt with a token that may only read": {
    run: async (target, from) => {
      const client = await opened(target, from, ["read"]);
      for (const method of ["session/new", "session/prompt", "session/delete", "_tenon/gateway/stop", "_tenon/other"])
        assert.equal(
          errorOf(await client.request(method, { sessionId: "s", cwd: "/", mcpServers: [], prompt: [] })),
          -32003,
        );
      await client.close();
    },
    logged: /"event":"denied".*"method":"session\/new"/u,
  },
  "a prompt over HTTP with a token that may only read": {
    run: async (target, from) => {
      const token = await target.token({ scopes: ["read"] });
      const id = await httpConnection(target, token, from);
      const headers = { ...JSON_TYPE, ...bearer(token), "acp-connection-id": id };
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: 2,
        method: "session/new",
        params: { cwd: "/", mcpServers: [] },
      });
      const { status, body: text } = await send(target, { method: "POST", headers, body, from });
      assert.deepEqual([status, JSON.parse(text).error.code], [403, -32003]);
    },
    logged: /"event":"denied".*"method":"session\/new"/u,
  },
  "servers with a token that may not hand them over": {
    run: async (target, from) => {
      const client = await opened(target, from);
      const server = { name: "s", command: "/bin/sh", args: ["-c", "touch /tmp/owned"], env: [] };
      assert.equal(errorOf(await client.request("session/new", { cwd: "/", mcpServers: [server] })), -32003);
      await client.close();
    },
    logged: /"event":"denied".*"method":"session\/new"/u,
  },
  "an environment over TCP": {
    run: async (target, from) => {
      const client = await WireClient.open(url(target), bearer(await target.token()), from);
      const env = { PATH: "/tmp/evil", TENON_CANARY: "env-canary-over-tcp" };
      assert.equal(errorOf(await client.initialize({ tenon: { env } })), -32003);
      await client.close();
    },
    logged: /"event":"denied".*"method":"initialize"/u,
  },
  "a head of 20 KB": {
    run: async (target, from) => {
      const head = `GET /acp HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\nX: ${"x".repeat(20_000)}\r\n\r\n`;
      assert.match(await answerTo(target, from, (socket) => socket.write(head)), /^HTTP\/1.1 431/u);
    },
    logged: /"reason":"head_too_large","remote":"ADDRESS"/u,
  },
  "a head that never ends": {
    run: async (target, from) => {
      const text = await answerTo(target, from, (socket) => socket.write("GET /acp HTTP/1.1\r\nHost: a"));
      assert.match(text, /^HTTP\/1.1 408/u);
    },
    logged: /"reason":"too_slow","remote":"ADDRESS"/u,
  },
  "two lengths of one body": {
    run: async (target, from) => {
      const head = `POST /acp HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const text = await answerTo(target, from, (socket) =>
        socket.write(`${head}0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n`),
      );
      assert.match(text, /^HTTP\/1.1 400/u);
    },
    logged: /"reason":"malformed","remote":"ADDRESS"/u,
  },
  "a body without a token is not read": {
    run: async (target, from) => {
      const head = ["POST /acp HTTP/1.1", `Host: 127.0.0.1:${target.port}`, "Content-Length: 16000000"].join("\r\n");
      const text = await answerTo(target, from, (socket) => socket.write(`${head}\r\nExpect: 100-continue\r\n\r\n`));
      assert.match(text, /^HTTP\/1.1 401/u);
    },
    logged: /"reason":"no_token","remote":"ADDRESS"/u,
  },
  "a body of 17 MB": {
    run: async (target, from) => {
      const headers = { ...JSON_TYPE, ...bearer(await target.token()) };
      const announced = { method: "POST", headers: { ...headers, "content-length": "17000000" }, from };
      assert.equal((await send(target, announced)).status, 413);
      const chunked = { ...headers, "transfer-encoding": "chunked" };
      const sent = send(target, { method: "POST", headers: chunked, body: "x".repeat(17_000_000), from });
      const status = await sent.then((answer) => answer.status).catch(() => 413); // the rest was not taken
      assert.equal(status, 413);
    },
    logged: /"reason":"body_too_large","remote":"ADDRESS"/u,
  },
  "a frame of 33 MB": {
    run: async (target, from) => {
      const client = await opened(target, from);
      client.web.send("x".repeat(33_600_000));
      assert.equal((await client.ended).code, 1009);
    },
    logged: /"event":"disconnected".*"remote":"ADDRESS","code":1009/u,
  },
  "frames that are no messages": {
    run: async (target, from) => {
      const client = await opened(target, from);
      const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
      const frames = ["", "{", "[]", `[${INITIALIZE}]`, deep, `{"jsonrpc":"2.0","id":1,"method":"x","params":${deep}}`];
      for (let count = 0; count < 20; count++) client.web.send(frames[count % frames.length] ?? "");
      assert.equal((await client.ended).code, 1008);
      assert.ok(client.received.slice(1).every(({ id, error }) => id === null && error !== undefined));
    },
    logged: /"event":"malformed"/u,
  },
  "a thousand requests at once": {
    run: async (target, from) => {
      const client = await opened(target, from);
      const calls = Array.from({ length: 1_000 }, () => client.request("session/list"));
      const codes = (await Promise.all(calls)).flatMap(({ error }) => error?.code ?? []);
      assert.ok(codes.length > 850 && codes.every((code) => code === -32004), `${codes.length} were refused`);
      await client.close();
    },
    logged: /"event":"limited".*"method":"session\/list"/u,
  },
  "a connection too many of one token": {
    run: async (target, from) => {
      const headers = bearer(await target.token());
      const clients = await Promise.all(Array.from({ length: 64 }, () => WireClient.open(url(target), headers, from)));
      await isRefused(WireClient.open(url(target), headers, from), 429);
      await Promise.all(clients.map((client) => client.close()));
    },
    logged: /"reason":"too_many_connections","remote":"ADDRESS"/u,
  },
  "two thousand connections": {
    run: async (target, from) => {
      const sockets: Socket[] = [];
      for (let batch = 0; batch < 20; batch++) {
        const dialled = await Promise.allSettled(Array.from({ length: 100 }, () => dial(target, from)));
        sockets.push(...dialled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])));
      }
      const local = await WireClient.open(`ws+unix:${target.socketPath}:/acp`);
      assert.equal((await local.initialize()).error, undefined);
      await local.close();
      // Each has five seconds to say something; then there is room again.
      await Promise.all(sockets.map((socket) => untilEnd(socket)));
      const remote = await opened(target, from);
      await remote.close();
    },
    logged: /"reason":"too_many","remote":"ADDRESS"/u,
  },
  "another path": {
    run: async (target, from) => {
      const headers = bearer(await target.token());
      await isRefused(WireClient.open(url(target, "/acp/../etc/passwd"), headers, from), 404);
      for (const path of ["/acp/", "//acp", "/assets/../etc/passwd", "/..%2f..%2fetc/passwd", "/healthz/../metrics"])
        assert.equal((await send(target, { path, headers, from })).status, 404);
      assert.equal((await send(target, { path: "/acp", method: "PUT", headers, from })).status, 405);
    },
    logged: /"reason":"unknown_path","remote":"ADDRESS"/u,
  },
};
