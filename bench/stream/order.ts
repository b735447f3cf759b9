// What a prompt of the stream bench asks for, in the words of the prompt.

export type Side = "sdk" | "tenon" | "by hand";

export interface Order {
  readonly count: number;
  /** Between two chunks; 0 for as fast as they can be made. */
  readonly gapMs: number;
  /** What each chunk says: its number, or the nanoseconds of the machine's clock when it was made. */
  readonly says: "number" | "time";
  /** Each in a turn of the event loop of its own, so that each is a record of its own. */
  readonly isApart?: boolean;
}

export function wordsFor({ count, gapMs, says, isApart = false }: Order): string {
  return `stream ${count} chunks every ${gapMs} ms ${isApart ? "apart " : ""}with the ${says}`;
}

export function orderIn(words: string): Order {
  const pattern = /stream (\d+) chunks every (\d+) ms (apart )?with the (number|time)/;
  const [, count = 0, gapMs = 0, apart, says] = pattern.exec(words) ?? [];
  const isApart = apart !== undefined;
  return { count: Number(count), gapMs: Number(gapMs), says: says === "time" ? "time" : "number", isApart };
}
