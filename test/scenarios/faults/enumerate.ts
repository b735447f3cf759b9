// Every operation of a program with every fault that fits it, one run each.
import { createHash } from "node:crypto";
import { messageOf } from "../../../src/base/errors.js";
import { FITTING, type Operation, type PlannedFault } from "../../../src/testing/lab/faulty-world.js";
import type { Program } from "./programs.js";
import { FaultStage } from "./stage.js";

export interface FaultRun {
  readonly program: Program;
  readonly plan: PlannedFault;
}

export interface FaultResult {
  /** Undefined when the operation did not come up this time. */
  readonly hit: string | undefined;
  readonly problems: readonly string[];
}

/** Learns by one run in which nothing fails which operations there are. Throws when that run does not do what it is for. */
export async function enumerate(program: Program): Promise<readonly FaultRun[]> {
  await attempt(program, undefined); // what is loaded when it is first needed is loaded now
  const { result, counts } = await attempt(program, undefined);
  if (result.problems.length > 0) throw new Error(`${program.name} without a fault: ${result.problems.join("; ")}`);
  return [...counts].flatMap(([operation, count]) =>
    Array.from({ length: count }, (_, index) => index + 1).flatMap((nth) =>
      FITTING[operation].map((fault) => ({ program, plan: { operation, nth, fault } })),
    ),
  );
}

export async function runFault({ program, plan }: FaultRun): Promise<FaultResult> {
  return (await attempt(program, plan)).result;
}

async function attempt(
  program: Program,
  plan: PlannedFault | undefined,
): Promise<{ readonly result: FaultResult; readonly counts: ReadonlyMap<Operation, number> }> {
  const problems: string[] = [];
  const onUncaught = (error: unknown) =>
    problems.push(`would have ended the process: ${error instanceof Error ? error.stack : String(error)}`);
  process.on("uncaughtException", onUncaught);
  process.on("unhandledRejection", onUncaught);
  const stage = new FaultStage({ ...(await program.stage?.()), ...(plan ? { plan } : {}) });
  try {
    await stage.openOther();
    const session = await program.prepare?.(stage);
    if (stage.reasons.length > 0) throw new Error(`preparing: ${stage.reasons.join("; ")}`);
    stage.faulty.resume();
    const isAchieved = await program.run(stage, session);
    const { reasons } = stage;
    stage.faulty.pause();
    if (!isAchieved && reasons.length === 0) problems.push("it did not work, and nobody was told why");
    if (plan === undefined && !isAchieved) problems.push(`it did not work: ${reasons.join("; ")}`);
    problems.push(...(await stage.verify()));
  } catch (error) {
    problems.push(`it hangs or breaks: ${messageOf(error)}`);
  } finally {
    await new Promise<void>((resolve) => setImmediate(resolve));
    process.off("uncaughtException", onUncaught);
    process.off("unhandledRejection", onUncaught);
    await stage.dispose();
  }
  return { result: { hit: stage.faulty.hit, problems }, counts: stage.faulty.counts };
}

/** As many of them, others with every turn. */
export function sampleOf(runs: readonly FaultRun[], count: number, turn: string): readonly FaultRun[] {
  const order = (run: FaultRun) =>
    createHash("sha256")
      .update(`${turn} ${wordsOf(run)}`)
      .digest("hex");
  const keyed = runs.map((run) => ({ run, key: order(run) }));
  return keyed
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .slice(0, count)
    .map(({ run }) => run);
}

export function wordsOf({ program, plan }: FaultRun): string {
  return `${program.name}: ${plan.operation} no. ${plan.nth}, ${plan.fault}`;
}
