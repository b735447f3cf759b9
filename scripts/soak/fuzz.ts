// Lines nobody should send, by seeds: the agent goes on, and says nothing but valid ACP.
import fc from "fast-check";
import { runFuzz } from "../../test/scenarios/acp-fuzz.js";
import { anyLine } from "../../test/scenarios/acp-fuzz-messages.js";
import type { Soak, SoakReport } from "../lib/soak-report.js";

const MESSAGES = 100_000;
/** To one agent, before it has to show that it is still there. */
const LINES_PER_AGENT = 200;
const EVERY = 50;

/** `npm run soak -- fuzz [messages] [first seed]` */
export const soak: Soak = async ([messages, first]): Promise<SoakReport> => {
  const agents = Math.ceil(Number(messages ?? MESSAGES) / LINES_PER_AGENT);
  const start = Number(first ?? 1);
  const failures: string[] = [];
  let failed = 0;
  const say = console.error;
  console.error = () => {}; // the SDK tells there what it drops
  try {
    for (let seed = start; seed < start + agents; seed++) {
      const problems = await runFuzz(fc.sample(anyLine, { numRuns: LINES_PER_AGENT, seed }));
      if (problems.length > 0) failed += 1;
      failures.push(...problems.map((problem) => `seed ${seed}: ${problem}`));
      const done = seed - start + 1;
      if (done % EVERY === 0)
        console.log(`${done * LINES_PER_AGENT} messages: ${failed} of ${done} agents failed so far`);
    }
  } finally {
    console.error = say;
  }
  return {
    passed: agents - failed,
    failed,
    notes: [
      `- ${agents * LINES_PER_AGENT} messages to ${agents} agents: requests and notifications, mutated ones, stray answers, broken lines; directories and sessions that are none, hostile project files, ids of every shape and depth, long texts, halves of lines, bursts, a client that stops reading; a stdio server attached.`,
      ...failures.map((failure) => `- ${failure}`),
    ],
  };
};
