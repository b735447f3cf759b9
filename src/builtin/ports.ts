// What the built-in tools need from whoever runs the session. Each part is optional: without it the local machine is used, or the tool is not offered.
import type { CatalogTool, ToolProgress } from "../tools/index.js";

/** The client's files: what its editor has in its buffers, saved or not. A part the client lacks is left out. */
export interface ClientFiles {
  /** `path` is absolute and inside the session's directories; `line` counts from 1. Rejects when the client cannot. */
  readText?(path: string, range: TextRange, signal: AbortSignal): Promise<string>;
  writeText?(path: string, text: string, signal: AbortSignal): Promise<void>;
}

/** Empty: the whole file. */
export interface TextRange {
  readonly line?: number;
  readonly limit?: number;
}

export interface CommandRequest {
  readonly command: string;
  readonly args: readonly string[];
  /** Set on top of what the terminal's own environment has. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute, inside the session's directories. */
  readonly cwd: string;
  /** Windows only: the arguments are quoted already. */
  readonly isVerbatim?: boolean;
  /** The most that is worth keeping of its output. */
  readonly maxOutputBytes: number;
}

export type CommandExit =
  | { readonly kind: "exited"; readonly code: number | null; readonly signal: string | null }
  | { readonly kind: "not_started"; readonly reason: string }
  /** Ended by whoever ran it, and not because it was asked to end. */
  | { readonly kind: "cut_off"; readonly reason: string };

export interface CommandOutput {
  readonly text: string;
  /** Give this as `sinceChar` to get what comes next. */
  readonly nextChar: number;
}

/** A command under way, local or in a terminal of the client's. */
export interface RunningCommand {
  /** Of a terminal the client shows by itself. */
  readonly terminalId?: string;
  /** Settles once nothing of it is left and its output is complete. Never rejects. */
  readonly exited: Promise<CommandExit>;
  /** What came after `sinceChar` (0: all of it); a gap that is no longer kept is named. */
  output(sinceChar: number): Promise<CommandOutput>;
  /** Ends it with everything it started; `exited` tells when that is done. Idempotent, never rejects. */
  end(): Promise<void>;
  /** Frees what the client holds for it, after the last look at its output. Idempotent, never rejects. */
  release(): Promise<void>;
}

export interface Terminal {
  /**
   * `onOutput` hears that there is more, where that is known. Rejects when the client cannot open a terminal, or when the
   * signal aborts before there is one: what is opened after that, the port itself ends.
   */
  run(request: CommandRequest, onOutput: () => void, signal: AbortSignal): Promise<RunningCommand>;
  /** Whether a command reaches its shell as it was sent; asked before each. Without it the terminal is trusted. */
  keepsWords?(probe: TerminalProbe, signal: AbortSignal): Promise<boolean>;
}

/** A command that changes nothing, and whether what it printed is right. */
export interface TerminalProbe {
  readonly request: CommandRequest;
  readonly isRight: (output: string) => boolean;
}

export interface PlanEntry {
  readonly content: string;
  readonly priority: "high" | "medium" | "low";
  readonly status: "pending" | "in_progress" | "completed";
}

export interface AskOption {
  readonly label: string;
  readonly description?: string;
}

export type AskAnswer =
  /** `label` is one of the options'. */
  | { readonly kind: "chosen"; readonly label: string }
  | { readonly kind: "typed"; readonly text: string }
  /** The person does not want to answer. */
  | { readonly kind: "declined" }
  /** The person could not be asked. */
  | { readonly kind: "unavailable"; readonly reason: string };

export interface BuiltinPorts {
  readonly fs?: ClientFiles;
  readonly terminal?: Terminal | undefined;
  /** The whole plan each time. Without it there is no `update_plan`. */
  plan?(entries: readonly PlanEntry[]): void;
  /** No options: the person types the answer. Without it there is no `ask_person`. */
  ask?(question: string, options: readonly AskOption[], signal: AbortSignal, toolCallId?: string): Promise<AskAnswer>;
}

// How a call of a built-in tool looks to people: the side channel beside its outcome, which is for the model.
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
  const isOurs = (one: ToolProgress): one is BuiltinProgress => "presentation" in one;
  return tool.origin === "builtin" && isOurs(progress) ? progress.presentation : undefined;
}

const MAX_TITLE_CHARS = 160;

/** One line of a bearable length: commands and questions have many. The arguments of a call show the whole. */
export function shortTitle(title: string): string {
  const line = title.replaceAll(/\s+/gu, " ").trim();
  return line.length > MAX_TITLE_CHARS ? `${line.slice(0, MAX_TITLE_CHARS)}…` : line;
}
