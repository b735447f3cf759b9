// The server on a fake machine: connections in memory, and a clock that the test moves.
import { agent, methods } from "@agentclientprotocol/sdk";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { Scope } from "../protocol.js";
import type { ClientStream } from "./client-stream.js";
import { type Gateway, type GatewayAccess, openAccess, startGateway } from "./gateway.js";

const HOUR_MS = 3_600_000;

interface Place {
  readonly world: FakeWorld;
  readonly gateway: Gateway;
  readonly access: GatewayAccess;
  readonly streams: ClientStream[];
  token(name: string, scopes?: readonly Scope[]): Promise<string>;
  audit(): Promise<string>;
}

async function inPlace(run: (place: Place) => Promise<void>): Promise<void> {
  const world = fakeWorld();
  const access = await openAccess(world, "/state");
  const streams: ClientStream[] = [];
  const gateway = await startGateway({
    world,
    access,
    listen: [{ kind: "tcp", host: "127.0.0.1", port: 7_000 }],
    connect: (_principal, stream) => {
      streams.push(stream);
      const app = agent({ name: "test" })
        .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
        .onRequest(methods.agent.session.list, () => ({ sessions: [] }))
        .onRequest(methods.agent.session.prompt, () => new Promise(() => {}));
      app.connect(stream);
    },
  });
  const token = async (name: string, scopes: readonly Scope[] = ["read", "prompt"]) => {
    const made = await access.tokens.kept.create({ name, scopes, expiresInMs: HOUR_MS });
    await access.tokens.ready();
    return made.token;
  };
  await run({ world, gateway, access, streams, token, audit: () => world.files.readText(access.audit.path) });
  await gateway[Symbol.asyncDispose]();
  await access[Symbol.asyncDispose]();
  await world.settle();
  expect(world.clock.pendingTimers).toBe(0);
  expect(world.servers.addresses).toEqual([]);
}

class Client {
  readonly web: WebSocket;
  readonly frames: string[] = [];
  ended: { readonly code: number; readonly reason: string } | undefined;

  constructor({ world }: Place, token: string, headers: Readonly<Record<string, string>> = {}) {
    this.web = new WebSocket("ws://127.0.0.1:7000/acp", {
      createConnection: () => world.servers.connect("127.0.0.1:7000"),
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    this.web.on("error", () => {});
    this.web.on("message", (data) => this.frames.push(String(data)));
    this.web.on("close", (code, reason) => {
      this.ended = { code, reason: String(reason) };
    });
  }

  async opened(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.web.once("open", resolve);
      this.web.once("close", () => reject(new Error("refused")));
    });
    return this;
  }

