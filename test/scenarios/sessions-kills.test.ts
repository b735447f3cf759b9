// Killed in the middle of a turn, by seeds: nothing the client had read is lost. `npm run soak -- kills` does it 300 times.
import { expect } from "vitest";
import { runKill } from "./kill-cycle.js";
import { scenario } from "./scenario.js";

const KILLS = 20;

for (let seed = 1; seed <= KILLS; seed++) {
  scenario(
    ["P5"],
    `kill -9 by seed ${seed}, then load: all that was read is there, and no process is left`,
    async () => {
      const { problems, place } = await runKill(seed);
      expect(problems, place).toEqual([]);
    },
  );
}
