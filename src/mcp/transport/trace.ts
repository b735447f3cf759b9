// A transport that tells the trace what crosses it, and changes nothing.

import type { TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import type { EndGrace } from "../../base/io/process.js";
import { defined } from "../../base/json/defined.js";
import type { WireEntry, WireTrace } from "../../base/ports/trace.js";
import type { ServerSpec } from "../spec.js";
import type { IncomingMessage, OutgoingMessage, RpcId } from "./json-rpc.js";
import type { RequestLoss, SendHint, Transport, TransportListener } from "./transport.js";
import { WrappedTransport } from "./wrapped.js";

export interface TraceOptions {
  readonly trace: WireTrace;
  readonly spec: ServerSpec;
  readonly session?: string;
}

/** Beside the messages themselves it tells of the opening (`open`, with the spec), the end (`closed`), requests that got no answer (`lost`) and `noise`. */
export function tracedTransport(transport: Transport, { trace, spec, session }: TraceOptions): Transport {
  const place = {
    channel: "mcp",
    server: spec.name,
    connection: trace.nextConnection(),
    ...defined({ session }),
  } as const;
  const tell = (dir: WireEntry["dir"], message: object) => trace.record({ ...place, dir, message });
  tell("out", { open: spec });
  return new TracedTransport(transport, tell);
}

type Tell = (dir: WireEntry["dir"], message: object) => void;

class TracedTransport extends WrappedTransport {
  readonly #tell: Tell;

  constructor(transport: Transport, tell: Tell) {
    super(transport);
    this.#tell = tell;
  }

  override start(listener: TransportListener): void {
    this.inner.start(new TracedListener(listener, this.#tell));
  }

  override send(message: OutgoingMessage, hint?: SendHint): void {
    this.#tell("out", message);
    this.inner.send(message, hint);
  }

  override cancel(id: RpcId, reason: string): void {
    this.#tell("out", { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason } });
    this.inner.cancel(id, reason);
  }

  override async close(grace: EndGrace): Promise<void> {
    await this.inner.close(grace);
    this.#tell("out", { closed: {} });
  }
}

/** Without peeks: who acts on one sends before the answer is told, and a trace must read as cause and effect. */
class TracedListener implements TransportListener {
  readonly #listener: TransportListener;
  readonly #tell: Tell;

  constructor(listener: TransportListener, tell: Tell) {
    this.#listener = listener;
    this.#tell = tell;
  }

  onMessage(message: IncomingMessage): void {
    this.#tell("in", asSent(message));
    this.#listener.onMessage(message);
  }

  onRequestLost(id: RpcId, loss: RequestLoss): void {
    const { code, message } = loss.error;
    this.#tell("in", { lost: { id, wasSent: loss.wasSent, httpStatus: loss.httpStatus, code, message } });
    this.#listener.onRequestLost(id, loss);
  }

  onClosed(error: TenonError): void {
    this.#tell("in", { closed: { code: error.code, message: error.message } });
    this.#listener.onClosed(error);
  }

  onNoise(what: string): void {
    this.#tell("in", { noise: what });
    this.#listener.onNoise(what);
  }
}

/** As it stood on the wire, as far as it was read. */
function asSent(message: IncomingMessage): object {
  switch (message.kind) {
    case "request":
      return { jsonrpc: "2.0", id: message.id, method: message.method, params: message.params };
    case "notification":
      return { jsonrpc: "2.0", method: message.method, params: message.params };
    case "result":
      return { jsonrpc: "2.0", id: message.id, result: message.result };
    case "error":
      return { jsonrpc: "2.0", id: message.id, error: message.error };
    default:
      return unreachable(message);
  }
}