  say(message: unknown): void {
    this.web.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  call(id: number, method: string, params: object = {}): void {
    this.say({ jsonrpc: "2.0", id, method, params });
  }

  errors(): { readonly id: unknown; readonly code: number; readonly message: string }[] {
    const frames: { id?: unknown; error?: { code: number; message: string } }[] = this.frames.map((frame) =>
      JSON.parse(frame),
    );
    return frames.flatMap(({ id, error }) => (error ? [{ id, code: error.code, message: error.message }] : []));
  }
}

const INITIALIZE = { protocolVersion: 1 };

describe("a WebSocket", () => {
  test("that does not send initialize is closed after ten seconds", () =>
    inPlace(async (place) => {
      const client = await new Client(place, await place.token("t")).opened();
      await place.world.advance(GATEWAY_LIMITS.initializeMs);
      await place.world.settle();
      expect(client.ended).toEqual({ code: 1008, reason: "initialize was not sent within 10 s" });
      expect(place.gateway.connectionCount).toBe(0);
    }));

  test("is pinged, and gone when two pings stay without a sign of life", () =>
    inPlace(async (place) => {
      const client = await new Client(place, await place.token("t")).opened();
      client.call(1, "initialize", INITIALIZE);
      for (let round = 0; round < 10; round++) await place.world.advance(GATEWAY_LIMITS.ping.everyMs);
      expect(client.ended).toBeUndefined();
      client.web.pause();
      await place.world.advance(GATEWAY_LIMITS.ping.everyMs * 2 + 1);
      expect(place.gateway.connectionCount).toBe(1);
      await place.world.advance(GATEWAY_LIMITS.ping.everyMs);
      expect(place.gateway.connectionCount).toBe(0);
      client.web.resume();
    }));

  test("with a frame that never ends is gone likewise", () =>
    inPlace(async (place) => {
      const token = await place.token("t");
      const socket = place.world.servers.connect("127.0.0.1:7000");
      socket.on("error", () => {});
      socket.resume();
      const head = ["GET /acp HTTP/1.1", "Host: 127.0.0.1:7000", "Connection: Upgrade", "Upgrade: websocket"];
      const key = ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];
      socket.write([...head, ...key, `Authorization: Bearer ${token}`, "", ""].join("\r\n"));
      await place.world.settle();
      const initialize = Buffer.from(
        JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: INITIALIZE }),
      );
      socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | initialize.length, 0, 0, 0, 0]), initialize]));
      socket.write(Buffer.from([0x81, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])); // 16 MB are announced
      for (let round = 0; round < 3; round++) {
        await place.world.settle();
        expect(place.gateway.connectionCount).toBe(1);
        socket.write("x");
        await place.world.advance(GATEWAY_LIMITS.ping.everyMs);
      }
      expect(place.gateway.connectionCount).toBe(0);
    }));

  test("answers what is no message with id null, and is closed at the twentieth", () =>
    inPlace(async (place) => {
      const client = await new Client(place, await place.token("t")).opened();
      client.call(1, "initialize", INITIALIZE);
      const bad = ["{", "[]", "7", `${"[".repeat(300)}${"]".repeat(300)}`, '{"id":1}', '{"jsonrpc":"2.0","method":1}'];
      bad.push('{"jsonrpc":"2.0","id":null,"method":"session/list"}');
      for (const text of bad) client.say(text);
      client.web.send(Buffer.from([1, 2]), { binary: true });
      await place.world.settle();
      expect(client.errors().map(({ id, code }) => [id, code])).toEqual([
        [null, -32700],
        ...Array.from({ length: 7 }, () => [null, -32600]),
      ]);
      await place.world.advance(59_000);
      for (let count = 8; count < 19; count++) client.say("{");
      await place.world.settle();
      expect(client.ended).toBeUndefined();
      client.say("{");
      await place.world.advance(1_000);
      expect(client.ended?.code).toBe(1008);
    }));

  test("has at most 128 requests under way, and 600 a minute with bursts of 120", () =>
    inPlace(async (place) => {
      const token = await place.token("t");
      const client = await new Client(place, token).opened();
      client.call(0, "initialize", INITIALIZE);
      await place.world.settle();
      for (let id = 1; id < 120; id++) client.call(id, "session/prompt", { sessionId: "s", prompt: [] });
      await place.world.settle();
      expect(client.errors()).toEqual([]);
      client.call(200, "session/list");
      await place.world.settle();
      expect(client.errors()).toMatchObject([{ id: 200, code: -32004 }]);
      expect(client.errors()[0]?.message).toContain("wait 0.1 s");
      const second = await new Client(place, token).opened();
      second.call(0, "initialize", INITIALIZE);
      await place.world.settle();
      expect(second.errors()).toMatchObject([{ id: 0, code: -32004 }]);
      await place.world.advance(1_000);
      for (let id = 300; id < 309; id++) client.call(id, "session/prompt", { sessionId: "s", prompt: [] });
      await place.world.settle();
      expect(client.errors().slice(1)).toEqual([]);
      client.call(309, "session/prompt", { sessionId: "s", prompt: [] });
      await place.world.settle();
      expect(client.errors()[1]).toMatchObject({ id: 309, code: -32004 });
      expect(client.errors()[1]?.message).toContain("128 requests");
      await place.world.advance(60_000);
      client.call(400, "session/list");
      await place.world.settle();
      expect(client.errors()[2]).toMatchObject({ id: 400, code: -32004 });
    }));

  test("pays for what it may not do as well, and has one line for it; what has no answer is heard more slowly", () =>
    inPlace(async (place) => {
      const client = await new Client(place, await place.token("t", ["read"])).opened();
      client.call(0, "initialize", INITIALIZE);
      await place.world.settle();
      for (let id = 1; id < 400; id++) client.call(id, "session/prompt");
      for (let count = 0; count < 100; count++) client.say({ jsonrpc: "2.0", method: `m${count}` });
      client.call(400, "session/list");
      await place.world.settle();
      const codes = client.errors().map(({ code }) => code);
      expect(codes.slice(0, 119)).toEqual(Array.from({ length: 119 }, () => -32003));
      expect(new Set(codes.slice(119))).toEqual(new Set([-32004]));
      await place.world.advance(60_000);
      client.call(401, "session/list");
      await place.world.settle();
      expect(client.frames.at(-1)).toContain('"id":401,"result"');
      const audit = await place.audit();
      expect(audit.match(/"event":"(denied|limited)"/gu)?.length).toBeLessThan(8);
      expect(audit).toMatch(/"event":"denied".*"method":"session\/prompt","count":118/u);
      expect(audit).toMatch(/"method":"unknown","count":99/u);
    }));

  test("that does not read makes a sender wait at 1 MB, and others not", () =>
    inPlace(async (place) => {
      const token = await place.token("t");
      const [slow, quick] = [await new Client(place, token).opened(), await new Client(place, token).opened()];
      slow.web.pause();
      const message = {
        jsonrpc: "2.0",
        method: "session/update",
        params: { text: "x".repeat(100_000) },
      };
      const shared = { message, bytes: Buffer.from(JSON.stringify(message)) };
      expect(shared.bytes).toBe(shared.bytes);
      const [toSlow, toQuick] = place.streams;
      let waits: Promise<void> | undefined;
      for (let count = 0; count < 20; count++) {
        waits ??= toSlow?.sendShared(shared);
        const quickWaits = toQuick?.sendShared(shared);
        await place.world.advance(1);
        await quickWaits;
        await place.world.settle();
      }
      expect(waits).toBeInstanceOf(Promise);
      expect(quick.frames).toHaveLength(20);
      slow.web.resume();
      await waits;
      expect(slow.frames.length).toBeGreaterThan(5);
    }));

  test("gets updates that come faster than one a millisecond together, and no answer waits for them", () =>
    inPlace(async (place) => {
      const client = await new Client(place, await place.token("t")).opened();
      const [stream] = place.streams;
      const update = (text: string) => {
        const message = { jsonrpc: "2.0", method: "session/update", params: { text } };
        stream?.sendShared({ message, bytes: Buffer.from(JSON.stringify(message)) })?.catch(() => {});
        return place.world.settle();
      };
      await update("a");
      expect(client.frames).toHaveLength(1);
      await update("b");
      await update("c");
      expect(client.frames).toHaveLength(1);
      await place.world.advance(1);
      await place.world.settle();
      expect(client.frames).toHaveLength(3);
      await update("d");
      expect(client.frames).toHaveLength(3);
      client.call(1, "initialize", INITIALIZE);
      await place.world.settle();
      expect(client.frames[3]).toContain('"d"');
      expect(client.frames[4]).toContain('"id":1');
      await place.world.advance(2);
      await update("e");
      expect(client.frames[5]).toContain('"e"');
      await place.world.advance(1);
    }));

  test("over 64 MB unsent, or of a client that is gone, lets the sender go on", () =>
    inPlace(async (place) => {
      const client = await new Client(place, await place.token("t")).opened();
      client.web.pause();
      const [stream] = place.streams;
      const text = "x".repeat(8_000_000);
      let waits: Promise<void> | undefined;
      for (let count = 0; count < 10; count++)
        waits = stream?.send({ jsonrpc: "2.0", method: "m", params: { text } }) ?? waits;
      await waits;
      await stream?.closed;
      expect(place.gateway.connectionCount).toBe(0);
      expect(stream?.send({ jsonrpc: "2.0", method: "m" })).toBeUndefined();
    }));

  test("ends when its token is revoked or expires, and no message of it is heard after", () =>
    inPlace(async (place) => {
      const [first, second] = [await place.token("first"), await place.token("second")];
      const [one, other] = [await new Client(place, first).opened(), await new Client(place, second).opened()];
      for (const client of [one, other]) client.call(1, "initialize", INITIALIZE);
      await place.world.settle();
      await place.access.tokens.kept.revoke("first");
      await place.world.settle();
      expect([one.ended?.reason, other.ended]).toEqual(["the token was revoked", undefined]);
      await expect(new Client(place, first).opened()).rejects.toThrow("refused");
      await place.world.advance(HOUR_MS - 60_000);
      expect(other.ended).toBeUndefined();
      await place.world.advance(60_000);
      expect(other.ended?.reason).toBe("the token expired");
      expect(await place.audit()).toContain("revoked_token");
    }));
});

