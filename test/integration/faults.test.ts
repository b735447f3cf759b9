// Fault enumeration: of every program a sample of its operations and faults that changes with every commit, and those that once failed.
import { expect } from "vitest";
import { turnOfCommit } from "../../scripts/lib/share.js";
import { enumerate, type FaultRun, runFault, sampleOf, wordsOf } from "../scenarios/faults/enumerate.js";
import { closeLab, PROGRAMS } from "../scenarios/faults/programs.js";
import { scenario } from "../scenarios/scenario.js";

/** Of each program; all of them are run by `npm run soak -- faults`. */
const RUNS = 8;

async function failuresOf(runs: readonly FaultRun[]): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const run of runs) {
    const { hit, problems } = await runFault(run);
    failures.push(...problems.map((problem) => `${wordsOf(run)} (${hit}): ${problem}`));
  }
  return failures;
}

scenario(
  ["H150"],
  "ten programs, one operation of each run fails: the process lives, the other session works, the person hears why, journals load, nothing stays",
  async () => {
    const turn = await turnOfCommit();
    try {
      for (const program of PROGRAMS) {
        const runs = sampleOf(await enumerate(program), RUNS, turn);
        expect(await failuresOf(runs)).toEqual([]);
      }
    } finally {
      await closeLab();
    }
  },
  { timeoutMs: 300_000 },
);

scenario(
  ["H151", "H154"],
  "a journal, a lock and a configuration that fail once cost no acknowledged turn, no session and no server",
  async () => {
    const program = (name: string) => PROGRAMS.filter((one) => one.name === name);
    const once = ["torn", "short", "full", "EIO"] as const;
    const writes = program("open").flatMap((one) =>
      [1, 2, 3, 5, 8].flatMap((nth) =>
        once.map((fault): FaultRun => ({ program: one, plan: { operation: "files.write", nth, fault } })),
      ),
    );
    const locks = program("close").map(
      (one): FaultRun => ({ program: one, plan: { operation: "files.remove", nth: 1, fault: "EACCES" } }),
    );
    const config = program("config change").map(
      (one): FaultRun => ({ program: one, plan: { operation: "files.find", nth: 7, fault: "EMFILE" } }),
    );
    expect(await failuresOf([...writes, ...locks, ...config])).toEqual([]);
  },
);
