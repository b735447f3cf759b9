// The rounds of a modern request, against a scripted sender and a fake clock.
import { describe, expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import type { RequestOptions, RpcOutcome } from "../rpc/rpc.js";
import { requestInRounds } from "./input-rounds.js";
import { type Peer, PeerAnswers } from "./peer.js";

const never = new AbortController().signal;
const ask = { method: "elicitation/create", params: { message: "name?" } };

interface Sent {
  readonly params: JsonObject;
  readonly options: RequestOptions;
}

/** Sends by answering from `results`, the last one again and again. */
function rounds(
  peer: Peer,
  results: readonly JsonObject[],
): {
  world: FakeWorld;
  sent: Sent[];
  run: (method?: string, options?: Partial<RequestOptions>) => Promise<RpcOutcome>;
} {
  const world = fakeWorld();
  const sent: Sent[] = [];
  const send = async (_method: string, params: JsonObject, options: RequestOptions): Promise<RpcOutcome> => {
    sent.push({ params, options });
    return { kind: "result", result: results[Math.min(sent.length, results.length) - 1] ?? {} };
  };
  const port = { world, answers: new PeerAnswers(peer, world.log), send };
  const params = { name: "t", arguments: { a: 1 } };
  return {
    world,
    sent,
    run: (method = "tools/call", options = {}) =>
      requestInRounds(port, { method, params }, { signal: never, timeoutMs: 1_000, ...options }),
  };
}

const accepting: Peer = { elicit: async () => ({ action: "accept", content: { name: "n" } }) };
const done = { resultType: "complete", content: [] };

test.each<[string, JsonObject]>([
  ["complete", done],
  ["a result without a type", { content: [] }],
])("%s is handed on as it is, and nothing is sent twice", async (_, result) => {
  const { run, sent } = rounds({}, [result]);
  expect(await run()).toEqual({ kind: "result", result });
  expect(sent.map(({ params }) => params)).toEqual([{ name: "t", arguments: { a: 1 } }]);
});

describe("a result that asks for input", () => {
  test("is answered under its keys, with the state of this round only and the request unchanged", async () => {
    const { run, sent } = rounds(accepting, [
      { resultType: "input_required", inputRequests: { q: ask }, requestState: '{"nonce": 1}' },
      { resultType: "input_required", inputRequests: { r: ask } },
      done,
    ]);
    expect(await run()).toEqual({ kind: "result", result: done });
    const answer = { action: "accept", content: { name: "n" } };
    expect(sent.map(({ params }) => params)).toEqual([
      { name: "t", arguments: { a: 1 } },
      { name: "t", arguments: { a: 1 }, inputResponses: { q: answer }, requestState: '{"nonce": 1}' },
      { name: "t", arguments: { a: 1 }, inputResponses: { r: answer } },
    ]);
  });

  test("takes bare results of every kind", async () => {
    const peer: Peer = { ...accepting, roots: () => [{ uri: "file:///a" }], sample: async () => ({ model: "m" }) };
    const inputRequests = {
      q: ask,
      s: { method: "sampling/createMessage", params: { messages: [] } },
      r: { method: "roots/list" },
    };
    const { run, sent } = rounds(peer, [{ resultType: "input_required", inputRequests }, done]);
    expect(await run()).toMatchObject({ kind: "result" });
    expect(sent[1]?.params["inputResponses"]).toEqual({
      q: { action: "accept", content: { name: "n" } },
      s: { model: "m" },
      r: { roots: [{ uri: "file:///a" }] },
    });
  });

  test("goes back with the refusal of a person, and of nobody", async () => {
    for (const peer of [{}, { elicit: async () => ({ action: "decline" as const }) }]) {
      const { run, sent } = rounds(peer, [{ resultType: "input_required", inputRequests: { q: ask } }, done]);
      expect(await run()).toMatchObject({ kind: "result" });
      expect(sent[1]?.params["inputResponses"]).toEqual({ q: { action: "decline" } });
    }
  });

  test.each(["sampling/createMessage", "roots/list"])(
    "for %s, which has no way to say no, ends the call",
    async (method) => {
      const { run, sent, world } = rounds({}, [{ resultType: "input_required", inputRequests: { x: { method } } }]);
      const outcome = run();
      await world.advance(1_000);
      expect(await outcome).toMatchObject({ kind: "error", error: { message: /was refused/ } });
      expect(sent).toHaveLength(1);
    },
  );

  test("that only wants patience is asked again after a pause", async () => {
    const { run, sent, world } = rounds({}, [{ resultType: "input_required", requestState: "s" }, done]);
    const outcome = run();
    await world.advance(249);
    expect(sent).toHaveLength(1);
    await world.advance(1);
    expect(await outcome).toMatchObject({ kind: "result" });
    expect(sent[1]?.params).toEqual({ name: "t", arguments: { a: 1 }, requestState: "s" });
  });

  test("without end is left after ten rounds", async () => {
    const { run, sent } = rounds(accepting, [{ resultType: "input_required", inputRequests: { q: ask } }]);
    expect(await run()).toMatchObject({ kind: "error", error: { message: /more than 10 times/ } });
    expect(sent).toHaveLength(11);
  });

  test("is cancelled while a person thinks", async () => {
    const controller = new AbortController();
    const waiting: Peer = {
      elicit: (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    };
    const { run, sent } = rounds(waiting, [{ resultType: "input_required", inputRequests: { q: ask } }]);
    const outcome = run("tools/call", { signal: controller.signal });
    await Promise.resolve();
    controller.abort();
    expect(await outcome).toEqual({ kind: "cancelled" });
    expect(sent).toHaveLength(1);
  });
});

test.each<[string, string, JsonObject]>([
  ["an unknown type", "tools/call", { resultType: "later" }],
  ["a task without a status", "tools/call", { resultType: "task", taskId: "t1" }],
  ["a task for a list", "tools/list", { resultType: "task", taskId: "t1", status: "working" }],
  ["a type that is no text", "tools/call", { resultType: 7 }],
  ["input for a list", "tools/list", { resultType: "input_required", requestState: "s" }],
  ["neither requests nor state", "tools/call", { resultType: "input_required" }],
  ["requests that are no object", "tools/call", { resultType: "input_required", inputRequests: [] }],
  ["a state that is no text", "tools/call", { resultType: "input_required", requestState: {} }],
  [
    "a kind that is not allowed",
    "tools/call",
    { resultType: "input_required", inputRequests: { x: { method: "ping" } } },
  ],
  [
    "too many requests",
    "tools/call",
    { resultType: "input_required", inputRequests: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [n, ask])) },
  ],
])("%s is a broken protocol with an unknown outcome, and nobody is asked", async (_, method, result) => {
  const asked: unknown[] = [];
  const peer: Peer = {
    elicit: async (request) => {
      asked.push(request);
      return { action: "decline" };
    },
  };
  const { run, sent } = rounds(peer, [result]);
  expect(await run(method)).toMatchObject({ kind: "lost", loss: { wasSent: true, error: { code: "mcp.protocol" } } });
  expect(sent).toHaveLength(1);
  expect(asked).toEqual([]);
});

