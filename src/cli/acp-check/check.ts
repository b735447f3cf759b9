// A check of `tenon acp-check`, its result, and how it fails.
import type { Introduction } from "./agent.js";
import type { Bench } from "./bench.js";

export type CheckStatus = "pass" | "fail" | "skip";

export interface Check {
  /** `group.what`, stable: scripts name it. */
  readonly id: string;
  readonly title: string;
  /** What goes wrong for people when it fails. */
  readonly why: string;
  /** Shown only through what the model is offered or does. */
  readonly needsModel?: boolean;
  /** Why this agent need not do it: an ability it does not claim. Undefined when it must. */
  readonly ruledOut?: (agent: Introduction) => string | undefined;
  /** The evidence, in one line; fails by throwing `CheckFailure`. */
  readonly run: (bench: Bench) => Promise<string>;
}

export interface CheckResult extends Pick<Check, "id" | "title" | "why"> {
  readonly status: CheckStatus;
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
