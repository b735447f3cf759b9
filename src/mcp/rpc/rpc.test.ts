// Requests over a transport: whatever arrives, in whatever order, each request ends exactly once.
import fc from "fast-check";
import { expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import type { OutgoingMessage, RpcId, Transport, TransportListener } from "../transport/transport.js";
import { type ProgressNote, Rpc, type RpcHandler, type RpcOutcome, RpcRefusal } from "./rpc.js";

class TestTransport implements Transport {
  readonly sent: OutgoingMessage[] = [];
  readonly cancelled: RpcId[] = [];
  readonly stderrTail = "";
  listener: TransportListener | undefined;
  start(listener: TransportListener): void {
    this.listener = listener;
  }
  send(message: OutgoingMessage): void {
    this.sent.push(message);
  }
  cancel(id: RpcId): void {
    this.cancelled.push(id);
  }
  agreed(): void {}
  async close(): Promise<void> {}
}

function setUp(handler: Partial<RpcHandler> = {}): {
  world: FakeWorld;
  transport: TestTransport;
  rpc: Rpc;
  closed: TenonError[];
} {
  const world = fakeWorld();
  const transport = new TestTransport();
  const closed: TenonError[] = [];
  const rpc = new Rpc(transport, world, {
    onRequest: () => Promise.reject(new RpcRefusal(-32601, "no such method")),
    onNotification: () => {},
    onClosed: (error) => closed.push(error),
    ...handler,
  });
  rpc.start();
  return { world, transport, rpc, closed };
}

const never = new AbortController().signal;
const lost = new TenonError("mcp.connection_lost", "gone");

test("a request that cannot be written down rejects, and nothing of it stays", async () => {
  const { transport, rpc, world } = setUp();
  transport.send = () => {
    throw new TypeError("it refers to itself");
  };
  const signal = new AbortController();
  await expect(rpc.request("tools/call", {}, { signal: signal.signal, timeoutMs: 100 })).rejects.toThrow("itself");
  expect([rpc.pendingCount, world.clock.pendingTimers]).toEqual([0, 0]);
  signal.abort();
  expect(transport.cancelled).toEqual([]);
});

test("a request answered, or cancelled, while it is sent ends once and leaves no timer", async () => {
  const { transport, rpc, world } = setUp();
  const signal = new AbortController();
  transport.send = (message) => {
    if (!("id" in message)) return;
    if (message.id === 1) transport.listener?.onMessage({ kind: "result", id: 1, result: { ok: true } });
    else signal.abort();
  };
  const options = { signal: signal.signal, timeoutMs: 100 };
  expect(await rpc.request("tools/call", {}, options)).toEqual({ kind: "result", result: { ok: true } });
  expect(await rpc.request("tools/call", {}, options)).toEqual({ kind: "cancelled" });
  expect(transport.cancelled).toEqual([2]);
  expect([rpc.pendingCount, world.clock.pendingTimers]).toEqual([0, 0]);
});

test("an answer settles its request, and a second, late or unknown one is only counted", async () => {
  const { transport, rpc, world } = setUp();
  const answer = rpc.request("tools/list", {}, { signal: never, timeoutMs: 100 });
  expect(transport.sent).toEqual([{ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }]);
  transport.listener?.onMessage({ kind: "result", id: 1, result: { ok: true } });
  transport.listener?.onMessage({ kind: "result", id: 1, result: { ok: false } });
  transport.listener?.onMessage({ kind: "error", id: 99, error: { code: 1, message: "?" } });
  expect(await answer).toEqual({ kind: "result", result: { ok: true } });
  expect(rpc.counters.strayAnswers).toBe(2);
  expect(world.clock.pendingTimers).toBe(0);
});

test("silence ends at the deadline and the server is told", async () => {
  const { world, transport, rpc } = setUp();
  const answer = rpc.request("tools/call", {}, { signal: never, timeoutMs: 1_000 });
  await world.advance(999);
  expect(rpc.pendingCount).toBe(1);
  await world.advance(1);
  expect(await answer).toEqual({ kind: "timed_out", afterMs: 1_000 });
  expect(transport.cancelled).toEqual([1]);
});

test("progress extends the deadline, but never past the cap", async () => {
  const { world, transport, rpc } = setUp();
  const notes: ProgressNote[] = [];
  const onProgress = (note: ProgressNote) => notes.push(note);
  const answer = rpc.request("tools/call", {}, { signal: never, timeoutMs: 1_000, maxTotalMs: 2_500, onProgress });
  expect(transport.sent[0]).toMatchObject({ params: { _meta: { progressToken: 1 } } });
  for (let step = 1; step <= 3; step++) {
    await world.advance(800);
    transport.listener?.onMessage({
      kind: "notification",
      method: "notifications/progress",
      params: { progressToken: 1, progress: step },
    });
  }
  expect(notes.map((note) => note.progress)).toEqual([1, 2, 3]);
  expect(rpc.pendingCount).toBe(1);
  await world.advance(100);
  expect(await answer).toEqual({ kind: "timed_out", afterMs: 2_500 });
});

test("a cancel ends the request at once and tells the server", async () => {
  const { transport, rpc } = setUp();
  const controller = new AbortController();
  const answer = rpc.request("tools/call", {}, { signal: controller.signal, timeoutMs: 1_000 });
  controller.abort();
  expect(await answer).toEqual({ kind: "cancelled" });
  expect(transport.cancelled).toEqual([1]);
  expect(await rpc.request("x", {}, { signal: controller.signal, timeoutMs: 1 })).toEqual({ kind: "cancelled" });
});

test("a transport that closes loses what is under way, and later requests never leave", async () => {
  const { transport, rpc, closed } = setUp();
  const answer = rpc.request("tools/call", {}, { signal: never, timeoutMs: 1_000 });
  transport.listener?.onClosed(lost);
  transport.listener?.onClosed(lost);
  expect(await answer).toEqual({ kind: "lost", loss: { error: lost, wasSent: true } });
  expect(await rpc.request("x", {}, { signal: never, timeoutMs: 1 })).toMatchObject({
    kind: "lost",
    loss: { wasSent: false },
  });
  expect(closed).toEqual([lost]);
  expect(transport.sent).toHaveLength(1);
});

test("what the server asks is answered, refused with a code, or dropped when it takes it back", async () => {
  const { world, transport } = setUp({
    onRequest: async (method, _params, signal) => {
      if (method === "ping") return {};
      if (method === "slow")
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("over"))));
      throw new RpcRefusal(-32601, `no ${method}`);
    },
  });
  transport.listener?.onMessage({ kind: "request", id: "a", method: "ping", params: {} });
  transport.listener?.onMessage({ kind: "request", id: "b", method: "other", params: {} });
  transport.listener?.onMessage({ kind: "request", id: "c", method: "slow", params: {} });
  transport.listener?.onMessage({
    kind: "notification",
    method: "notifications/cancelled",
    params: { requestId: "c" },
  });
  await world.settle();
  expect(transport.sent).toEqual([
    { jsonrpc: "2.0", id: "a", result: {} },
    { jsonrpc: "2.0", id: "b", error: { code: -32601, message: "no other" } },
  ]);
});

