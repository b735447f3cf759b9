// A check of `tenon acp-check`, its result, how it fails, and how it waits: by looking again, since processes, files and
// pipes announce nothing alike.
import { setTimeout as pause } from "node:timers/promises";
import { CLI_LIMITS } from "../limits.js";
import type { Claim, Introduction } from "./agent.js";
import type { Bench } from "./bench.js";

export interface Check {
  readonly title: string;
  /** What goes wrong for people when it fails. */
  readonly why: string;
  /** Shown only through what the model is offered or does. */
  readonly needsModel?: boolean;
  /** Agents without these abilities need not do it. */
  readonly needs?: readonly Claim[];
  /** Why this agent need not do it for another reason. Undefined when it must. */
  readonly ruledOut?: (agent: Introduction) => string | undefined;
  /** The evidence, in one line; fails by throwing `CheckFailure`. */
  readonly run: (bench: Bench) => Promise<string>;
}

/** By id: `group.what`, stable, since scripts name it. */
export type Checks = Readonly<Record<string, Check>>;

export interface CheckResult extends Pick<Check, "title" | "why"> {
  readonly id: string;
  readonly status: "pass" | "fail" | "skip";
  readonly evidence: string;
  readonly ms: number;
}

/** The agent fails the check; the message is the evidence. Any other error is a fault of the checker or the machine. */
export class CheckFailure extends Error {
  override readonly name = "CheckFailure";
}

export function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new CheckFailure(otherwise);
}

export const BOUNDS: typeof CLI_LIMITS.acpCheck & typeof CLI_LIMITS.acpCheckActs = {
  ...CLI_LIMITS.acpCheck,
  ...CLI_LIMITS.acpCheckActs,
};

const LOOK_MS = 20;

/** Looks at once, then again and again; true as soon as it holds, false when the time is over. */
export async function waitUntil(holds: () => boolean, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  for (;;) {
    if (holds()) return true;
    const left = end - performance.now();
    if (left <= 0) return false;
    await pause(Math.min(LOOK_MS, left));
  }
}

/** The promise's value, or undefined when it takes longer. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const over = new AbortController();
  try {
    return await Promise.race([promise, pause(ms, undefined, { signal: over.signal }).catch(() => undefined)]);
  } finally {
    over.abort();
  }
}
