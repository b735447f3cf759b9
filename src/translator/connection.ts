// One connection to a gateway: requests with their answers, on raw messages.
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../base/json/json.js";
import { messageOf } from "../base/message.js";
import type { WebSocketLink, WebSocketListener } from "../base/ports/web-socket.js";
import { TRANSLATOR_LIMITS } from "./limits.js";
import { ERRORS, type Outcome, type Rpc, type RpcId, readRpc } from "./messages.js";

export type OpenLink = (listener: WebSocketListener, signal: AbortSignal) => Promise<WebSocketLink>;

/** What the gateway sends of its own accord. */
export type FromGateway = Extract<Rpc, { kind: "request" | "notification" }>;

interface ConnectionEvents {
  onMessage(connection: Connection, message: FromGateway, raw: JsonObject): void;
  /** What one message caused, and did not expect. */
  onProblem(words: string): void;
}

export class Connection {
  readonly #events: ConnectionEvents;
  readonly #answers = new Map<number, (outcome: Outcome) => void>();
  readonly #gone = new AbortController();
  #link: WebSocketLink | undefined;

  private constructor(events: ConnectionEvents) {
    this.#events = events;
  }

  static async open(open: OpenLink, events: ConnectionEvents, signal: AbortSignal): Promise<Connection> {
    const connection = new Connection(events);
    const link = await open(
      {
        onText: (text) => connection.#receive(text),
        onClosed: (reason) => connection.#end(reason),
      },
      signal,
    );
    connection.#link = link;
    return connection;
  }

  /** Aborts with the reason when it ended. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** `onAnswer` is not called any more once the connection is gone. `id` is one nobody else uses on this connection. */
  request(id: number, method: string, params: JsonValue | undefined, onAnswer: (outcome: Outcome) => void): void {
    this.#answers.set(id, onAnswer);
    this.#send({ jsonrpc: "2.0", id, method, ...defined({ params }) });
  }

  /** The answer; rejects when the connection goes or the signal aborts first. */
  async ask(id: number, method: string, params: JsonValue | undefined, signal: AbortSignal): Promise<Outcome> {
    const over = AbortSignal.any([this.gone, signal]);
    over.throwIfAborted();
    return await new Promise<Outcome>((resolve, reject) => {
      const onAbort = () => {
        this.#answers.delete(id);
        reject(over.reason);
      };
      over.addEventListener("abort", onAbort, { once: true });
      this.request(id, method, params, (outcome) => {
        over.removeEventListener("abort", onAbort);
        resolve(outcome);
      });
    });
  }

  notify(method: string, params: JsonValue | undefined): void {
    this.#send({ jsonrpc: "2.0", method, ...defined({ params }) });
  }

  answer(id: RpcId, outcome: Outcome): void {
    this.#send({ jsonrpc: "2.0", id, ...outcome });
  }

  pause(): void {
    this.#link?.pause();
  }

  resume(): void {
    this.#link?.resume();
  }

  async close(): Promise<void> {
    await this.#link?.close();
  }

  #send(message: object): void {
    const link = this.#link;
    if (!link || this.gone.aborted) return;
    link.send(JSON.stringify(message));
    if (link.pendingBytes > TRANSLATOR_LIMITS.pendingMaxBytes) this.#end("the gateway does not read");
  }

  #end(reason: string): void {
    if (this.gone.aborted) return;
    this.#answers.clear();
    this.#gone.abort(new Error(reason));
    this.#link?.close().catch(() => {}); // it never rejects; nothing depends on it
  }

  #receive(text: string): void {
    if (this.gone.aborted) return;
    const parsed = parseJson(text);
    if (!parsed.ok || !isJsonObject(parsed.value)) {
      this.#events.onProblem(parsed.ok ? "a message of the gateway is no object" : parsed.reason);
      return;
    }
    try {
      this.#hear(readRpc(parsed.value), parsed.value);
    } catch (error) {
      this.#events.onProblem(messageOf(error));
    }
  }

  #hear(message: Rpc, raw: JsonObject): void {
    switch (message.kind) {
      case "answer": {
        const { id, outcome } = message;
        const onAnswer = typeof id === "number" ? this.#answers.get(id) : undefined;
        if (typeof id === "number") this.#answers.delete(id);
        onAnswer?.(outcome);
        return;
      }
      case "request":
      case "notification":
        this.#events.onMessage(this, message, raw);
        return;
      case "invalid":
        this.answer(null, { error: { code: ERRORS.invalidRequest, message: "Invalid request" } });
    }
  }
}
