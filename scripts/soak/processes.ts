// The process cycles tenfold: every kind of server, every way the host can end, and nothing left of any.
import {
  HOST_ENDS,
  type HostEnd,
  runCycle,
  SERVER_KINDS,
  type ServerKind,
} from "../../test/scenarios/process-cycle.js";
import { ROOT, run } from "../lib/run.js";
import type { Soak, SoakReport } from "../lib/soak-report.js";

const ROUNDS = 10;

interface Cell {
  readonly kind: ServerKind;
  readonly end: HostEnd;
  readonly leftMs: number[];
  readonly failures: string[];
}

async function runCell(cell: Cell): Promise<void> {
  const { kind, end, leftMs, failures } = cell;
  try {
    const cycle = await runCycle(kind, end);
    leftMs.push(cycle.leftMs);
    for (const line of cycle.left) failures.push(`${kind} / ${end} left ${line}`);
    if (cycle.leftMs > cycle.allowedMs)
      failures.push(`${kind} / ${end} took ${cycle.leftMs} ms, not ${cycle.allowedMs}`);
  } catch (error) {
    failures.push(`${kind} / ${end}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** `npm run soak -- processes [rounds]` */
export const soak: Soak = async ([rounds]): Promise<SoakReport> => {
  const build = await run(process.execPath, ["--import", "tsx", `${ROOT}/scripts/build.ts`, "--if-needed"]);
  if (build.code !== 0) throw new Error(build.output);
  const cells: Cell[] = SERVER_KINDS.flatMap((kind) =>
    HOST_ENDS.map((end) => ({ kind, end, leftMs: [], failures: [] })),
  );
  const count = rounds === undefined ? ROUNDS : Number(rounds);
  for (let round = 1; round <= count; round++) {
    for (const cell of cells) await runCell(cell);
    console.log(`round ${round} of ${count}: ${cells.flatMap(({ failures }) => failures).length} failures so far`);
  }
  const failures = cells.flatMap((cell) => cell.failures);
  const killed = cells.filter(({ end }) => end === "SIGKILL").flatMap(({ leftMs }) => leftMs);
  return {
    passed: cells.length * count - failures.length,
    failed: failures.length,
    notes: [
      `- ${SERVER_KINDS.join(", ")} servers x ${HOST_ENDS.join(", ")} of the host, ${count} times each.`,
      `- After SIGKILL of the host everything was gone within ${Math.max(...killed)} ms at most.`,
      ...failures.map((failure) => `- ${failure}`),
    ],
  };
};
