// A link on a wire: envelopes, names, notifications, the server's own requests, and its end.

import { describe, expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import type { ConnectionOptions } from "../connection/options.js";
import { MCP_LIMITS } from "../limits.js";
import type {
  IncomingMessage,
  OutgoingMessage,
  RpcId,
  SendHint,
  Transport,
  TransportListener,
} from "../transport/transport.js";
import type { Link } from "./link.js";
import { OpenLink } from "./open-link.js";
import type { ServerLog } from "./peer.js";

const never = new AbortController().signal;

class TestTransport implements Transport {
  readonly sent: { readonly message: OutgoingMessage; readonly hint: SendHint | undefined }[] = [];
  readonly cancelled: RpcId[] = [];
  readonly stderrTail = "";
  isClosed = false;
  #listener: TransportListener | undefined;

  start(listener: TransportListener): void {
    this.#listener = listener;
  }

  get listener(): TransportListener {
    if (!this.#listener) throw new Error("not started");
    return this.#listener;
  }

  hear(message: IncomingMessage): void {
    this.listener.onMessage(message);
  }

  send(message: OutgoingMessage, hint?: SendHint): void {
    this.sent.push({ message, hint });
  }

  cancel(id: RpcId): void {
    this.cancelled.push(id);
  }

  agreed(): void {}

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

interface Bench {
  readonly world: FakeWorld;
  readonly wire: TestTransport;
  readonly link: Link;
  /** Messages of ours since the last look. */
  fresh(): OutgoingMessage[];
}

function linked(era: "legacy" | "modern", more: Partial<ConnectionOptions> = {}, capabilities: JsonObject = {}): Bench {
  const world = fakeWorld();
  const wire = new TestTransport();
  const line = new OpenLink(wire, { world, cwd: "/", client: { name: "tenon", version: "1" }, ...more });
  const protocolVersion = era === "modern" ? "2026-07-28" : "2025-11-25";
  const link = line.link({ agreement: { era, protocolVersion }, server: { name: "s", version: "1" }, capabilities });
  let seen = 0;
  return {
    world,
    wire,
    link,
    fresh: () => {
      const messages = wire.sent.slice(seen).map(({ message }) => message);
      seen = wire.sent.length;
      return messages;
    },
  };
}

describe("a request", () => {
  test("of the modern era carries the envelope, its own _meta, the progress token and the name it is about", async () => {
    const { link, wire } = linked("modern");
    const outcome = link.request(
      "tools/call",
      { name: "t", arguments: {}, _meta: { traceparent: "00-1" } },
      { signal: never, timeoutMs: 1_000, onProgress: () => {}, hint: { headers: { "Mcp-Param-A": "x" } } },
    );
    expect(wire.sent[0]?.message).toMatchObject({
      id: 1,
      params: {
        name: "t",
        _meta: {
          traceparent: "00-1",
          progressToken: 1,
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "tenon", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    });
    expect(wire.sent[0]?.hint).toEqual({ name: "t", headers: { "Mcp-Param-A": "x" } });
    wire.hear({ kind: "result", id: 1, result: { content: [] } });
    expect(await outcome).toEqual({ kind: "result", result: { content: [] } });
  });

  test("is named by its prompt or resource, and by nothing else", () => {
    const { link, wire } = linked("modern");
    const options = { signal: never, timeoutMs: 1_000 };
    const asked = [
      link.request("prompts/get", { name: "p" }, options),
      link.request("resources/read", { uri: "file:///a%20b", name: "no" }, options),
      link.request("tools/list", { name: "no" }, options),
    ];
    expect(asked).toHaveLength(3);
    expect(wire.sent.map(({ hint }) => hint)).toEqual([{ name: "p" }, { name: "file:///a%20b" }, undefined]);
  });

  test("of the legacy era goes as it is, and so does its result whatever its type", async () => {
    const { link, wire } = linked("legacy");
    const outcome = link.request("tools/call", { name: "t" }, { signal: never, timeoutMs: 1_000 });
    expect(wire.sent[0]).toEqual({
      message: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "t" } },
      hint: undefined,
    });
    wire.hear({ kind: "result", id: 1, result: { resultType: "input_required" } });
    expect(await outcome).toEqual({ kind: "result", result: { resultType: "input_required" } });
  });

  test("asks for logs only when somebody reads them", () => {
    const silent = linked("modern");
    silent.link.notify("notifications/x", {});
    const heard = linked("modern", { peer: { log: () => {} } });
    heard.link.notify("notifications/x", {});
    expect(JSON.stringify(silent.fresh())).not.toContain("logLevel");
    expect(JSON.stringify(heard.fresh())).toContain('"io.modelcontextprotocol/logLevel":"info"');
  });
});

describe("what the server sends by itself", () => {
  test("a request on a legacy link is answered, also with the id 0", async () => {
    const { wire, fresh, world } = linked("legacy", { peer: { roots: () => [{ uri: "file:///a" }] } });
    wire.hear({ kind: "request", id: 0, method: "roots/list", params: {} });
    wire.hear({ kind: "request", id: "p", method: "ping", params: {} });
    wire.hear({ kind: "request", id: 2, method: "strange", params: {} });
    await world.settle();
    expect(fresh()).toEqual([
      { jsonrpc: "2.0", id: 0, result: { roots: [{ uri: "file:///a" }] } },
      { jsonrpc: "2.0", id: "p", result: {} },
      { jsonrpc: "2.0", id: 2, error: { code: -32601, message: "Method not found: strange" } },
    ]);
  });

  test("a request on a modern link gets no answer at all, and is counted", async () => {
    const { wire, fresh, world, link } = linked("modern", { peer: { roots: () => [] } });
    wire.hear({ kind: "request", id: 7, method: "roots/list", params: {} });
    wire.hear({ kind: "request", id: 8, method: "ping", params: {} });
    await world.settle();
    expect(fresh()).toEqual([]);
    expect(link.counters.noise).toBe(2);
  });

  test("log messages reach the peer, notifications every listener, and one that throws stops nobody", () => {
    const logged: ServerLog[] = [];
    const { wire, link } = linked("legacy", { peer: { log: (entry) => logged.push(entry) } });
    const heard: string[] = [];
    link.onNotification(() => {
      throw new Error("mine");
    });
    link.onNotification((method) => heard.push(method));
    wire.hear({ kind: "notification", method: "notifications/message", params: { level: "error", data: "x" } });
    wire.hear({ kind: "notification", method: "notifications/tools/list_changed", params: {} });
    wire.hear({ kind: "notification", method: "notifications/cancelled", params: { requestId: 99 } });
    expect(logged).toEqual([{ level: "error", text: "x" }]);
    expect(heard).toEqual(["notifications/message", "notifications/tools/list_changed"]);
  });

  test("while it waits for a person, a call of a legacy server is not late", async () => {
    let answer: (() => void) | undefined;
    const peer = {
      elicit: () =>
        new Promise<{ action: "decline" }>((resolve) => {
          answer = () => resolve({ action: "decline" });
        }),
    };
    const { wire, link, world } = linked("legacy", { peer });
    const options = { signal: never, timeoutMs: 1_000, maxTotalMs: 100_000 };
    const outcome = link.request("tools/call", { name: "t" }, options);
    wire.hear({ kind: "request", id: 0, method: "elicitation/create", params: { message: "?" } });
    await world.advance(50_000);
    answer?.();
    await world.advance(500);
    wire.hear({ kind: "result", id: 1, result: { content: [] } });
    expect(await outcome).toMatchObject({ kind: "result" });
  });
});

describe("changes of a modern server", () => {
  const TOOLS = { tools: { listChanged: true } };

  test("are listened for, and told like those of a legacy one", async () => {
    const { wire, link, fresh } = linked("modern", {}, TOOLS);
    const heard: string[] = [];
    link.onNotification((method) => heard.push(method));
    expect(fresh()).toMatchObject([
      {
        id: 1,
        method: "subscriptions/listen",
        params: {
          notifications: { toolsListChanged: true },
          _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" },
        },
      },
    ]);
    const _meta = { "io.modelcontextprotocol/subscriptionId": 1 };
    const acknowledged = { notifications: { toolsListChanged: true }, _meta };
    wire.hear({ kind: "notification", method: "notifications/subscriptions/acknowledged", params: acknowledged });
    wire.hear({ kind: "notification", method: "notifications/tools/list_changed", params: { _meta } });
    expect(heard).toEqual(["notifications/tools/list_changed"]);
  });

  test("are announced anew after the stream has dropped and come back", async () => {
    const { wire, link, world } = linked("modern", {}, TOOLS);
    const heard: string[] = [];
    link.onNotification((method) => heard.push(method));
    const ack = { notifications: { toolsListChanged: true } };
    wire.hear({ kind: "notification", method: "notifications/subscriptions/acknowledged", params: ack });
    const error = new TenonError("mcp.connection_lost", "dropped");
    wire.listener.onRequestLost(1, { error, wasSent: true });
    await world.advance(MCP_LIMITS.reconnect.firstMs);
    expect(wire.sent.at(-1)?.message).toMatchObject({ id: 2, method: "subscriptions/listen" });
    wire.hear({ kind: "notification", method: "notifications/subscriptions/acknowledged", params: ack });
    expect(heard).toEqual(["notifications/tools/list_changed"]);
  });

  test("are not listened for on a legacy link", () => {
    expect(linked("legacy", {}, TOOLS).fresh()).toEqual([]);
  });
});

describe("the end", () => {
  test("by itself breaks the link with its cause and loses what is under way", async () => {
    const { wire, link } = linked("modern");
    const outcome = link.request("tools/list", {}, { signal: never, timeoutMs: 1_000 });
    const error = new TenonError("mcp.connection_lost", "gone");
    wire.listener.onClosed(error);
    expect(await link.broken).toBe(error);
    expect(await outcome).toEqual({ kind: "lost", loss: { error, wasSent: true } });
  });

  test("by us ends calls, listening and timers, and does not count as broken", async () => {
    const { wire, link, world } = linked("modern", {}, { tools: { listChanged: true } });
    let isBroken = false;
    link.broken.then(
      () => {
        isBroken = true;
      },
      () => {},
    );
    const outcome = link.request("tools/call", { name: "t" }, { signal: never, timeoutMs: 60_000 });
    await link.wire.close(LIMITS.closeGrace);
    expect(await outcome).toMatchObject({ kind: "lost", loss: { wasSent: true } });
    expect([wire.isClosed, isBroken, world.clock.pendingTimers]).toEqual([true, false, 0]);
  });

  test("of a question under way tells the peer that nobody waits any more", async () => {
    const seen: AbortSignal[] = [];
    const peer = {
      elicit: (_request: unknown, signal: AbortSignal) => {
        seen.push(signal);
        return new Promise<never>(() => {});
      },
    };
    const { wire, link } = linked("legacy", { peer });
    wire.hear({ kind: "request", id: 1, method: "elicitation/create", params: { message: "?" } });
    await link.wire.close(LIMITS.closeGrace);
    expect(seen.map(({ aborted }) => aborted)).toEqual([true]);
  });
});
