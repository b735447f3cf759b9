// The gateway dies under running turns, its clients lose it all at once, and many come and go. `npm run soak -- gateway-kill` and `gateway` do it at full size.
import { expect } from "vitest";
import { ON_FILES_ONLY } from "../test-store.js";
import { grown, runChurn } from "./gateway/churn.js";
import { runKillRound } from "./gateway/kill-round.js";
import { runStorm } from "./gateway/storm.js";
import { scenario } from "./scenario.js";

/** What issue and documents promise: nothing else runs on the machine meanwhile (scripts/verify.ts). */
const BACK_WITHIN_MS = 3_000;
/** Code that is compiled when it is used first, for the most part. */
const MAX_GROWTH_MB = 3;

scenario(
  ["G500", "G501", "F4"],
  "kill -9 of the gateway under five turns: all prompts are answered, nothing is shown twice or missing, no call is made twice",
  async () => {
    const { problems, backMs, calls } = await runKillRound({ turns: 5, chance: 0.4 });
    expect(problems).toEqual([]);
    expect(calls).toBeGreaterThan(0);
    expect(Math.max(...backMs)).toBeLessThan(BACK_WITHIN_MS);
  },
  ON_FILES_ONLY,
);

scenario(
  ["G502"],
  "twenty translators lose the socket at once: all are back, and the MCP server is not connected to anew",
  async () => {
    const { problems, backMs, handshakes, newHandshakes } = await runStorm(20);
    expect(problems).toEqual([]);
    expect(handshakes).toBeGreaterThan(0);
    expect(newHandshakes).toBe(0);
    expect(Math.max(...backMs)).toBeLessThan(BACK_WITHIN_MS);
  },
);

scenario(
  ["G505"],
  "clients that join, prompt, are cut off and leave: no file and no process is left, and no canary is written down",
  async () => {
    const { problems, held, cuts, prompts } = await runChurn({ generations: 2, joins: 40, editorEvery: 2, seed: 7 });
    expect([...problems, ...grown(held, MAX_GROWTH_MB)]).toEqual([]);
    expect(Math.min(cuts, prompts)).toBeGreaterThan(0);
  },
);
