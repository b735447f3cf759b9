// What a server may ask of us, as a port. Only what the peer can answer is declared to the server.
import type { JsonObject } from "../base/json/json.js";

export interface Root {
  readonly uri: string;
  readonly name?: string;
}

export interface ElicitRequest {
  readonly mode: "form" | "url";
  readonly message: string;
  /** Form mode: the flat JSON Schema of what is asked for. */
  readonly requestedSchema?: JsonObject;
  /** URL mode. */
  readonly url?: string;
  readonly elicitationId?: string;
}

export type ElicitAnswer =
  | { readonly action: "accept"; readonly content?: JsonObject }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

export interface ServerLog {
  readonly level: string;
  readonly logger?: string;
  readonly text: string;
}

/**
 * Every member is optional: what is missing is not declared, and declined at once should a server ask all the same. What
 * is declared is looked up when a connection opens, so a peer may say more or less from one connection to the next.
 */
export interface Peer {
  readonly roots?: (() => readonly Root[]) | undefined;
  /** Asked instead where it must first be found out whose roots are meant. Declared only by `roots`. */
  readonly findRoots?: ((signal: AbortSignal) => Promise<readonly Root[]>) | undefined;
  readonly elicit?: ((request: ElicitRequest, signal: AbortSignal) => Promise<ElicitAnswer>) | undefined;
  /** Which modes of elicitation the peer can show; both unless given. */
  readonly elicitModes?: readonly ("form" | "url")[] | undefined;
  /** Raw `sampling/createMessage` params to raw result: the models room knows their shape. */
  readonly sample?: ((params: JsonObject, signal: AbortSignal) => Promise<JsonObject>) | undefined;
  log?(entry: ServerLog): void;
  /** A line that may be about the call of another session: for the record, never to be shown to anybody. */
  overheard?(entry: ServerLog): void;
  /** What was asked for behind a URL is done: the person need not be kept waiting for it. */
  elicitationCompleted?(elicitationId: string): void;
  /** A request of the server was declined without anybody being asked, and why. */
  unanswered?(method: string, reason: string): void;
}
