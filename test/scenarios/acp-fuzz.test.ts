// Whatever a client sends, the agent goes on, and says nothing but valid ACP.
import fc from "fast-check";
import { expect, vi } from "vitest";
import { runFuzz } from "./acp-fuzz.js";
import { anyLine } from "./acp-fuzz-messages.js";
import { scenario } from "./scenario.js";

const RUNS = 50;
const LINES_PER_RUN = 100;

scenario(
  ["P62", "H153"],
  "5,000 messages nobody should send: no crash, no unhandled rejection, every output valid ACP",
  async () => {
    vi.spyOn(console, "error").mockImplementation(() => {}); // the SDK tells there what it drops
    const lines = fc.array(anyLine, { minLength: LINES_PER_RUN, maxLength: LINES_PER_RUN });
    await fc.assert(
      fc.asyncProperty(lines, async (sent) => {
        expect(await runFuzz(sent)).toEqual([]);
      }),
      { numRuns: RUNS, plugins: [fc.interruptAfterTimeLimit(240_000, { failOnInterrupt: true })] },
    );
  },
  { timeoutMs: 300_000 },
);
