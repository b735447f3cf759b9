// What turns used, from the records of journals, by turn and by day.
import { partOf, plainText } from "../model/parts.js";
import { type JsonObject, listAt, numberAt, objectAt, textAt } from "../wire/json.js";

/** What one turn used. */
export interface TurnUsage {
  readonly t: number;
  readonly title: string;
  readonly input: number;
  readonly output: number;
  readonly costUsd: number;
}

/** `usage` records count up within their turn: the last of a turn is all of it. */
export function turnsOf(records: readonly JsonObject[]): readonly TurnUsage[] {
  const turns: TurnUsage[] = [];
  for (const record of records) {
    const kind = textAt(record, "kind");
    const t = numberAt(record, "t") ?? 0;
    if (kind === "prompt") {
      const title = plainText(listAt(record, "content").map((block) => partOf(block)));
      turns.push({ t, title, input: 0, output: 0, costUsd: 0 });
    } else if (kind === "usage") {
      const turn = objectAt(record, "turn");
      const last = turns.at(-1) ?? { t, title: "", input: 0, output: 0, costUsd: 0 };
      const [input = 0, output = 0, costUsd = 0] = ["inputTokens", "outputTokens", "costUsd"].map((name) =>
        numberAt(turn, name),
      );
      turns[Math.max(0, turns.length - 1)] = { ...last, input, output, costUsd };
    }
  }
  return turns;
}

/** By the days of the person who looks. */
export function byDay(turns: readonly TurnUsage[]): readonly TurnUsage[] {
  const days = new Map<number, TurnUsage>();
  for (const { t, input, output, costUsd } of turns) {
    const day = new Date(t).setHours(0, 0, 0, 0);
    const so = days.get(day) ?? { t: day, title: "", input: 0, output: 0, costUsd: 0 };
    days.set(day, { ...so, input: so.input + input, output: so.output + output, costUsd: so.costUsd + costUsd });
  }
  return [...days.values()].sort((a, b) => a.t - b.t);
}
