// What a text search finds, whoever searched, and how it is written down for the model.
import { BUILTIN_LIMITS } from "../limits.js";

/** One line, matching or beside one that does. */
export interface Hit {
  /** Absolute. */
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly isContext: boolean;
}

export interface GrepRequest {
  readonly pattern: RegExp;
  /** As the model wrote it. */
  readonly source: string;
  readonly isLiteral: boolean;
  readonly ignoreCase: boolean;
  /** A real path, of a file or a folder. */
  readonly start: string;
  readonly isFolder: boolean;
  readonly glob: string | undefined;
  readonly includeIgnored: boolean;
  /** Lines around each match. */
  readonly context: number;
  readonly signal: AbortSignal;
}

/** Hits by file, in order; `notes` is complete once they are. Whoever stops reading early ends the search. */
export interface Grep {
  hits(): AsyncGenerator<Hit>;
  readonly notes: readonly string[];
}

const MAX_CHARS = 500;

/** A long line is shown around its beginning only: what matched may be anywhere in it. */
export function showHit({ line, text, isContext }: Hit): string {
  const whole = text.replace(/\r?\n?$/u, "");
  const cut = Math.min(MAX_CHARS, BUILTIN_LIMITS.lineMaxChars);
  const shown = whole.length > cut ? `${whole.slice(0, cut)}… [${whole.length} characters]` : whole;
  return `${line}${isContext ? "-" : ":"} ${shown}`;
}
