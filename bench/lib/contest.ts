// Contestants in turn, round after round, and what comes of it: medians, and ratios to the floor of the same round.
import type { Figures } from "./sample.js";
import { median, medianRatio, rounded } from "./statistics.js";

export interface Contestant {
  readonly name: string;
  /** Slow ones are measured in the first rounds only. */
  readonly maxRounds?: number;
  sample(): Promise<Figures>;
}

export interface Summary {
  readonly name: string;
  readonly rounds: number;
  readonly median: Figures;
  /** To the first contestant; absent for itself. */
  readonly ratio?: Figures;
  /** Why it has no figures, or fewer than there were rounds. */
  readonly failure?: string;
}

interface Kept {
  readonly contestant: Contestant;
  /** By round. */
  readonly samples: Map<number, Figures>;
  failure?: string;
}

/** The first contestant is the floor. One that fails is not measured again, and its failure is told. */
export async function contest(contestants: readonly Contestant[], rounds: number): Promise<Summary[]> {
  const all: Kept[] = contestants.map((contestant) => ({ contestant, samples: new Map() }));
  for (let round = 0; round < rounds; round++) {
    for (const kept of inTurn(all, round)) {
      if (kept.failure !== undefined || round >= (kept.contestant.maxRounds ?? rounds)) continue;
      try {
        kept.samples.set(round, await kept.contestant.sample());
      } catch (error) {
        kept.failure = error instanceof Error ? error.message : String(error);
      }
    }
  }
  const [floor] = all;
  if (floor?.failure !== undefined) throw new Error(`${floor.contestant.name} failed: ${floor.failure}`);
  return all.map((kept) => summary(kept, kept === floor ? undefined : floor));
}

function summary({ contestant, samples, failure }: Kept, floor: Kept | undefined): Summary {
  const names = Object.keys([...samples.values()][0] ?? {});
  const each = (value: (name: string) => number): Figures =>
    Object.fromEntries(names.map((name) => [name, rounded(value(name))]));
  const column = (name: string) => [...samples.values()].map((figures) => figures[name] ?? Number.NaN);
  const floorColumn = (name: string) =>
    [...samples.keys()].map((round) => floor?.samples.get(round)?.[name] ?? Number.NaN);
  return {
    name: contestant.name,
    rounds: samples.size,
    median: each((name) => median(column(name))),
    ...(floor && { ratio: each((name) => medianRatio(column(name), floorColumn(name))) }),
    ...(failure === undefined ? {} : { failure }),
  };
}

/** Nobody always comes right after the same neighbour. */
function inTurn<T>(items: readonly T[], round: number): T[] {
  const first = items.length === 0 ? 0 : round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
