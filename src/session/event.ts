// What a session tells its clients, in order, inside and outside turns.
import type { ContentBlock } from "../base/content.js";
import type { TenonError } from "../base/errors.js";
import type { StopReason, TurnEvent } from "../engine/index.js";

/** Where one server of a session stands, in words for people and states for programs. */
export interface ServerStatus {
  readonly name: string;
  readonly state: "connecting" | "ready" | "failed" | "closed";
  readonly toolCount: number;
  /** Why it failed, with the end of its stderr where there is one. */
  readonly error?: string;
  readonly hint?: string;
  /** Milliseconds from the start of the connection to its first state other than connecting. */
  readonly connectMs?: number;
}

export type SessionEvent =
  | { readonly kind: "user"; readonly content: readonly ContentBlock[] }
  | { readonly kind: "turn"; readonly event: TurnEvent }
  /** The last event of a turn: with its stop reason, or with the error its prompt rejects with. */
  | { readonly kind: "turn_ended"; readonly turn: number; readonly stopReason: StopReason }
  | { readonly kind: "turn_ended"; readonly turn: number; readonly error: TenonError }
  | { readonly kind: "server"; readonly status: ServerStatus };
