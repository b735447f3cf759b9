// What a check is, and what comes of one.

import type { Introduction } from "./agent/introduction.js";
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

export interface CheckResult {
  readonly id: string;
  readonly title: string;
  readonly why: string;
  readonly status: CheckStatus;
  readonly evidence: string;
  readonly ms: number;
}
