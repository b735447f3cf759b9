// Progress is told at a pace: a few at once, then the latest, and the last one in any case.
import { expect, test } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { MCP_LIMITS } from "../limits.js";
import { type CallProgress, ProgressPace } from "./call.js";

function setUp() {
  const world = fakeWorld();
  const told: CallProgress[] = [];
  const pace = new ProgressPace(world, (progress) => told.push(progress));
  return { world, told, pace };
}

test("a few notices are told as they come", () => {
  const { told, pace } = setUp();
  for (let progress = 1; progress <= 5; progress++) pace.take({ progress, total: 5 });
  pace[Symbol.dispose]();
  expect(told.map(({ progress }) => progress)).toEqual([1, 2, 3, 4, 5]);
});

test("of 200,000 notices a bounded number is told, the last one always, and long messages are cut", async () => {
  const { world, told, pace } = setUp();
  const { burst, everyMs, messageChars } = MCP_LIMITS.callProgress;
  for (let round = 0; round < 20; round++) {
    for (let index = 1; index <= 10_000; index++) {
      pace.take({ progress: round * 10_000 + index, message: "x".repeat(2_000) });
    }
    await world.clock.advance(everyMs);
  }
  pace.take({ progress: 200_001 });
  pace[Symbol.dispose]();
  pace.take({ progress: 200_002 });
  expect(told.length).toBeLessThanOrEqual(burst + 22);
  expect(told.at(-1)).toEqual({ progress: 200_001 });
  expect(told[0]?.message?.length).toBe(messageChars + 1);
  expect(world.clock.pendingTimers).toBe(0);
});
