// What a server may ask of us, as a port. Only what the peer can answer is declared to the server.
import type { JsonObject } from "../base/json.js";

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

/** Every member is optional: what is missing is not declared, and declined at once should a server ask all the same. */
export interface Peer {
  roots?(): readonly Root[];
  elicit?(request: ElicitRequest, signal: AbortSignal): Promise<ElicitAnswer>;
  /** Which modes of elicitation the peer can show; both unless given. */
  readonly elicitModes?: readonly ("form" | "url")[];
  /** Raw `sampling/createMessage` params to raw result: the models room knows their shape. */
  sample?(params: JsonObject, signal: AbortSignal): Promise<JsonObject>;
  log?(entry: ServerLog): void;
}
