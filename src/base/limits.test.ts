// Limits that promise something together.
import { expect, test } from "vitest";
import { LIMITS } from "./limits.js";

test("a server is sent KILL within 5 s of a normal close", () => {
  expect(LIMITS.closeGrace.stdinMs + LIMITS.closeGrace.terminateMs).toBeLessThanOrEqual(5_000);
});

test("ending a stubborn server leaves time within the shutdown of Tenon itself", () => {
  const ladderMs = LIMITS.exitGrace.stdinMs + LIMITS.exitGrace.terminateMs + LIMITS.killWaitMs;
  expect(ladderMs + 2 * LIMITS.groupPollMs).toBeLessThan(LIMITS.shutdownMs);
});

test("every limit is a positive number, or a group of them", () => {
  for (const [name, limit] of Object.entries<number | object>(LIMITS)) {
    const numbers = typeof limit === "number" ? [limit] : Object.values(limit);
    for (const value of numbers) expect([name, value > 0]).toEqual([name, true]);
  }
});
