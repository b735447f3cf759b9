// Every cut of recorded sessions, continued by another process: `npm run soak -- continue [--sessions n] [--from seed]`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { continued, cutsOf, linesOf, recordSession } from "../../test/continued-turns.js";
import type { SoakReport } from "../lib/soak-report.js";

const SESSIONS = 200;

export async function soak(args: readonly string[]): Promise<SoakReport> {
  const options = { sessions: { type: "string" }, from: { type: "string" } } as const;
  const { values } = parseArgs({ args: [...args], options });
  const sessions = Number(values.sessions ?? SESSIONS);
  const from = Number(values.from ?? 1);
  const folder = mkdtempSync(join(tmpdir(), "tenon-soak-continue-"));
  const faults: string[] = [];
  let passed = 0;
  const wentOn = { turns: 0, unknown: 0 };
  try {
    for (let seed = from; seed < from + sessions; seed++) {
      const taskFile = join(folder, `${seed}.json`);
      const recorded = await recordSession(seed, taskFile);
      for (const [index, cut] of cutsOf(recorded.journal).entries()) {
        const told = await continued(recorded, taskFile, cut).catch((error: unknown) => ({
          faults: [String(error)],
          journal: cut,
        }));
        const added = linesOf(told.journal).slice(linesOf(cut).length);
        if (added.some(({ kind }) => kind === "continued")) wentOn.turns += 1;
        if (JSON.stringify(added).includes('"kind":"unknown"')) wentOn.unknown += 1;
        if (told.faults.length === 0) passed += 1;
        else faults.push(`session ${seed}, cut ${index}: ${told.faults.join("; ")}`);
      }
      if (seed % 10 === 0) console.log(`session ${seed}: ${passed} cuts passed, ${faults.length} failed`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return {
    passed,
    failed: faults.length,
    notes: [
      `- ${sessions} sessions with calls in parallel, permissions, tasks, compaction, errors and cancellation, each cut after every record`,
      `- in ${wentOn.turns} the turn went on, in ${wentOn.unknown} with a call whose outcome is unknown; in the others it was over`,
      ...faults.slice(0, 50).map((fault) => `- FAILED ${fault}`),
    ],
  };
}
