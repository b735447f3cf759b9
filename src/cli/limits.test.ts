// Limits that promise something together.
import { expect, test } from "vitest";
import { LIMITS } from "../base/limits.js";
import { CLI_LIMITS } from "./limits.js";

test("a server is sent KILL within 5 s of a normal close", () => {
  expect(LIMITS.closeGrace.stdinMs + LIMITS.closeGrace.terminateMs).toBeLessThanOrEqual(5_000);
});

test("ending a stubborn server leaves time within the shutdown of Tenon itself", () => {
  const ladderMs = LIMITS.exitGrace.stdinMs + LIMITS.exitGrace.terminateMs + LIMITS.killWaitMs;
  expect(ladderMs + 2 * LIMITS.groupPollMs).toBeLessThan(CLI_LIMITS.shutdownMs);
});
