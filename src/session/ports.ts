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

export interface SessionPorts {
  /** Asks the person. May reject when the client is gone or answers nonsense: the session then takes it as a no. */
  ask(question: PermissionQuestion, signal: AbortSignal): Promise<PermissionAnswer>;
}
