// What a session tells its clients, in order, inside and outside turns.
import type { ContentBlock } from "../base/content.js";
import type { TenonError } from "../base/errors.js";
import type { StopReason, TurnEvent } from "../engine/index.js";
import type { ServerIdentity } from "../mcp/index.js";
import type { ToolOrigin } from "../tools/index.js";

/** Where one server of a session stands, in words for people and states for programs. */
export interface ServerStatus {
  readonly name: string;
  /** The layer it came from. */
  readonly origin: ToolOrigin;
  readonly state: "connecting" | "ready" | "reconnecting" | "failed" | "closed";
  readonly toolCount: number;
  /** Why it failed, with the end of its stderr where there is one. */
  readonly error?: string;
  readonly hint?: string;
  /** Milliseconds from the start of the attempt until it was ready. */
  readonly connectMs?: number;
  /** What the server calls itself, and how the two sides talk. */
  readonly server?: ServerIdentity;
  readonly era?: "legacy" | "modern";
  readonly protocolVersion?: string;
  /** What was left out of its lists, each in one sentence. */
  readonly problems?: readonly string[];
}

export type NoticeLevel = "info" | "warning" | "error";

export type SessionEvent =
  | { readonly kind: "user"; readonly content: readonly ContentBlock[] }
  | { readonly kind: "turn"; readonly event: TurnEvent }
  /** The last event of a turn: with its stop reason, or with the error its prompt rejects with. */
  | { readonly kind: "turn_ended"; readonly turn: number; readonly stopReason: StopReason }
  | { readonly kind: "turn_ended"; readonly turn: number; readonly error: TenonError }
  | { readonly kind: "server"; readonly status: ServerStatus }
  /** Something people should hear of that belongs to no turn. */
  | { readonly kind: "notice"; readonly level: NoticeLevel; readonly text: string };
