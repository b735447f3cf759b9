// Several sessions at one server: all of its limits together, a part of them each, and whoever has least is served first.

import fc from "fast-check";
import { expect, test } from "vitest";
import { GatedCalls } from "../../../test/gated-calls.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import type { CallOutcome } from "../protocol/call.js";
import { shareOf } from "./call-gate.js";
import { serverLimits } from "./options.js";

const done: CallOutcome = { kind: "answered", isError: false, content: [] };
const never = new AbortController().signal;
const [greedy, modest, third] = [{}, {}, {}];

function gate(world: FakeWorld, callsAtOnce: number, callsPerMinute = 1_000): GatedCalls {
  const shared = new GatedCalls(world, serverLimits({ callsAtOnce, callsPerMinute, limitWaitMs: 10_000 }));
  shared.setSharingSessions(3);
  return shared;
}

function lasting(world: FakeWorld, ms: number, onStart: () => void = () => {}): () => Promise<CallOutcome> {
  return () => {
    onStart();
    return new Promise((resolve) => world.after(ms, () => resolve(done)));
  };
}

const of = (sharingSession: object) => ({ signal: never, server: "s", tool: "t", sharingSession });

test.each([
  [1, 1],
  [2, 1],
  [3, 2],
  [4, 3],
  [8, 6],
  [100, 75],
  [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
])("of a limit of %d one session may have %d", (limit, share) => {
  expect(shareOf(limit)).toBe(share);
});

test("calls that never end leave room for the other sessions, and say why the next of theirs has none", async () => {
  const world = fakeWorld();
  const shared = gate(world, 4);
  const long = Array.from({ length: 4 }, () => shared.run(of(greedy), lasting(world, 100_000)));
  expect(await shared.run(of(modest), () => Promise.resolve(done))).toBe(done);
  await world.advance(10_000);
  expect(await long[3]).toMatchObject({
    kind: "failed",
    error: {
      message: expect.stringContaining("other sessions use the server too, and one of them may have 3 calls at once"),
    },
  });
  await world.advance(100_000);
  await Promise.all(long);
  expect(world.clock.pendingTimers).toBe(0);
});

test("so do calls in a row: the rest of the minute is the others'", async () => {
  const world = fakeWorld();
  const shared = gate(world, 8, 4);
  const quick = () => Promise.resolve(done);
  for (let count = 0; count < 3; count++) await shared.run(of(greedy), quick);
  const over = shared.run(of(greedy), quick);
  expect(await shared.run(of(modest), quick)).toBe(done);
  await world.advance(55_000);
  expect(await over).toMatchObject({ kind: "failed", error: { code: "mcp.rate_limited" } });
  const later = shared.run(of(greedy), quick);
  await world.advance(5_001);
  expect(await later).toBe(done);
  expect(world.clock.pendingTimers).toBe(0);
});

test("in the line whoever's session has the fewest running comes first, however late it came", async () => {
  const world = fakeWorld();
  const shared = gate(world, 2);
  const order: string[] = [];
  const calls = [
    shared.run(
      of(greedy),
      lasting(world, 100, () => order.push("greedy")),
    ),
    shared.run(
      of(modest),
      lasting(world, 200, () => order.push("modest")),
    ),
    shared.run(
      of(greedy),
      lasting(world, 100, () => order.push("greedy again")),
    ),
    shared.run(
      of(greedy),
      lasting(world, 100, () => order.push("greedy still")),
    ),
    shared.run(
      of(third),
      lasting(world, 100, () => order.push("third")),
    ),
  ];
  await world.advance(1_000);
  await Promise.all(calls);
  expect(order).toEqual(["greedy", "modest", "greedy again", "third", "greedy still"]);
});

test("a session that is alone again may have all of it", async () => {
  const world = fakeWorld();
  const shared = gate(world, 2);
  let started = 0;
  const calls = [1, 2].map(() =>
    shared.run(
      of(greedy),
      lasting(world, 1_000, () => started++),
    ),
  );
  await world.settle();
  expect(started).toBe(1);
  shared.setSharingSessions(1);
  await world.settle();
  expect(started).toBe(2);
  await world.advance(1_000);
  await Promise.all(calls);
});

const plan = fc.record({
  atMs: fc.integer({ min: 0, max: 60_000 }),
  lastsMs: fc.integer({ min: 0, max: 20_000 }),
  sharingSession: fc.constantFrom(greedy, modest, third),
});

test("never more than the limits in all nor than a share each, and each call ends once, within its wait", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(plan, { maxLength: 25 }),
      fc.integer({ min: 2, max: 4 }),
      fc.integer({ min: 2, max: 6 }),
      async (plans, callsAtOnce, callsPerMinute) => {
        const world = fakeWorld();
        const shared = gate(world, callsAtOnce, callsPerMinute);
        const running = new Map<object, number>();
        const starts: { readonly atMs: number; readonly sharingSession: object }[] = [];
        let ended = 0;
        for (const { atMs, lastsMs, sharingSession } of plans) {
          world.after(atMs, () => {
            const call = async () => {
              running.set(sharingSession, (running.get(sharingSession) ?? 0) + 1);
              starts.push({ atMs: world.monotonicMs(), sharingSession });
              expect([...running.values()].reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(callsAtOnce);
              expect(running.get(sharingSession)).toBeLessThanOrEqual(shareOf(callsAtOnce));
              const outcome = await lasting(world, lastsMs)();
              running.set(sharingSession, (running.get(sharingSession) ?? 0) - 1);
              return outcome;
            };
            shared.run(of(sharingSession), call).then(
              () => ended++,
              (error: unknown) => expect.unreachable(String(error)),
            );
          });
        }
        await world.advance(300_000);
        expect(ended).toBe(plans.length);
        for (const { atMs, sharingSession } of starts) {
          const inMinute = starts.filter((other) => other.atMs >= atMs && other.atMs < atMs + 60_000);
          expect(inMinute.length).toBeLessThanOrEqual(callsPerMinute);
          const own = inMinute.filter((other) => other.sharingSession === sharingSession);
          expect(own.length).toBeLessThanOrEqual(shareOf(callsPerMinute));
        }
        expect(world.clock.pendingTimers).toBe(0);
      },
    ),
    { numRuns: 30 },
  );
});