test("the time of a person counts against no deadline, the time of the server against both", async () => {
  const world = fakeWorld();
  const sent: RequestOptions[] = [];
  const send = async (_method: string, _params: JsonObject, options: RequestOptions): Promise<RpcOutcome> => {
    sent.push(options);
    await new Promise<void>((resolve) => world.after(400, resolve));
    const isLast = sent.length === 3;
    return { kind: "result", result: isLast ? done : { resultType: "input_required", inputRequests: { q: ask } } };
  };
  const peer: Peer = {
    elicit: async () => {
      await new Promise<void>((resolve) => world.after(3_600_000, resolve));
      return { action: "decline" };
    },
  };
  const port = { world, answers: new PeerAnswers(peer, world.log), send };
  const options = { signal: never, timeoutMs: 500, maxTotalMs: 1_000 };
  const outcome = requestInRounds(port, { method: "tools/call", params: {} }, options);
  await world.advance(2 * 3_600_000 + 1_200);
  expect(await outcome).toMatchObject({ kind: "result" });
  expect(sent.map(({ timeoutMs, maxTotalMs }) => [timeoutMs, maxTotalMs])).toEqual([
    [500, 1_000],
    [500, 600],
    [200, 200],
  ]);
});

describe("a call that is held at the other side", () => {
  const HELD = { resultType: "input_required", requestState: "s", _meta: { "tenon/held": true } };
  const sampling = { method: "sampling/createMessage", params: { messages: [] } };

  test("hears of a refusal under its key, and goes on", async () => {
    const { run, sent } = rounds({}, [{ ...HELD, inputRequests: { q: sampling } }, done]);
    expect(await run()).toEqual({ kind: "result", result: done });
    const error = { code: -32_601, message: "this client does no sampling" };
    expect(sent[1]?.params).toMatchObject({ inputResponses: { q: { error } }, requestState: "s" });
  });

  test("is released when it is cancelled between two rounds, and when it asks without end", async () => {
    const cancel = new AbortController();
    const leaving: Peer = {
      elicit: async () => {
        cancel.abort();
        return { action: "cancel" };
      },
    };
    const one = rounds(leaving, [{ ...HELD, inputRequests: { q: ask } }]);
    expect(await one.run("tools/call", { signal: cancel.signal })).toEqual({ kind: "cancelled" });
    expect(one.sent.map(({ params }) => params).slice(1)).toEqual([{ requestState: "s" }]);
    const endless = rounds(accepting, [{ ...HELD, inputRequests: { q: ask } }]);
    expect(await endless.run()).toMatchObject({ kind: "error" });
    expect(endless.sent.at(-1)?.params).toEqual({ requestState: "s" });
  });
});

test("a round that is lost after the first one counts as sent: the server had the request", async () => {
  const world = fakeWorld();
  const lost: RpcOutcome = {
    kind: "lost",
    loss: { error: new TenonError("mcp.connection_lost", "gone"), wasSent: false },
  };
  const asking: RpcOutcome = { kind: "result", result: { resultType: "input_required", inputRequests: { q: ask } } };
  const run = async (outcomes: RpcOutcome[]) =>
    await requestInRounds(
      { world, answers: new PeerAnswers(accepting, world.log), send: async () => outcomes.shift() ?? lost },
      { method: "tools/call", params: {} },
      { signal: never, timeoutMs: 1_000 },
    );
  expect(await run([lost])).toMatchObject({ kind: "lost", loss: { wasSent: false } });
  expect(await run([asking, lost])).toMatchObject({ kind: "lost", loss: { wasSent: true } });
});
