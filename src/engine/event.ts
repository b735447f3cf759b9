// Everything one turn can tell, as one union.
import type { ErrorCode } from "../base/errors.js";
import type { JsonObject } from "../base/json/json.js";
import type { ModelMessage, ModelUsage } from "../models/index.js";
import type { CatalogTool, ToolOutcome, ToolProgress } from "../tools/index.js";

/** Why a turn ended well. A turn that fails throws a TenonError people can read; it is never passed off as a normal end. */
export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/** What stopped a turn before the model was done with it. `repetition` has no stop reason of its own: it ends as `max_turn_requests`. */
export type StopCause = "output_limit" | "request_limit" | "repetition" | "refusal";

/** The tool of a call, or only the name the model made up. */
export interface CallSubject {
  readonly name: string;
  readonly tool?: CatalogTool;
}

/** `window`: it was nearly full. `overflow`: the provider said that it is. `asked`: by the person. */
export type CompactionCause = "window" | "overflow" | "asked";

/** What took the place of the older part: handles of its results only, a summary by the model, or one by Tenon itself. */
export type CompactionMeans = "handles" | "model" | "host";

export interface CompactionDone {
  readonly kind: "compaction";
  readonly phase: "done";
  readonly compactionId: string;
  readonly beforeTokens: number;
  readonly afterTokens: number;
  readonly means: CompactionMeans;
  /** Empty when handles were enough. */
  readonly summary: string;
  /** Both whole: with them a session can be taken up again as it is, and as it was. */
  readonly before: readonly ModelMessage[];
  readonly after: readonly ModelMessage[];
}

export type CompactionEvent =
  | {
      readonly kind: "compaction";
      readonly phase: "started";
      readonly compactionId: string;
      readonly cause: CompactionCause;
      readonly beforeTokens: number;
    }
  | CompactionDone
  /** Nothing was changed. */
  | {
      readonly kind: "compaction";
      readonly phase: "failed" | "cancelled";
      readonly compactionId: string;
      readonly reason: string;
    };

/** How full the window is: as the provider counted it, else as estimated. */
export interface ContextUse {
  readonly usedTokens: number;
  readonly sizeTokens: number;
}

export type TurnEvent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string }
  /** A call is being written: `delta` goes on at `offset`, and at 0 nobody has heard of the call before. Then it is started, or dropped. */
  | {
      readonly kind: "call_arguments";
      readonly toolCallId: string;
      readonly subject: CallSubject;
      readonly offset: number;
      readonly delta: string;
    }
  /** A call that was being written will not be made: the answer broke off. */
  | { readonly kind: "call_dropped"; readonly toolCallId: string; readonly reason: string }
  /** Asked for by the model, and not begun: all calls of an answer are started before the first one runs. */
  | {
      readonly kind: "call_started";
      readonly toolCallId: string;
      readonly subject: CallSubject;
      readonly arguments: JsonObject;
      /** Its `call_arguments` came before. */
      readonly wasAnnounced: boolean;
    }
  /** A person is being asked, and the call waits for the answer. */
  | { readonly kind: "call_awaiting_approval"; readonly toolCallId: string }
  | { readonly kind: "call_running"; readonly toolCallId: string }
  | {
      readonly kind: "call_progress";
      readonly toolCallId: string;
      readonly progress: ToolProgress;
      readonly elapsedMs: number;
    }
  /** The last event of a call. The time is that since it was sent; 0 when it never was. */
  | {
      readonly kind: "call_ended";
      readonly toolCallId: string;
      readonly outcome: ToolOutcome;
      readonly elapsedMs: number;
    }
  /** The model's provider does not accept the tool: it is not offered until its definition changes. */
  | { readonly kind: "tool_quarantined"; readonly tool: CatalogTool; readonly reason: string }
  /** The provider cannot answer now. `attempt` is the one that failed, of `attempts`; the next begins at `untilMs` (since the epoch). */
  | {
      readonly kind: "waiting";
      readonly code: ErrorCode;
      readonly reason: string;
      readonly untilMs: number;
      readonly attempt: number;
      readonly attempts: number;
    }
  | CompactionEvent
  /** Of one model call, and of the turn so far. `context` is left out for requests beside the conversation. */
  | {
      readonly kind: "usage";
      readonly usage: ModelUsage;
      readonly turn: ModelUsage;
      readonly context?: ContextUse;
    }
  /** The turn ends here although the model was not done, in words for people. */
  | { readonly kind: "stopped"; readonly cause: StopCause; readonly reason: string };
