// What a session asks of whoever is attached to it. A session without an attachment declines at once.
import type { JsonObject } from "../base/json.js";
import type { CatalogTool } from "../tools/index.js";

export interface PermissionQuestion {
  readonly toolCallId: string;
  readonly tool: CatalogTool;
  readonly arguments: JsonObject;
}

/** `always` means for this session; `cancelled` means the person ended the turn instead of answering. */
export type PermissionAnswer = "once" | "always" | "no" | "cancelled";

/** Something a project's files want to bring, to be shown in full: what is not shown cannot have been approved. */
export interface TrustRequest {
  /** The same words give the same id; any change of them another. */
  readonly id: string;
  readonly title: string;
  /** The server it is about; absent when it is about the project's settings. */
  readonly server?: string;
  readonly lines: readonly string[];
  /** As it stands in the file. */
  readonly written: JsonObject;
}

/** `yes` and `no` are remembered for exactly these words; `later` asks again in the next session. */
export type TrustAnswer = "yes" | "no" | "later";

export interface SessionPorts {
  /** Asks the person. May reject when the client is gone or answers nonsense: the session then takes it as a no. */
  ask(question: PermissionQuestion, signal: AbortSignal): Promise<PermissionAnswer>;
  /**
   * Asks whether something a project's files want may be used, shown in full. Without it, or when it rejects, nothing is
   * decided and nothing of the project runs.
   */
  confirmTrust?(request: TrustRequest, signal: AbortSignal): Promise<TrustAnswer>;
}
