// Where a value came from, and what is wrong with it: layer, file, line and column go with everything that was read.
import type { ImportName } from "./entry.js";

/** From the weakest to the strongest: each overrules those before it. */
export const LAYER_KINDS = ["default", "user", "project", "environment", "command-line", "client"] as const;
export type LayerKind = (typeof LAYER_KINDS)[number];

export interface Place {
  readonly layer: LayerKind;
  readonly file?: string;
  /** Both from 1, as editors count. */
  readonly line?: number;
  readonly column?: number;
  /** The environment's variable or the command line's option. */
  readonly name?: string;
  /** The other client whose file it is (`import`). */
  readonly client?: ImportName;
}

export interface Problem {
  /** An error leaves something out; a warning only says that something has no effect. */
  readonly severity: "error" | "warning";
  readonly place: Place;
  /** The server whose entry it is about. */
  readonly server?: string;
  /** What is wrong and what was expected, without place, server and suggestion. */
  readonly message: string;
  /** The file may be as it was: reading it failed. Until it can be read again, what it said before holds. */
  readonly isUnread?: true;
  /** What was probably meant. */
  readonly suggestion?: string;
}

/** `file:line:column`, as terminals and editors link it. */
export function placeText(place: Place): string {
  const { file, line, column, name, layer } = place;
  if (file === undefined) return name ?? LAYER_NAMES[layer];
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}

/** The whole of it in one line. */
export function problemText(problem: Problem): string {
  const server = problem.server === undefined ? "" : `server ${JSON.stringify(problem.server)}: `;
  const hint = problem.suggestion === undefined ? "" : `; did you mean ${JSON.stringify(problem.suggestion)}?`;
  return `${placeText(problem.place)}: ${server}${problem.message}${hint}`;
}

export const LAYER_NAMES: Readonly<Record<LayerKind, string>> = {
  default: "built-in defaults",
  user: "user configuration",
  project: "project configuration",
  environment: "environment",
  "command-line": "command line",
  client: "client",
};
