// Everything one turn can tell, as one union.
import type { JsonObject } from "../base/json.js";
import type { ModelUsage } from "../models/index.js";
import type { CatalogTool, ToolOutcome, ToolProgress } from "../tools/index.js";

/** Why a turn ended well. A turn that fails throws a TenonError people can read; it is never passed off as a normal end. */
export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/** The tool of a call, or only the name the model made up. */
export interface CallSubject {
  readonly name: string;
  readonly tool?: CatalogTool;
}

export type TurnEvent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string }
  | {
      readonly kind: "call_started";
      readonly toolCallId: string;
      readonly subject: CallSubject;
      readonly arguments: JsonObject;
    }
  | { readonly kind: "call_running"; readonly toolCallId: string }
  | { readonly kind: "call_progress"; readonly toolCallId: string; readonly progress: ToolProgress }
  | {
      readonly kind: "call_ended";
      readonly toolCallId: string;
      readonly outcome: ToolOutcome;
    }
  | { readonly kind: "usage"; readonly usage: ModelUsage };
