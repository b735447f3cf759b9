// Spawn to the answer of `initialize`, for any number of agents in the same rounds as an empty Node.
import { Agent, type AgentCommand, timeToExit } from "../lib/agent.js";
import { median, medianRatio, rounded } from "../lib/statistics.js";

export interface Contestant {
  readonly name: string;
  readonly command: AgentCommand;
  /** Slow ones are measured in the first rounds only. */
  readonly maxRounds?: number;
}

export interface InitializeResult {
  readonly name: string;
  readonly rounds: number;
  readonly initializeMs: number;
  readonly ratio: number;
  readonly rssMb?: number;
}

export interface RoundsOptions {
  readonly contestants: readonly Contestant[];
  readonly empty: AgentCommand;
  readonly rounds: number;
}

export interface RoundsResult {
  readonly emptyMs: number;
  readonly results: readonly InitializeResult[];
  readonly failures: readonly { readonly name: string; readonly reason: string }[];
}

interface Samples {
  readonly times: number[];
  readonly rss: number[];
}

export const INITIALIZE = {
  protocolVersion: 1,
  clientInfo: { name: "tenon-bench", version: "1" },
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
} as const;

export async function measureInitialize({ contestants, empty, rounds }: RoundsOptions): Promise<RoundsResult> {
  const samples = new Map<string, Samples>();
  const failures: { name: string; reason: string }[] = [];
  // One start that does not count: files get into the cache, and an agent fills its home.
  await timeToExit(empty);
  for (const contestant of contestants) {
    try {
      await start(contestant);
      samples.set(contestant.name, { times: [], rss: [] });
    } catch (error) {
      failures.push({ name: contestant.name, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  const emptyTimes: number[] = [];
  const running = contestants.filter(({ name }) => samples.has(name));
  for (let round = 0; round < rounds; round++) {
    emptyTimes.push(await timeToExit(empty));
    for (const contestant of inTurn(running, round)) {
      if (round >= (contestant.maxRounds ?? rounds)) continue;
      const { ms, rssMb } = await start(contestant);
      samples.get(contestant.name)?.times.push(ms);
      if (rssMb !== undefined) samples.get(contestant.name)?.rss.push(rssMb);
    }
  }
  const results = [...samples].map(([name, { times, rss }]) => ({
    name,
    rounds: times.length,
    initializeMs: rounded(median(times)),
    ratio: rounded(medianRatio(times, emptyTimes)),
    ...(rss.length === 0 ? {} : { rssMb: rounded(median(rss)) }),
  }));
  return { emptyMs: rounded(median(emptyTimes)), results, failures };
}

async function start({ name, command }: Contestant): Promise<{ ms: number; rssMb: number | undefined }> {
  const agent = new Agent(command);
  try {
    const { arrivedAt } = await agent.request("initialize", INITIALIZE);
    return { ms: arrivedAt - agent.spawnedAt, rssMb: agent.residentMb() };
  } catch (error) {
    throw new Error(`${name} ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    await agent.kill();
  }
}

/** Nobody always comes right after the same neighbour. */
function inTurn<T>(items: readonly T[], round: number): T[] {
  const first = items.length === 0 ? 0 : round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
