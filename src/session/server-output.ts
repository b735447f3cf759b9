// Where what servers say beside the protocol goes: their stderr and their log.
import type { ServerLog, ServerSpec } from "../mcp/index.js";
import type { ToolOrigin } from "../tools/index.js";

/** Whose words they are. */
export interface OutputOwner {
  readonly spec: ServerSpec;
  readonly origin: ToolOrigin;
  /** The project's real path, for a project's server. */
  readonly project?: string;
}

/** Neither call throws or waits: a server is never held up by being heard. */
export interface OutputSink {
  stderr(chunk: Uint8Array): void;
  log(entry: ServerLog): void;
}

export interface ServerOutput {
  open(owner: OutputOwner): OutputSink;
}
