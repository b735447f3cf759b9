// The port every tool comes through, whether a server, Tenon itself or an embedder provides it.
import type { ReadonlyCell } from "../base/async/cell.js";
import type { ToolArguments, ToolDefinition, ToolOrigin, ToolOutcome, ToolProgress } from "./tool.js";

/** What is enough to ask a source again for a call it goes on with by itself, also from another process. */
export interface LastingCall {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly startedMs: number;
  /** How long the source keeps it, from its start; for ever unless given. */
  readonly ttlMs?: number;
}

export interface SourceCall {
  /** By which clients know the call. */
  readonly toolCallId?: string;
  /** The source's own name of the tool. */
  readonly tool: string;
  readonly arguments: ToolArguments;
  readonly signal: AbortSignal;
  /** What the person was shown the change of: it must not be made from anything else. For Tenon's own tools. */
  readonly expected?: string;
  readonly onProgress: (progress: ToolProgress) => void;
  /** The source goes on with it whatever becomes of the connection, or of us: kept before anything else happens. */
  readonly onLasting?: (lasting: LastingCall) => void;
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
  /** What a call that lasts comes to. Nothing is called again. Only for sources whose calls may last. */
  resume?(call: Omit<SourceCall, "arguments" | "onLasting">, lasting: LastingCall): Promise<ToolOutcome>;
}
