// Work on servers' data takes turns with everything else on the event loop.
import { expect, test } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { Pace } from "./pace.js";

/** A world whose clock moves while work is done. */
function setUp() {
  const world = fakeWorld();
  let extraMs = 0;
  const monotonicMs = () => world.clock.elapsedMs + extraMs;
  const working = (ms: number) => () => {
    extraMs += ms;
    return ms;
  };
  world.monotonicMs = monotonicMs;
  const turns: (() => void)[] = [];
  world.soon = (run) => {
    turns.push(run);
  };
  /** What waits for the next turn of the loop, each in one of its own. */
  const nextTurn = async () => {
    turns.shift()?.();
    await world.settle();
  };
  return { world, pace: Pace.of(world), working, turns, nextTurn };
}

test("little work is done at once, and its value or failure passed on", async () => {
  const { world, pace, working, turns } = setUp();
  expect(await pace.run(working(1))).toBe(1);
  await expect(pace.run(() => JSON.parse("{"))).rejects.toThrow(SyntaxError);
  expect(turns).toEqual([]);
  expect(world.clock.pendingTimers).toBe(0);
});

test("after its share everyone waits for the next turn, in the order they came", async () => {
  const { world, pace, working, turns, nextTurn } = setUp();
  const done: string[] = [];
  const all = ["a", "b", "c"].map((name) => pace.run(working(6)).then(() => done.push(name)));
  await world.settle();
  expect(done).toEqual(["a"]);
  await nextTurn();
  expect(done).toEqual(["a", "b"]);
  await nextTurn();
  await Promise.all(all);
  expect(done).toEqual(["a", "b", "c"]);
  expect(turns.length).toBe(1);
});

test("small lumps add up to a share", async () => {
  const { world, pace, working, nextTurn } = setUp();
  let done = 0;
  const all = Array.from({ length: 10 }, () => pace.run(working(1)).then(() => (done += 1)));
  await world.settle();
  expect(done).toBe(5);
  await nextTurn();
  await Promise.all(all);
  expect(done).toBe(10);
});

test("connections of one world share one pace", () => {
  const world = fakeWorld();
  expect(Pace.of(world)).toBe(Pace.of(world));
  expect(Pace.of(fakeWorld())).not.toBe(Pace.of(world));
});
