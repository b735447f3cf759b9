// kill -9 of the gateway under 20 running turns, some rounds of it, and 200 translators that lose the socket at once.
import { type KillRound, runKillRound } from "../../test/scenarios/gateway/kill-round.js";
import { runStorm } from "../../test/scenarios/gateway/storm.js";
import { ROOT, run } from "../lib/run.js";
import type { Soak, SoakReport } from "../lib/soak-report.js";

const ROUNDS = 10;
const TURNS = 20;
const TRANSLATORS = 200;
const BACK_WITHIN_MS = 3_000;

/** `npm run soak -- gateway-kill [rounds] [turns] [translators]` */
export const soak: Soak = async ([rounds, turns, translators]): Promise<SoakReport> => {
  const build = await run(process.execPath, ["--import", "tsx", `${ROOT}/scripts/build.ts`, "--if-needed"]);
  if (build.code !== 0) throw new Error(build.output);
  const sizes = { rounds: Number(rounds ?? ROUNDS), turns: Number(turns ?? TURNS) };
  const kills = await runKills(sizes);
  const storm = await runStorm(Number(translators ?? TRANSLATORS));
  const slowest = Math.max(...storm.backMs);
  const stormProblems = [
    ...storm.problems,
    ...(slowest <= BACK_WITHIN_MS ? [] : [`a translator was back after ${Math.round(slowest)} ms`]),
    ...(storm.newHandshakes === 0 ? [] : [`${storm.newHandshakes} new handshakes at the MCP server`]),
  ];
  console.log(`${storm.backMs.length} translators: ${spread(storm.backMs)}, ${storm.newHandshakes} new handshakes`);
  const failures = [...kills.failures, ...stormProblems];
  return {
    passed: sizes.rounds - kills.failed + (stormProblems.length === 0 ? 1 : 0),
    failed: kills.failed + (stormProblems.length === 0 ? 0 : 1),
    notes: [
      `- ${sizes.rounds} kills under ${sizes.turns} turns each: every prompt was answered, ${kills.calls} calls reached their servers, ${kills.unknown} of them with an unknown outcome, none twice.`,
      `- From the kill to the first update of the next gateway: ${spread(kills.backMs)}.`,
      `- ${storm.backMs.length} translators that lost the socket at once were back after ${spread(storm.backMs)}; ${storm.handshakes} handshakes at the MCP server before, ${storm.newHandshakes} after.`,
      ...failures.map((failure) => `- ${failure}`),
    ],
  };
};

interface Kills extends Pick<KillRound, "backMs" | "calls" | "unknown"> {
  readonly failed: number;
  readonly failures: readonly string[];
}

async function runKills({ rounds, turns }: { readonly rounds: number; readonly turns: number }): Promise<Kills> {
  const failures: string[] = [];
  const done: KillRound[] = [];
  let failed = 0;
  for (let round = 0; round < rounds; round++) {
    try {
      const result = await runKillRound({ turns, chance: (round + 0.5) / rounds });
      done.push(result);
      failures.push(...result.problems.map((problem) => `round ${round + 1}: ${problem}`));
      if (result.problems.length > 0) failed += 1;
      console.log(`round ${round + 1} of ${rounds}: ${spread(result.backMs)}, ${result.problems.length} problems`);
      for (const problem of result.problems.slice(0, 5)) console.log(`  ${problem}`);
    } catch (error) {
      failed += 1;
      failures.push(`round ${round + 1}: ${error instanceof Error ? error.message : String(error)}`);
      console.log(failures.at(-1));
    }
  }
  const backMs = done.flatMap((result) => result.backMs);
  const late = percentile(backMs, 0.99);
  if (late > BACK_WITHIN_MS) {
    failed += 1;
    failures.push(`the first update came after ${Math.round(late)} ms at the 99th percentile`);
  }
  const sum = (pick: (round: KillRound) => number) => done.reduce((total, round) => total + pick(round), 0);
  return { failed, failures, backMs, calls: sum(({ calls }) => calls), unknown: sum(({ unknown }) => unknown) };
}

function spread(values: readonly number[]): string {
  const [middle, late, last] = [0.5, 0.99, 1].map((share) => Math.round(percentile(values, share)));
  return `p50 ${middle} ms, p99 ${late} ms, at most ${last} ms`;
}

/** The smallest value that this share of all does not exceed. */
function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
