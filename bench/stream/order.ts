// What a prompt of the stream bench asks for, in the words of the prompt.

export type Side = "sdk" | "tenon" | "by hand";

export interface Order {
  readonly count: number;
  /** Between two chunks; 0 for as fast as they can be made. */
  readonly gapMs: number;
  /** What each chunk says: its number, or the nanoseconds of the machine's clock when it was made. */
  readonly says: "number" | "time";
}

export function wordsFor({ count, gapMs, says }: Order): string {
  return `stream ${count} chunks every ${gapMs} ms with the ${says}`;
}

export function orderIn(words: string): Order {
  const [, count, gapMs, says] = /stream (\d+) chunks every (\d+) ms with the (number|time)/.exec(words) ?? [];
  return { count: Number(count ?? 0), gapMs: Number(gapMs ?? 0), says: says === "time" ? "time" : "number" };
}