test("any order of answers, losses, cancels, time and a close ends every request exactly once", async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("request" as const) }),
    fc.record({
      do: fc.constantFrom("result" as const, "error" as const, "lost" as const, "cancel" as const, "progress" as const),
      of: fc.integer({ min: 1, max: 8 }),
    }),
    fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 400 }) }),
    fc.record({ do: fc.constant("close" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const { world, transport, rpc } = setUp();
      const outcomes: RpcOutcome[][] = [];
      const controllers: AbortController[] = [];
      for (const one of steps) {
        if (one.do === "request") {
          const controller = new AbortController();
          const seen: RpcOutcome[] = [];
          controllers.push(controller);
          outcomes.push(seen);
          const options = { signal: controller.signal, timeoutMs: 300, maxTotalMs: 900, onProgress: () => {} };
          rpc.request("m", {}, options).then(
            (outcome) => seen.push(outcome),
            () => seen.push({ kind: "cancelled" }, { kind: "cancelled" }),
          );
        } else if (one.do === "wait") await world.advance(one.ms);
        else if (one.do === "close") transport.listener?.onClosed(lost);
        else if (one.do === "cancel") controllers[one.of - 1]?.abort();
        else if (one.do === "lost") transport.listener?.onRequestLost(one.of, { error: lost, wasSent: false });
        else if (one.do === "result") transport.listener?.onMessage({ kind: "result", id: one.of, result: {} });
        else if (one.do === "error")
          transport.listener?.onMessage({ kind: "error", id: one.of, error: { code: 1, message: "" } });
        else
          transport.listener?.onMessage({
            kind: "notification",
            method: "notifications/progress",
            params: { progressToken: one.of, progress: 1 },
          });
      }
      await world.advance(2_000);
      expect(outcomes.map((seen) => seen.length)).toEqual(outcomes.map(() => 1));
      expect(rpc.pendingCount).toBe(0);
      expect(world.clock.pendingTimers).toBe(0);
    }),
    { numRuns: 300 },
  );
});
