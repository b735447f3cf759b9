// The port through which servers on the client's side are reached: whoever is above carries MCP messages over its protocol.
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { RpcErrorBody } from "./json-rpc.js";

export interface ChannelRequest {
  /** As the client declared the server. */
  readonly serverId: string;
  readonly method: string;
  readonly params: JsonObject;
  /** Aborting it tells the other side, as far as the carrier can. */
  readonly signal: AbortSignal;
  /** Hears what the server says about this request before its answer: progress, log lines, changes it subscribed to. */
  onNotification(method: string, params: JsonObject): void;
}

/** `failed`: there is no answer of the server; `code` is the carrier's own, where it gave one. */
export type ChannelAnswer =
  | { readonly kind: "result"; readonly result: JsonValue }
  | { readonly kind: "error"; readonly error: RpcErrorBody }
  | { readonly kind: "failed"; readonly message: string; readonly code?: number };

export interface McpChannel {
  /** Rejects only for a bug. Requests to one server may overlap. */
  request(request: ChannelRequest): Promise<ChannelAnswer>;
}
