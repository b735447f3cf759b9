// A link: one live, agreed conversation with a server, whatever the transport and the era.

import { TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import type { JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { ProgressNote, RequestOptions, RpcCounters, RpcOutcome } from "../rpc/rpc.js";
import type { Agreement, RpcId, Transport } from "../transport/transport.js";
import type { Peer } from "./peer.js";

export interface ServerIdentity {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** What a link is made with. */
export interface LinkOptions {
  readonly world: World;
  /** Named to the server in the handshake. */
  readonly client: { readonly name: string; readonly version: string };
  readonly peer?: Peer;
}

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

/** A request that may take as long as it likes: the longest delay a Node timer knows. */
export const FOREVER_MS = 2_147_483_647;

const MAX_CHARS = 2_000;

export function outcomeError(outcome: Exclude<RpcOutcome, { kind: "result" }>, what: string): TenonError {
  switch (outcome.kind) {
    case "error": {
      const { code, message } = outcome.error;
      const text = `${what}: the server answered with error ${code}: ${clipped(message)}`;
      return new TenonError("mcp.call_failed", text, { cause: outcome.error });
    }
    case "cancelled":
      return new TenonError("cancelled", `${what}: cancelled`);
    case "timed_out":
      return new TenonError("mcp.call_timeout", `${what}: no answer within ${inSeconds(outcome.afterMs)}`);
    case "lost": {
      const { error } = outcome.loss;
      const { code, message, hint, retryAfterMs } = error;
      const patience = retryAfterMs === undefined ? {} : { retryAfterMs };
      return new TenonError(code, `${what}: ${message}`, { cause: error, hint, ...patience });
    }
    default:
      return unreachable(outcome);
  }
}

/** A server's own words, bounded: they end up in errors, logs and prompts. */
function clipped(text: string): string {
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)}… (${text.length} characters)`;
}

export function inSeconds(ms: number): string {
  return `${Number((ms / 1000).toFixed(1))} s`;
}
