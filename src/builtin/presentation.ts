// How a call of a built-in tool looks to people: the side channel beside its outcome, which is for the model.
//
// Three moments, in this order:
// 1. before the call, `BuiltinSource.describe(tool, arguments)` for the card, and `preview` for the permission question;
// 2. while it runs, each progress notice may carry a newer presentation (`presentationOf`): a terminal as soon as it is
//    there, a diff as soon as it is known;
// 3. the last one carried before the outcome is the final one. None was carried: that of moment 1 still holds.
// A presentation always replaces the earlier one as a whole.
import type { CatalogTool, ToolProgress } from "../tools/index.js";

/** ACP's tool kinds, as far as the agent's own tools have them. */
export type BuiltinKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";

export interface FileLocation {
  /** Absolute, as the session names it: links are not resolved, since editors know files by the way they opened them. */
  readonly path: string;
  /** From 1. */
  readonly line?: number;
}

/** The whole text before and after; without `oldText` the file is new. */
export interface FileDiff {
  readonly path: string;
  readonly oldText?: string;
  readonly newText: string;
}

export interface BuiltinPresentation {
  readonly kind: BuiltinKind;
  readonly title: string;
  readonly locations: readonly FileLocation[];
  /** Left out for texts above `LIMITS.diffMaxBytes`: the outcome then says in words what changed. */
  readonly diff?: FileDiff;
  /** What the change was made from: the real path and the content. Of a preview only; equal for equal files. */
  readonly basis?: string;
  /** The file changed while the question about it was open: this is the change as it would be now. */
  readonly isRenewed?: boolean;
  /** A terminal of the client, to be embedded at once: it is released right before the outcome comes. */
  readonly terminalId?: string;
}

export interface BuiltinProgress extends ToolProgress {
  readonly presentation: BuiltinPresentation;
}

/** What a progress notice says about the looks of its call. Only the agent's own tools are believed. */
export function presentationOf(
  tool: Pick<CatalogTool, "origin">,
  progress: ToolProgress,
): BuiltinPresentation | undefined {
  return tool.origin === "builtin" && isBuiltinProgress(progress) ? progress.presentation : undefined;
}

function isBuiltinProgress(progress: ToolProgress): progress is BuiltinProgress {
  return "presentation" in progress;
}

const MAX_TITLE_CHARS = 160;

/** One line of a bearable length: commands and questions have many. The arguments of a call show the whole. */
export function shortTitle(title: string): string {
  const line = title.replaceAll(/\s+/gu, " ").trim();
  return line.length > MAX_TITLE_CHARS ? `${line.slice(0, MAX_TITLE_CHARS)}…` : line;
}
