// The limits of one server hold whatever is thrown at it, in order, and every call ends once.
import fc from "fast-check";
import { expect, test } from "vitest";
import { GatedCalls } from "../../../test/gated-calls.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import type { CallOutcome } from "../protocol/call.js";
import { serverLimits } from "./options.js";

const done: CallOutcome = { kind: "answered", isError: false, content: [] };
const never = new AbortController().signal;

function gate(world: FakeWorld, limits: Parameters<typeof serverLimits>[0] = {}): GatedCalls {
  return new GatedCalls(world, serverLimits({ callsAtOnce: 2, callsPerMinute: 3, limitWaitMs: 10_000, ...limits }));
}

/** A call that takes this long on the world's clock. */
function lasting(world: FakeWorld, ms: number): () => Promise<CallOutcome> {
  return () => new Promise((resolve) => world.after(ms, () => resolve(done)));
}

const request = { signal: never, server: "files", tool: "read" };

test("a call within the limits is made at once and leaves nothing behind", async () => {
  const world = fakeWorld();
  expect(await gate(world).run(request, () => Promise.resolve(done))).toBe(done);
  expect(world.clock.pendingTimers).toBe(0);
});

test("the third at once waits for one of two to end", async () => {
  const world = fakeWorld();
  const limited = gate(world);
  const ended: number[] = [];
  const calls = [300, 200, 100].map(async (ms) => {
    await limited.run(request, lasting(world, ms));
    ended.push(world.monotonicMs());
  });
  await world.advance(1_000);
  await Promise.all(calls);
  expect(ended).toEqual([200, 300, 300]);
});

test("when the places stay taken it fails after its wait, with the limit and what to do in words", async () => {
  const world = fakeWorld();
  const limited = gate(world);
  const slow = [limited.run(request, lasting(world, 20_000)), limited.run(request, lasting(world, 20_000))];
  const third = limited.run(request, lasting(world, 1));
  await world.advance(10_000);
  expect(await third).toMatchObject({
    kind: "failed",
    error: {
      code: "mcp.rate_limited",
      message:
        "files / read: not called, after waiting 10 s for its turn: 2 calls are running, and 2 at once is its limit; retry when one has ended",
    },
  });
  await world.advance(20_000);
  await Promise.all(slow);
  expect(world.clock.pendingTimers).toBe(0);
});

test("the fourth in a minute waits, then fails and says when to retry; a minute after the first it goes", async () => {
  const world = fakeWorld();
  const limited = gate(world);
  const quick = () => Promise.resolve(done);
  for (let count = 0; count < 3; count++) await limited.run(request, quick);
  const fourth = limited.run(request, quick);
  await world.advance(10_000);
  expect(await fourth).toMatchObject({
    kind: "failed",
    error: { message: expect.stringContaining("3 calls in the last minute, which is its limit; retry in 50 s") },
  });
  await world.advance(45_000);
  const fifth = limited.run(request, quick);
  await world.advance(5_000);
  expect(await fifth).toBe(done);
  expect(world.clock.pendingTimers).toBe(0);
});

test("a call cancelled in the line is cancelled and never made, and takes nobody's place", async () => {
  const world = fakeWorld();
  const limited = gate(world, { callsAtOnce: 1 });
  const controller = new AbortController();
  const made: string[] = [];
  const slow = limited.run(request, lasting(world, 1_000));
  const cancelled = limited.run({ ...request, signal: controller.signal }, async () => {
    made.push("cancelled");
    return done;
  });
  const patient = limited.run(request, async () => {
    made.push("patient");
    return done;
  });
  controller.abort();
  expect(await cancelled).toEqual({ kind: "cancelled" });
  expect(await limited.run({ ...request, signal: controller.signal }, () => Promise.resolve(done))).toEqual({
    kind: "cancelled",
  });
  await world.advance(1_000);
  await Promise.all([slow, patient]);
  expect(made).toEqual(["patient"]);
  expect(world.clock.pendingTimers).toBe(0);
});

test("without limits nothing is counted, and with none allowed nothing is called", async () => {
  const world = fakeWorld();
  const free = gate(world, { callsAtOnce: Number.POSITIVE_INFINITY, callsPerMinute: Number.POSITIVE_INFINITY });
  const all = Array.from({ length: 1_000 }, () => free.run(request, () => Promise.resolve(done)));
  expect(new Set(await Promise.all(all))).toEqual(new Set([done]));
  const none = gate(world, { callsPerMinute: 0 }).run(request, () => Promise.resolve(done));
  await world.advance(10_000);
  expect(await none).toMatchObject({ kind: "failed", error: { code: "mcp.rate_limited" } });
  expect(world.clock.pendingTimers).toBe(0);
});

test("a call that throws gives its place back", async () => {
  const world = fakeWorld();
  const limited = gate(world, { callsAtOnce: 1 });
  await expect(limited.run(request, () => Promise.reject(new Error("bug")))).rejects.toThrow("bug");
  expect(await limited.run(request, () => Promise.resolve(done))).toBe(done);
});

interface Planned {
  readonly atMs: number;
  readonly lastsMs: number;
  readonly cancelAfterMs: number | undefined;
}

const plan: fc.Arbitrary<Planned> = fc.record({
  atMs: fc.integer({ min: 0, max: 150_000 }),
  lastsMs: fc.integer({ min: 0, max: 20_000 }),
  cancelAfterMs: fc.option(fc.integer({ min: 0, max: 15_000 }), { nil: undefined }),
});

test("never too many at once or in any minute, first come first served, and each call ends exactly once", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(plan, { maxLength: 25 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 5 }),
      async (plans, callsAtOnce, callsPerMinute) => {
        const world = fakeWorld();
        const limited = gate(world, { callsAtOnce, callsPerMinute });
        const starts: { at: number; arrived: number }[] = [];
        const outcomes: { kind: string; waitedMs: number }[] = [];
        const failed: unknown[] = [];
        let running = 0;
        let most = 0;
        for (const [arrived, { atMs, lastsMs, cancelAfterMs }] of plans
          .toSorted((one, other) => one.atMs - other.atMs)
          .entries()) {
          world.after(atMs, () => {
            const controller = new AbortController();
            let startedMs: number | undefined;
            const call = async () => {
              startedMs = world.monotonicMs();
              starts.push({ at: startedMs, arrived });
              running += 1;
              most = Math.max(most, running);
              const outcome = await lasting(world, lastsMs)();
              running -= 1;
              return outcome;
            };
            const end = ({ kind }: CallOutcome) =>
              outcomes.push({ kind, waitedMs: (startedMs ?? world.monotonicMs()) - atMs });
            limited
              .run({ ...request, signal: controller.signal }, call)
              .then(end, (error: unknown) => failed.push(error));
            if (cancelAfterMs !== undefined) world.after(cancelAfterMs, () => controller.abort());
          });
        }
        await world.advance(300_000);
        expect(failed).toEqual([]);
        expect(outcomes).toHaveLength(plans.length);
        expect(most).toBeLessThanOrEqual(callsAtOnce);
        expect(starts.map(({ arrived }) => arrived)).toEqual(
          starts.map(({ arrived }) => arrived).toSorted((one, other) => one - other),
        );
        for (const { at } of starts) {
          const inMinute = starts.filter((other) => other.at >= at && other.at < at + 60_000);
          expect(inMinute.length).toBeLessThanOrEqual(callsPerMinute);
        }
        for (const { waitedMs } of outcomes) expect(waitedMs).toBeLessThanOrEqual(10_000);
        expect(world.clock.pendingTimers).toBe(0);
      },
    ),
    { numRuns: 30 },
  );
});
