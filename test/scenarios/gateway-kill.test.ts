// The gateway dies under running turns, and its clients lose it all at once. `npm run soak -- gateway-kill` does both at full size.
import { expect } from "vitest";
import { runKillRound } from "./gateway/kill-round.js";
import { runStorm } from "./gateway/storm.js";
import { scenario } from "./scenario.js";

/** From the kill to the first update of the next gateway, with a second for what else runs on the machine. */
const BACK_WITHIN_MS = 4_000;

scenario(
  ["G500", "G501", "F4"],
  "kill -9 of the gateway under five turns: all prompts are answered, nothing is shown twice or missing, no call is made twice",
  async () => {
    const { problems, backMs, calls } = await runKillRound({ turns: 5, chance: 0.4 });
    expect(problems).toEqual([]);
    expect(calls).toBeGreaterThan(0);
    expect(Math.max(...backMs)).toBeLessThan(BACK_WITHIN_MS);
  },
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