describe("what gets in", () => {
  test.each([
    [{ host: "evil.example:7000" }, "host"],
    [{ host: "127.0.0.1:7001" }, "host"],
    [{ host: "127.0.0.1:7000@evil" }, "host"],
    [{ origin: "https://evil.example" }, "origin"],
    [{ origin: "null" }, "origin"],
    [{ origin: "https://127.0.0.1:7000" }, "origin"],
    [{ authorization: "Bearer tng_wrong" }, "unknown_token"],
    [{ authorization: "Basic dXNlcg==" }, "no_token"],
  ])("a request with %j is refused", (headers, reason) =>
    inPlace(async (place) => {
      await expect(new Client(place, await place.token("t"), headers).opened()).rejects.toThrow("refused");
      expect(await place.audit()).toContain(`"reason":"${reason}"`);
      expect(place.streams).toEqual([]);
    }),
  );

  test.each([{ host: "localhost:7000" }, { host: "[::1]:7000" }, { origin: "http://127.0.0.1:7000" }])(
    "a request with %j gets in",
    (headers) =>
      inPlace(async (place) => {
        await new Client(place, await place.token("t"), headers).opened();
        expect(place.streams).toHaveLength(1);
      }),
  );

  test("64 connections of a token, then 429; none while the gateway drains", () =>
    inPlace(async (place) => {
      const token = await place.token("t");
      const clients = [];
      for (let count = 0; count < 64; count++) clients.push(await new Client(place, token).opened());
      await expect(new Client(place, token).opened()).rejects.toThrow("refused");
      expect(await place.audit()).toContain("too_many_connections");
      await new Client(place, await place.token("other")).opened();
      clients[0]?.web.close();
      await place.world.settle();
      await new Client(place, token).opened();
      place.gateway.drain();
      await expect(new Client(place, await place.token("late")).opened()).rejects.toThrow("refused");
    }));

  test("the eleventh refusal of a minute is 429, is the last one written, and a good token still gets in", () =>
    inPlace(async (place) => {
      const statuses = [];
      for (let count = 0; count < 13; count++) {
        const client = new Client(place, "tng_guess");
        statuses.push(
          await new Promise((resolve) =>
            client.web.once("unexpected-response", (_, { statusCode }) => resolve(statusCode)),
          ),
        );
      }
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429, 429]);
      expect((await place.audit()).match(/"event":"refused"/gu)).toHaveLength(11);
      await new Client(place, await place.token("good")).opened();
      await place.world.advance(60_000);
      const later = new Client(place, "tng_guess");
      const status = new Promise((resolve) =>
        later.web.once("unexpected-response", (_, { statusCode }) => resolve(statusCode)),
      );
      expect(await status).toBe(401);
    }));
});
