// A transport that records its messages in a trace, and one on which a recorded server answers.
import { ERROR_CODES, type ErrorCode, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { ReplayedConnection, WireEntry, WireReplay, WireTrace } from "../../base/ports/trace.js";
import type { ServerSpec } from "../spec.js";
import type { IncomingMessage, RpcId, Transport, TransportListener } from "./transport.js";
import { readMessage, wrapTransport } from "./transport.js";

export interface TraceOptions {
  readonly trace: WireTrace;
  readonly spec: ServerSpec;
  readonly session?: string;
}

type RecordEntry = (dir: WireEntry["dir"], message: object) => void;

/** Besides the messages it records the opening (`open`, with the spec), the end (`closed`), lost requests (`lost`) and `noise`. */
export function tracedTransport(inner: Transport, { trace, spec, session }: TraceOptions): Transport {
  const server = { channel: "mcp", server: spec.name, connection: trace.nextConnection() } as const;
  const record: RecordEntry = (dir, message) => trace.record({ ...server, ...defined({ session }), dir, message });
  record("out", { open: spec });
  return wrapTransport(inner, {
    start: (listener) => inner.start(tracedListener(listener, record)),
    send: (message, hint, isLone) => {
      record("out", message);
      inner.send(message, hint, isLone);
    },
    cancel: (id, reason) => {
      record("out", cancelled(id, reason));
      inner.cancel(id, reason);
    },
    close: async (grace) => {
      await inner.close(grace);
      record("out", { closed: {} });
    },
  });
}

/** Without `onPeek`: a request sent because of a peek would be recorded before the response that caused it. */
function tracedListener(listener: TransportListener, record: RecordEntry): TransportListener {
  return {
    onMessage: (message) => {
      record("in", asSent(message));
      listener.onMessage(message);
    },
    onRequestLost: (id, loss) => {
      const { code, message } = loss.error;
      record("in", { lost: { id, wasSent: loss.wasSent, httpStatus: loss.httpStatus, code, message } });
      listener.onRequestLost(id, loss);
    },
    onClosed: (error) => {
      record("in", { closed: { code: error.code, message: error.message } });
      listener.onClosed(error);
    },
    onNoise: (what) => {
      record("in", { noise: what });
      listener.onNoise(what);
    },
  };
}

function cancelled(id: RpcId, reason: string): object {
  return { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason } };
}

/** The message as it was sent, as far as it was read. */
function asSent({ kind: _kind, ...fields }: IncomingMessage): object {
  return { jsonrpc: "2.0", ...fields };
}

/** Nothing is started and nothing is sent. */
export function replayedTransport(replay: WireReplay, server: string): Transport {
  let connection: ReplayedConnection | undefined;
  return {
    stderrTail: "",
    start: (listener) => {
      connection = replay.connect(server, (entry) => replayEntry(entry, listener));
    },
    send: (message) => connection?.send(message),
    cancel: (id, reason) => connection?.send(cancelled(id, reason)),
    agreed: () => {},
    close: async () => connection?.close(),
  };
}

/** An entry that `tracedTransport` recorded. */
function replayEntry(entry: JsonObject, listener: TransportListener): void {
  const { lost, closed, noise } = entry;
  if (isJsonObject(lost)) {
    const { id, wasSent, httpStatus } = lost;
    if (typeof id !== "number" && typeof id !== "string") return;
    const status = typeof httpStatus === "number" ? { httpStatus } : {};
    listener.onRequestLost(id, { error: errorOf(lost), wasSent: wasSent === true, ...status });
  } else if (isJsonObject(closed)) listener.onClosed(errorOf(closed));
  else if (typeof noise === "string") listener.onNoise(noise);
  else {
    const message = readMessage(entry);
    if (message) listener.onMessage(message);
  }
}

function errorOf({ code, message }: JsonObject): TenonError {
  return new TenonError(isErrorCode(code) ? code : "mcp.protocol", typeof message === "string" ? message : "");
}

function isErrorCode(code: JsonValue | undefined): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
}
