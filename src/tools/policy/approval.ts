// What a person may answer about a tool, what of it is remembered, and whom it is about.
import type { JsonObject } from "../../base/json.js";
import type { ToolDefinition, ToolOrigin } from "../tool.js";

/**
 * `always` is for this tool, `always_server` for every tool the server has now, both for all sessions and for exactly
 * these definitions. `never` is for the tool whatever its definition becomes: else a server could ask again by changing it.
 */
export type ApprovalAnswer = "once" | "session" | "always" | "always_server" | "no" | "never";

/**
 * Which server: another one of the same name, of another layer, started or reached in another way, or of another project,
 * inherits nothing.
 */
export interface ServerIdentity {
  readonly origin: ToolOrigin;
  readonly name: string;
  /** `launchFingerprint` of its spec. Without it nothing is kept beyond the session, except for Tenon's own tools. */
  readonly fingerprint?: string;
  /** The project's real path, for a project's server. */
  readonly project?: string;
}

/** A tool as its source defines it, which is what is approved. */
export interface ApprovalSubject {
  readonly origin: ToolOrigin;
  /** Name of the source. */
  readonly source: string;
  readonly definition: ToolDefinition;
  readonly definitionHash: string;
}

/** A tool as it was when it was decided on. */
export interface KeptTool {
  readonly name: string;
  readonly hash: string;
  /** Enough to show what changed; none when it was too large. */
  readonly definition?: JsonObject;
}

export interface KeptApproval {
  readonly decision: "always" | "never";
  readonly scope: "tool" | "server";
  readonly tools: readonly KeptTool[];
  /** ISO 8601. */
  readonly decidedAt: string;
}

/** Where decisions outlive a session. */
export interface ApprovalStore {
  /** Never rejects: what cannot be read was not decided. */
  load(server: ServerIdentity): Promise<readonly KeptApproval[]>;
  /** Rejects when it cannot be kept. */
  keep(server: ServerIdentity, approval: Omit<KeptApproval, "decidedAt">): Promise<void>;
}
