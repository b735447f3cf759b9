// A link: one live, agreed conversation with a server, whatever the transport and the era.
import type { TenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import type { ProgressNote, RequestOptions, RpcCounters, RpcOutcome } from "../rpc/rpc.js";
import type { ServerIdentity } from "../state.js";
import type { RpcId } from "../transport/json-rpc.js";
import type { Agreement, Transport } from "../transport/transport.js";

/** Where one life of a server stands after the handshake. */
export interface Handshake {
  readonly agreement: Agreement;
  readonly server: ServerIdentity;
  /** The server's capabilities as it sent them. */
  readonly capabilities: JsonObject;
  readonly instructions?: string;
}

export interface Link extends Handshake {
  readonly wire: Transport;
  readonly counters: RpcCounters;
  /** One request in the way of the era: envelope, headers and `input_required` rounds included. Never rejects. */
  request(method: string, params: JsonObject, options: RequestOptions): Promise<RpcOutcome>;
  notify(method: string, params: JsonObject): void;
  /** Puts to the peer what the server could have asked itself. Rejects for what nobody answers. */
  askPeer?(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>;
  /** Progress of a request that was answered with a task. Returns the way to stop listening. */
  followProgress?(id: RpcId, listener: (note: ProgressNote) => void): () => void;
  /** Modern: a stream of its own for these notifications, until the signal aborts or the server ends it. Never rejects. */
  listen?(notifications: JsonObject, signal: AbortSignal): Promise<void>;
  /** Calls back for every notification of the server that is not progress or cancellation. */
  onNotification(listener: (method: string, params: JsonObject) => void): void;
  /** Resolves, never rejects, with the cause when the link breaks by itself; pending for ever after a `close` of ours. */
  readonly broken: Promise<TenonError>;
}
