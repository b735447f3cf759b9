// What a turn is given, what it comes to, and what it keeps while it runs.

import type { ContentBlock } from "../base/text/content.js";
import type { Model, ModelRequest, ModelUsage } from "../models/index.js";
import type { CatalogTool, Offer, RunPorts } from "../tools/index.js";
import type { TokenMeter } from "./context/meter.js";
import type { StopCause, StopReason, TurnEvent } from "./event.js";
import { ENGINE_LIMITS } from "./limits.js";
import type { Transcript } from "./transcript.js";
import { addUsage, NO_USAGE } from "./usage.js";

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
  usage: ModelUsage = NO_USAGE;
  /** Requests left for finding tools that the provider refuses. */
  probesLeft: number = ENGINE_LIMITS.toolProbes.max;
  /** The provider refused a tool in this turn. */
  hasRefusedTools = false;
  readonly #setAside = new Map<string, string>();
  #callCount = 0;

  constructor(turn: Turn) {
    this.turn = turn;
  }

  nextCallId(): string {
    this.#callCount += 1;
    return `${this.turn.number}-${this.#callCount}`;
  }

  /** Each tool is told of once a turn, also when whoever offers it goes on offering it. */
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
