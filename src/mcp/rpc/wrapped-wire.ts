// A wire around another: whoever wraps one says only what is different.
import type { EndGrace } from "../../base/io/process.js";
import type { OutgoingMessage, RpcId } from "./json-rpc.js";
import type { Agreement, SendHint, Wire, WireListener } from "./wire.js";

export abstract class WrappedWire implements Wire {
  protected readonly inner: Wire;

  constructor(inner: Wire) {
    this.inner = inner;
  }

  get stderrTail(): string {
    return this.inner.stderrTail;
  }

  get sessionId(): string | undefined {
    return this.inner.sessionId;
  }

  start(listener: WireListener): void {
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
