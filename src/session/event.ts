// What a session tells its clients, in order, inside and outside turns.
import type { ContentBlock } from "../base/content.js";
import type { TurnEvent } from "../engine/index.js";

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

export type NoticeLevel = "info" | "warning" | "error";

export type SessionEvent =
  | { readonly kind: "user"; readonly content: readonly ContentBlock[] }
  | { readonly kind: "turn"; readonly event: TurnEvent }
  | { readonly kind: "server"; readonly status: ServerStatus }
  | { readonly kind: "notice"; readonly level: NoticeLevel; readonly text: string };
