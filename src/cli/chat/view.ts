// What a turn looks like to whoever started the chat: one implementation for people, one for programs.
import type { ClientApp } from "@agentclientprotocol/sdk";
import type { ChatFailure, TurnOutcome } from "./outcome.js";

export interface ChatView {
  /** Subscribes to the session's updates in the form the view needs. */
  listen(client: ClientApp): ClientApp;
  turnStarted(): void;
  turnEnded(outcome: TurnOutcome): void;
  /** Something went wrong outside a turn. */
  failed(failure: ChatFailure): void;
}
