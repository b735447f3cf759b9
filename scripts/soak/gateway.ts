// 10,000 clients join and leave a gateway, prompt and are cut off; afterwards it holds what it held before.
import { parseArgs } from "node:util";
import { grown, runChurn } from "../../test/scenarios/gateway/churn.js";
import { ROOT, run } from "../lib/run.js";
import type { Soak, SoakReport } from "../lib/soak-report.js";

const GENERATIONS = 100;
const JOINS = 100;
const EDITOR_EVERY = 2;
/** In the second half. */
const MAX_GROWTH_MB = 1;

/** `npm run soak -- gateway [--generations n] [--joins n] [--seed n]` */
export const soak: Soak = async (args): Promise<SoakReport> => {
  const { values } = parseArgs({
    args: [...args],
    options: { generations: { type: "string" }, joins: { type: "string" }, seed: { type: "string" } },
  });
  const build = await run(process.execPath, ["--import", "tsx", `${ROOT}/scripts/build.ts`, "--if-needed"]);
  if (build.code !== 0) throw new Error(build.output);
  const churn = await runChurn({
    generations: Number(values.generations ?? GENERATIONS),
    joins: Number(values.joins ?? JOINS),
    editorEvery: EDITOR_EVERY,
    seed: Number(values.seed ?? 1),
    onGeneration: (done, { heapMb, files, children }) =>
      console.log(`generation ${done}: heap ${heapMb.toFixed(1)} MB, ${files} open files, ${children} children`),
  });
  const problems = [...new Set([...churn.problems, ...grown(churn.held, MAX_GROWTH_MB)])];
  for (const problem of problems.slice(0, 20)) console.log(problem);
  const shown = churn.held.map(({ heapMb }) => heapMb.toFixed(1)).join(", ");
  const last = churn.held.at(-1);
  return {
    passed: problems.length === 0 ? 1 : 0,
    failed: problems.length === 0 ? 0 : 1,
    notes: [
      `- ${churn.joins} clients joined and left, ${churn.cuts} of them cut off; ${churn.prompts} prompts; every other generation of 100 with a real translator.`,
      `- Heap after each tenth: ${shown} MB. Open files ${churn.held[0]?.files ?? "?"} after the first, ${last?.files ?? "?"} at the end; children ${last?.children ?? "?"}.`,
      "- No canary of an environment and no token was in the state folder, before sessions were deleted.",
      ...problems.slice(0, 50).map((problem) => `- ${problem}`),
    ],
  };
};
