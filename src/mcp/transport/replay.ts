// A transport over which a recorded server answers: nothing is started and nothing is sent.
import { ERROR_CODES, type ErrorCode, TenonError } from "../../base/errors.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { ReplayedConnection, WireReplay } from "../../base/ports/trace.js";
import { type OutgoingMessage, type RpcId, readMessage } from "./json-rpc.js";
import type { Transport, TransportListener } from "./transport.js";

export class ReplayedTransport implements Transport {
  readonly stderrTail = "";
  readonly #replay: WireReplay;
  readonly #server: string;
  #connection: ReplayedConnection | undefined;

  constructor(replay: WireReplay, server: string) {
    this.#replay = replay;
    this.#server = server;
  }

  start(listener: TransportListener): void {
    this.#connection = this.#replay.connect(this.#server, (entry) => hear(entry, listener));
  }

  send(message: OutgoingMessage): void {
    this.#connection?.send(message);
  }

  cancel(id: RpcId, reason: string): void {
    this.#connection?.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason } });
  }

  agreed(): void {}

  async close(): Promise<void> {
    this.#connection?.close();
  }
}

/** What `tracedTransport` wrote down. */
function hear(entry: JsonObject, listener: TransportListener): void {
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
