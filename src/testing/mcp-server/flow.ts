// One thing a scripted server is busy with: a request (or a stage without one), its cancellation, and what its waits stop on.
import type { JsonObject } from "../../base/json/json.js";
import type { RequestId } from "./host.js";

interface FlowRequest {
  readonly id: RequestId;
  readonly params: JsonObject;
  readonly progressToken: RequestId | undefined;
}

export class Flow {
  readonly request: FlowRequest | undefined;
  readonly #closed: AbortSignal;
  readonly #cancellation = new AbortController();
  #ignoresCancel = false;

  /** `closed` ends every wait: the server is gone. */
  constructor(closed: AbortSignal, request?: FlowRequest) {
    this.#closed = closed;
    this.request = request;
  }

  get params(): JsonObject {
    return this.request?.params ?? {};
  }

  get cancelled(): AbortSignal {
    return this.#cancellation.signal;
  }

  get closed(): AbortSignal {
    return this.#closed;
  }

  /** True when the answer must be kept back, as the protocol wants it after a cancellation. */
  get isStopped(): boolean {
    return this.waits.aborted;
  }

  /** What waits stop on. */
  get waits(): AbortSignal {
    return this.#ignoresCancel ? this.#closed : AbortSignal.any([this.#closed, this.cancelled]);
  }

  cancel(): void {
    this.#cancellation.abort(new DOMException("the client cancelled the request", "AbortError"));
  }

  /** From here on a cancellation, past or future, changes nothing. */
  ignoreCancel(): void {
    this.#ignoresCancel = true;
  }
}
