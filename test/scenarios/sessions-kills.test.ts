// Killed in the middle of a turn, by seeds: nothing the client had read is lost. `npm run soak -- kills` does it 300 times.
import { expect } from "vitest";
import { runKill } from "./kill-cycle.js";
import { partOf, scenario } from "./scenario.js";

const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);

for (const seed of partOf(SEEDS, 2)) {
  scenario(
    ["P5"],
    `kill -9 by seed ${seed}, then load: all that was read is there, and no process is left`,
    async () => {
      const { problems, place } = await runKill(seed);
      expect(problems, place).toEqual([]);
    },
  );
}
