// The port every tool comes through, whether a server, Tenon itself or an embedder provides it.
import type { ReadonlyCell } from "../base/cell.js";
import type { ToolArguments, ToolDefinition, ToolOrigin, ToolOutcome, ToolProgress } from "./tool.js";

export interface SourceCall {
  /** The source's own name of the tool. */
  readonly tool: string;
  readonly arguments: ToolArguments;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ToolProgress) => void;
}

export interface ToolSource {
  readonly name: string;
  readonly origin: ToolOrigin;
  /** The live list; the catalog takes a snapshot of it between model calls. */
  readonly tools: ReadonlyCell<readonly ToolDefinition[]>;
  /** Rejects only for a bug: every expected failure is an outcome. */
  call(call: SourceCall): Promise<ToolOutcome>;
}
