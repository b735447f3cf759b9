// The port every tool comes through, whether a server, Tenon itself or an embedder provides it.
import type { ReadonlyCell } from "../base/cell.js";
import type { ToolArguments, ToolDefinition, ToolOrigin, ToolOutcome, ToolProgress } from "./tool.js";

export interface SourceCall {
  /** By which clients know the call. */
  readonly toolCallId?: string;
  /** The source's own name of the tool. */
  readonly tool: string;
  readonly arguments: ToolArguments;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ToolProgress) => void;
}

/** Where a source stands, for those that can fail. Its tools stay listed whatever it is. */
export type SourceState =
  | { readonly kind: "connecting" }
  | { readonly kind: "ready" }
  /** Broken, and being brought back. */
  | { readonly kind: "broken"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "closed" };

/** What a source says about itself: words of a server, so data, never instructions. */
export interface SourceAbout {
  readonly title?: string;
  readonly instructions?: string;
}

export interface ToolSource {
  readonly name: string;
  readonly origin: ToolOrigin;
  /** Ready at all times unless given. */
  readonly state?: ReadonlyCell<SourceState>;
  /** Whether it is a process of its own on this machine. */
  readonly isProcess?: boolean;
  about?(): SourceAbout;
  /** What was left out of its list or changed in it, each in one sentence. */
  problems?(): readonly string[];
  /** The live list; the catalog takes a snapshot of it between model calls. */
  readonly tools: ReadonlyCell<readonly ToolDefinition[]>;
  /** How many calls it takes at the same time; `LIMITS.callsInParallel` unless given. */
  readonly callsAtOnce?: number;
  /** Rejects only for a bug: every expected failure is an outcome. */
  call(call: SourceCall): Promise<ToolOutcome>;
}
