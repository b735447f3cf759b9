// A command that prints for ever.
import { expect, test } from "vitest";
import { testSessions } from "../../test/builtin-session.js";
import { LIMITS } from "../base/limits.js";
import { BUILTIN_LIMITS } from "./limits.js";

const open = testSessions();

test("is ended, with the start and the end of what it printed", async () => {
  const answer = await open().say("run_command", { command: "echo start; yes flood" });
  expect(answer).toMatch(/^failed: start\nflood\n/);
  expect(answer).toContain(`[it printed more than ${BUILTIN_LIMITS.commandMaxBytes} bytes and was ended]`);
  expect(answer.length).toBeLessThan(LIMITS.resultMaxBytes);
});
