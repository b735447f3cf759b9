// The client's end of an in-memory connection to a scripted server.
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { JsonValue } from "../../base/json/json.js";

/** Messages pass as text: the two sides share no object, as over any real wire. */
export class MemoryTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];
  readonly #toServer: (message: unknown) => void;
  readonly #onClosed: () => void;
  readonly #early: string[] = [];
  #state: "new" | "open" | "closed" = "new";

  constructor(toServer: (message: unknown) => void, onClosed: () => void) {
    this.#toServer = toServer;
    this.#onClosed = onClosed;
  }

  async start(): Promise<void> {
    if (this.#state !== "new") throw new Error(`the transport is ${this.#state} already`);
    this.#state = "open";
    for (const text of this.#early.splice(0)) this.#deliver(text);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#state !== "open") throw new Error("not connected");
    const text = JSON.stringify(message);
    queueMicrotask(() => this.#toServer(JSON.parse(text)));
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#onClosed();
    this.onclose?.();
  }

  /** From the server's side. */
  receive(message: JsonValue): void {
    const text = JSON.stringify(message);
    if (this.#state === "new") this.#early.push(text);
    else queueMicrotask(() => this.#deliver(text));
  }

  #deliver(text: string): void {
    if (this.#state !== "open") return;
    const message: JSONRPCMessage = JSON.parse(text);
    this.onmessage?.(message);
  }
}
