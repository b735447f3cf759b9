// Listening for changes: what is asked for, how it ends, and when it is tried again.
import { describe, expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { MCP_LIMITS } from "../limits.js";
import type { RpcOutcome } from "../rpc/rpc.js";
import { ChangeListener } from "./listen.js";

const ACK = "notifications/subscriptions/acknowledged";
const DROPPED: RpcOutcome = {
  kind: "lost",
  loss: { error: new TenonError("mcp.connection_lost", "dropped"), wasSent: true },
};
const ENDED: RpcOutcome = { kind: "result", result: { resultType: "complete" } };
const TOOLS = { tools: { listChanged: true } };

interface Stream {
  readonly params: JsonObject;
  end(outcome: RpcOutcome): void;
}

interface Bench {
  readonly world: FakeWorld;
  readonly streams: Stream[];
  readonly announced: string[];
  readonly listener: ChangeListener;
  /** Set once `run` has returned. */
  readonly over: { value: boolean };
  readonly stop: AbortController;
  acknowledge(notifications: JsonObject): void;
  /** Ends the latest stream. */
  end(outcome: RpcOutcome): Promise<void>;
}

function listening(capabilities: JsonObject): Bench {
  const world = fakeWorld();
  const streams: Stream[] = [];
  const announced: string[] = [];
  const stop = new AbortController();
  const over = { value: false };
  const listen = (params: JsonObject, signal: AbortSignal) =>
    new Promise<RpcOutcome>((resolve) => {
      signal.addEventListener("abort", () => resolve({ kind: "cancelled" }));
      streams.push({ params, end: resolve });
    });
  const listener = new ChangeListener({ world, listen, announce: (method) => announced.push(method) }, capabilities);
  listener.run(stop.signal).then(
    () => {
      over.value = true;
    },
    (error: unknown) => announced.push(`rejected: ${String(error)}`),
  );
  return {
    world,
    streams,
    announced,
    listener,
    over,
    stop,
    acknowledge: (notifications) => {
      const _meta = { "io.modelcontextprotocol/subscriptionId": streams.length };
      listener.hear(ACK, { notifications, _meta });
    },
    end: async (outcome) => {
      streams.at(-1)?.end(outcome);
      await world.settle();
    },
  };
}

const LONG_MS = MCP_LIMITS.reconnect.maxMs;

test("asks for exactly what is advertised", async () => {
  const bench = listening({
    tools: { listChanged: true },
    prompts: { listChanged: false },
    resources: { listChanged: true, subscribe: true },
  });
  expect(bench.streams[0]?.params).toEqual({ notifications: { toolsListChanged: true, resourcesListChanged: true } });
});

test.each<[string, JsonObject]>([
  ["nothing", {}],
  ["what the real context7 does", { tools: { listChanged: false }, prompts: { listChanged: false } }],
  ["a word", { tools: "yes" }],
])("does not listen to a server that advertises %s", async (_, capabilities) => {
  const bench = listening(capabilities);
  await bench.world.settle();
  expect(bench.streams).toEqual([]);
  expect(bench.over.value).toBe(true);
});

describe("it does not try again", () => {
  test("after a refusal", async () => {
    const bench = listening(TOOLS);
    await bench.end({ kind: "error", error: { code: -32603, message: "Subscription limit reached" } });
    await bench.world.advance(10 * LONG_MS);
    expect([bench.streams.length, bench.over.value]).toEqual([1, true]);
  });

  test("after an acknowledgement of nothing, whether the server then ends it or stays silent", async () => {
    for (const outcome of [ENDED, undefined]) {
      const bench = listening(TOOLS);
      bench.acknowledge({});
      if (outcome) await bench.end(outcome);
      await bench.world.advance(10 * LONG_MS);
      expect([bench.streams.length, bench.over.value]).toEqual([1, true]);
    }
  });

  test("more than once after a polite end", async () => {
    const bench = listening(TOOLS);
    for (let end = 0; end < 3; end++) {
      bench.acknowledge({ toolsListChanged: true });
      await bench.end(ENDED);
      await bench.world.advance(LONG_MS);
    }
    expect([bench.streams.length, bench.over.value]).toEqual([2, true]);
  });

  test("for ever when no stream is ever acknowledged", async () => {
    const bench = listening(TOOLS);
    for (let drop = 0; drop < 20; drop++) {
      await bench.end(DROPPED);
      await bench.world.advance(LONG_MS);
    }
    expect([bench.streams.length, bench.over.value]).toEqual([MCP_LIMITS.reconnectAttempts + 1, true]);
  });

  test("once it is stopped, also in a pause", async () => {
    const bench = listening(TOOLS);
    bench.acknowledge({ toolsListChanged: true });
    await bench.end(DROPPED);
    bench.stop.abort();
    await bench.world.advance(10 * LONG_MS);
    expect([bench.streams.length, bench.over.value]).toEqual([1, true]);
    expect(bench.world.clock.pendingTimers).toBe(0);
  });
});

describe("a stream that drops", () => {
  test("is reopened after a pause, and what may have been missed is announced once it is acknowledged", async () => {
    const bench = listening(TOOLS);
    bench.acknowledge({ toolsListChanged: true });
    expect(bench.announced).toEqual([]);
    await bench.end(DROPPED);
    expect(bench.streams).toHaveLength(1);
    await bench.world.advance(MCP_LIMITS.reconnect.firstMs);
    expect(bench.streams).toHaveLength(2);
    expect(bench.announced).toEqual([]);
    bench.acknowledge({ toolsListChanged: true });
    expect(bench.announced).toEqual(["notifications/tools/list_changed"]);
  });

  test("again and again comes back slower, and quickly again after a long life", async () => {
    const bench = listening(TOOLS);
    for (let drop = 0; drop < 12; drop++) {
      bench.acknowledge({ toolsListChanged: true });
      await bench.end(DROPPED);
      await bench.world.advance(LONG_MS);
    }
    expect(bench.streams).toHaveLength(13);
    bench.acknowledge({ toolsListChanged: true });
    await bench.end(DROPPED);
    await bench.world.advance(MCP_LIMITS.reconnect.firstMs);
    expect(bench.streams).toHaveLength(13);
    await bench.world.advance(LONG_MS);
    bench.acknowledge({ toolsListChanged: true });
    await bench.world.advance(MCP_LIMITS.reconnectProvenMs);
    await bench.end(DROPPED);
    await bench.world.advance(MCP_LIMITS.reconnect.firstMs);
    expect(bench.streams).toHaveLength(15);
  });

  test("because a stdio server takes it back counts as a polite end", async () => {
    const bench = listening(TOOLS);
    bench.acknowledge({ toolsListChanged: true });
    expect(bench.listener.hear("notifications/cancelled", { requestId: 99 })).toBe(true);
    await bench.world.settle();
    expect(bench.streams).toHaveLength(1);
    bench.listener.hear("notifications/cancelled", { requestId: 1 });
    await bench.world.advance(LONG_MS);
    expect(bench.streams).toHaveLength(2);
    expect(bench.over.value).toBe(false);
  });
});

test("other notifications are left to others", () => {
  const bench = listening(TOOLS);
  expect(bench.listener.hear("notifications/tools/list_changed", {})).toBe(false);
  expect(bench.listener.hear("notifications/cancelled", { requestId: 1 })).toBe(false);
});
