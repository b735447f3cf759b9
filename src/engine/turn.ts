// What a turn is given, what it comes to, and what it keeps while it runs.

import type { ErrorCode } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import type { ContentBlock } from "../base/text/content.js";
import type { Model, ModelMessage, ModelRequest, ModelUsage } from "../models/index.js";
import type { CatalogTool, Offer, RunPorts, ToolOutcome, ToolProgress } from "../tools/index.js";
import { ENGINE_LIMITS } from "./limits.js";
import type { TokenMeter } from "./meter.js";
import type { Transcript } from "./transcript.js";

export interface Turn {
  /** Counts from 1 within the session. */
  readonly number: number;
  /** May become another with a call of `offer`; so may `thinking`. */
  readonly model: Model;
  readonly system: string;
  readonly transcript: Transcript;
  /** One for each session: it learns how the session's models count. */
  readonly meter: TokenMeter;
  readonly ports: Omit<RunPorts, "media">;
  readonly thinking?: ModelRequest["thinking"] | undefined;
  readonly maxOutputTokens?: number;
  /** The same for all requests of the session, so that the provider finds what it has cached. */
  readonly cacheKey?: string;
  /** Asked before every model call, so that tools of late servers join in the middle of a turn. */
  offer(): Offer;
  /** This model's provider does not take the tool: it should not be offered again until its definition changes. */
  quarantine?(tool: CatalogTool, reason: string): void;
  /** What stays in sight of the model word for word, whatever is compacted. Asked when that happens. */
  pinned?(): readonly ContentBlock[];
}

export interface TurnEnd {
  readonly stopReason: StopReason;
  /** Why it ended before the model was done; left out when the model was, and when the person cancelled. */
  readonly cause?: StopCause;
  readonly usage: ModelUsage;
}

/** What one turn, or one compaction between turns, knows of itself. */
export class TurnState {
  readonly turn: Turn;
  readonly signal: AbortSignal;
  usage: ModelUsage = NO_USAGE;
  /** Requests left for finding tools that the provider refuses. */
  probesLeft: number = ENGINE_LIMITS.toolProbes.max;
  /** The provider refused a tool in this turn. */
  hasRefusedTools = false;
  readonly #setAside = new Map<string, string>();
  #callCount = 0;

  constructor(turn: Turn, signal: AbortSignal) {
    this.turn = turn;
    this.signal = signal;
  }

  nextCallId(): string {
    this.#callCount += 1;
    return `${this.turn.number}-${this.#callCount}`;
  }

  /** Each tool is reported once a turn, also when it is offered again. */
  *setAside(tool: CatalogTool, reason: string): Generator<TurnEvent, void, void> {
    this.turn.quarantine?.(tool, reason);
    if (this.isSetAside(tool)) return;
    this.#setAside.set(tool.id, tool.definitionHash);
    yield { kind: "tool_quarantined", tool, reason };
  }

  isSetAside(tool: CatalogTool): boolean {
    return this.#setAside.size > 0 && this.#setAside.get(tool.id) === tool.definitionHash;
  }

  /** `contextTokens`: how much of the window the conversation takes now, where the request was about the conversation. */
  *used(usage: ModelUsage | undefined, contextTokens?: number): Generator<TurnEvent, void, void> {
    if (usage === undefined) return;
    this.usage = addUsage(this.usage, usage);
    const { model, meter } = this.turn;
    const context =
      contextTokens === undefined ? {} : { context: { usedTokens: contextTokens, sizeTokens: meter.windowOf(model) } };
    yield { kind: "usage", usage, turn: this.usage, ...context };
  }
}

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

export const NO_USAGE: ModelUsage = { inputTokens: 0, outputTokens: 0 };

/** What neither side knows stays unknown; what only one knows is a lower bound. */
export function addUsage(sum: ModelUsage, more: ModelUsage): ModelUsage {
  const cachedInputTokens = added(sum.cachedInputTokens, more.cachedInputTokens);
  const cacheWriteTokens = added(sum.cacheWriteTokens, more.cacheWriteTokens);
  const costUsd = added(sum.costUsd, more.costUsd);
  return {
    inputTokens: sum.inputTokens + more.inputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    ...defined({ cachedInputTokens, cacheWriteTokens, costUsd }),
  };
}

function added(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}
