// The port every transport implements: messages out, messages in, and a report for every request that gets no response.
import type { TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import type { IncomingMessage, OutgoingMessage, RpcId } from "./json-rpc.js";

/** Why a request will get no answer. `wasSent`: the server may have acted on it, so its outcome is unknown. */
export interface RequestLoss {
  readonly error: TenonError;
  readonly wasSent: boolean;
  /** HTTP: the status of an answer that was no JSON-RPC message. Absent when no answer came at all. */
  readonly httpStatus?: number;
}

/** The start and the end of a message's text: enough to see which request it answers, and often more. */
export interface MessageEnds {
  readonly head: string;
  readonly tail: string;
}

/** Receives what a transport reports. Never called before `start`, never after `close` has resolved. */
export interface TransportListener {
  onMessage(message: IncomingMessage): void;
  /** A long answer has come and is about to be read. A peek and no promise: it may turn out to be no message at all. */
  onPeek?(id: RpcId, ends: MessageEnds): void;
  /** This one request is lost; the transport itself goes on. */
  onRequestLost(id: RpcId, loss: RequestLoss): void;
  /** The transport is gone, with its cause. At most once, and not because of `close`. */
  onClosed(error: TenonError): void;
  /** Something that was no message (garbage, an oversize line without an id): counted and logged, nothing more. */
  onNoise(what: string): void;
}

/** Addresses a message: the HTTP headers of the modern era are built from it. */
export interface SendHint {
  /** The tool, prompt or resource the request names (`Mcp-Name`). */
  readonly name?: string;
  /** More headers for this one request (`Mcp-Param-*`). */
  readonly headers?: Readonly<Record<string, string>>;
}

/** How the two sides agreed to talk; set once by the handshake. */
export interface Agreement {
  readonly era: "legacy" | "modern";
  readonly protocolVersion: string;
}

export interface Transport {
  /** Opens it: spawns the process, or does nothing much for HTTP. A failure is reported through `onClosed`. */
  start(listener: TransportListener): void;
  /** Never throws and never waits: a failure is reported through `onRequestLost` or `onClosed`. */
  send(message: OutgoingMessage, hint?: SendHint): void;
  /** Stops waiting for this request and cancels it at the server in the way of the era and the transport. */
  cancel(id: RpcId, reason: string): void;
  agreed(agreement: Agreement): void;
  /** The end of what the server wrote to stderr; empty for remote servers. */
  readonly stderrTail: string;
  /** The session id of legacy Streamable HTTP, given by the server. */
  readonly sessionId?: string | undefined;
  /** Ends it and everything it started. Idempotent. */
  close(grace: EndGrace): Promise<void>;
}

/** A transport that does what `inner` does, except for `changes`. */
export function wrapTransport(inner: Transport, changes: Partial<Transport>): Transport {
  const same: Transport = {
    start: (listener) => inner.start(listener),
    send: (message, hint) => inner.send(message, hint),
    cancel: (id, reason) => inner.cancel(id, reason),
    agreed: (agreement) => inner.agreed(agreement),
    close: (grace) => inner.close(grace),
    get stderrTail() {
      return inner.stderrTail;
    },
    get sessionId() {
      return inner.sessionId;
    },
  };
  return Object.defineProperties(same, Object.getOwnPropertyDescriptors(changes));
}
