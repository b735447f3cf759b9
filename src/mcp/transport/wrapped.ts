// A transport around another: whoever wraps one says only what is different.
import type { EndGrace } from "../../base/io/process.js";
import type { OutgoingMessage, RpcId } from "./json-rpc.js";
import type { Agreement, SendHint, Transport, TransportListener } from "./transport.js";

export abstract class WrappedTransport implements Transport {
  protected readonly inner: Transport;

  constructor(inner: Transport) {
    this.inner = inner;
  }

  get stderrTail(): string {
    return this.inner.stderrTail;
  }

  get sessionId(): string | undefined {
    return this.inner.sessionId;
  }

  start(listener: TransportListener): void {
    this.inner.start(listener);
  }

  send(message: OutgoingMessage, hint?: SendHint): void {
    this.inner.send(message, hint);
  }

  cancel(id: RpcId, reason: string): void {
    this.inner.cancel(id, reason);
  }

  agreed(agreement: Agreement): void {
    this.inner.agreed(agreement);
  }

  close(grace: EndGrace): Promise<void> {
    return this.inner.close(grace);
  }
}
