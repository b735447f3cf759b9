// Fault enumeration: ten programs, every operation of their World, every fault that fits it, one run each.
import { enumerate, type FaultRun, runFault, wordsOf } from "../../test/scenarios/faults/enumerate.js";
import { closeLab, PROGRAMS } from "../../test/scenarios/faults/programs.js";
import type { Soak, SoakReport } from "../lib/soak-report.js";

const EVERY = 500;

/** `npm run soak -- faults [part of a program's name] [take every n-th]` */
export const soak: Soak = async ([part = "", step = "1"]): Promise<SoakReport> => {
  const notes: string[] = [];
  const failures: string[] = [];
  let [passed, failed, missed] = [0, 0, 0];
  for (const program of PROGRAMS.filter(({ name }) => name.includes(part))) {
    const all = await enumerate(program);
    const startMs = performance.now();
    let unhit = 0;
    for (const [index, run] of all.entries()) {
      if (index % Number(step) !== 0) continue;
      const { hit, problems } = await runFault(run);
      if (hit === undefined) unhit += 1;
      if (problems.length === 0) passed += 1;
      else {
        failed += 1;
        failures.push(said(run, hit, problems));
        console.log(failures.at(-1));
      }
      if ((passed + failed) % EVERY === 0) console.log(`${passed + failed} runs: ${failed} failed so far`);
    }
    missed += unhit;
    const operations = new Set(all.map(({ plan }) => `${plan.operation} ${plan.nth}`)).size;
    const seconds = Math.round((performance.now() - startMs) / 1000);
    console.log(`${program.name}: ${operations} operations, ${all.length} runs, ${unhit} not reached, ${seconds} s`);
    notes.push(`- ${program.name}: ${operations} operations, ${all.length} runs.`);
  }
  await closeLab();
  return {
    passed,
    failed,
    notes: [
      ...notes,
      `- In ${missed} runs the operation did not come up again, since the order of some depends on the machine.`,
      ...failures.map((failure) => `- ${failure}`),
    ],
  };
};

function said(run: FaultRun, hit: string | undefined, problems: readonly string[]): string {
  return `${wordsOf(run)} (${hit ?? "not reached"}): ${problems.join("; ").slice(0, 600)}`;
}
