// Kills by seeds, in the middle of turns, each followed by a load: everything the client had read is there.
import { runKill } from "../../test/scenarios/kill-cycle.js";
import { ROOT, run } from "../lib/run.js";
import type { Soak, SoakReport } from "../lib/soak-report.js";

const KILLS = 300;
const EVERY = 25;

/** `npm run soak -- kills [count] [first seed]` */
export const soak: Soak = async ([count, first]): Promise<SoakReport> => {
  const build = await run(process.execPath, ["--import", "tsx", `${ROOT}/scripts/build.ts`, "--if-needed"]);
  if (build.code !== 0) throw new Error(build.output);
  const kills = count === undefined ? KILLS : Number(count);
  const start = first === undefined ? 1 : Number(first);
  const failures: string[] = [];
  let failed = 0;
  let midTurn = 0;
  for (let seed = start; seed < start + kills; seed++) {
    const { problems, place, read } = await killBy(seed);
    if (read > 0) midTurn += 1;
    if (problems.length > 0) failed += 1;
    failures.push(...problems.map((problem) => `seed ${seed} (${place}): ${problem}`));
    const done = seed - start + 1;
    if (done % EVERY === 0) console.log(`${done} of ${kills} kills: ${failed} failed so far`);
  }
  return {
    passed: kills - failed,
    failed,
    notes: [
      `- ${kills} kills over five provider formats; in ${midTurn} of them the client had read something of the turn.`,
      ...failures.map((failure) => `- ${failure}`),
    ],
  };
};

async function killBy(seed: number): ReturnType<typeof runKill> {
  try {
    return await runKill(seed);
  } catch (error) {
    return { place: "?", read: 0, problems: [error instanceof Error ? error.message : String(error)] };
  }
}
