// What CI runs of a long list: some always, of the others a part that changes with every commit.
import { createHash } from "node:crypto";
import { run } from "./run.js";

/** Anything that changes with every commit. */
export async function turnOfCommit(): Promise<string> {
  const { output } = await run("git", ["rev-parse", "HEAD"]);
  return output.trim();
}

export interface Share {
  readonly always: readonly string[];
  /** One of so many parts. */
  readonly parts: number;
  readonly turn: string;
}

/** Turns that follow each other need not run everything; many do. */
export function shareOf(names: readonly string[], { always, parts, turn }: Share): readonly string[] {
  const chosen = numberOf(turn) % parts;
  return names.filter((name) => always.includes(name) || numberOf(name) % parts === chosen);
}

/** One of a few groups, so that no commit runs two of them. */
export function groupOf<T>(groups: readonly [T, ...T[]], turn: string): T {
  return groups[numberOf(turn) % groups.length] ?? groups[0];
}

function numberOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE(0);
}
