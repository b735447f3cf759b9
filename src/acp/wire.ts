// Newline-delimited JSON-RPC over stdio, as message objects. Loaded first of all, so it imports nothing heavy.
import type { AnyMessage } from "@agentclientprotocol/sdk";
import { isJsonObject, parseJson } from "../base/json/json.js";
import { type Line, LineSplitter, type MessageHead, MessageHeadFinder } from "../base/json/ndjson.js";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import { ACP_LIMITS } from "./limits.js";

export interface WireStreams {
  readonly world: Pick<World, "soon">;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Hears every message that is sent or received, before anybody acts on it. */
  readonly onTraffic?: (dir: "in" | "out", message: object) => void;
}

/** Some JSON object; whether it is a JSON-RPC message the SDK checks itself. */
export type WireMessage = AnyMessage & Readonly<Record<string, unknown>>;

/** Calls `onMessage` for every JSON object that comes in; answers what is no message with the JSON-RPC error it deserves. */
export class Wire {
  readonly #world: WireStreams["world"];
  readonly #output: NodeJS.WritableStream;
  readonly #lines = new LineSplitter(LIMITS.acpMaxLineBytes, { findsHeads: true });
  readonly #onTraffic: WireStreams["onTraffic"];
  readonly closed: Promise<void>;
  onMessage: (message: WireMessage) => void = () => {};
  /** Written as one, at the end of this turn of the event loop or once the client has read what it was sent before. */
  #pending = "";
  #isDue = false;
  /** There while the client does not read what it was sent. */
  #jam: { readonly over: Promise<void>; readonly end: () => void } | undefined;
  #isOver = false;
  #giveUp: () => void = () => {};

  constructor({ world, input, output, onTraffic }: WireStreams) {
    this.#world = world;
    this.#output = output;
    this.#onTraffic = onTraffic;
    this.closed = new Promise((resolve) => {
      // At once, not when the promise is heard: a line that comes now is nobody's any more.
      const close = () => {
        if (this.#isOver) return;
        this.#isOver = true;
        this.#goOn();
        resolve();
      };
      this.#giveUp = close;
      const end = () => {
        this.#receive(this.#lines.flush());
        close();
      };
      input.on("data", (chunk: Buffer) => this.#receive(this.#lines.push(chunk)));
      input.once("end", end);
      input.once("close", end);
      input.on("error", end);
      output.on("error", close); // EPIPE: the client is gone
    });
    output.on("drain", () => this.#goOn());
  }

  /** In order. A promise when the client does not keep up: wait for it before the next message. */
  send(message: object): Promise<void> | undefined {
    this.post(message);
    return this.#jam && this.#pending.length >= ACP_LIMITS.acpWriteChars ? this.#jam.over : undefined;
  }

  /** In order, for a single message: the caller need not wait. */
  post(message: object): void {
    this.#onTraffic?.("out", message);
    this.#pending += `${textOf(message)}\n`;
    if (this.#jam) {
      if (this.#pending.length <= ACP_LIMITS.acpMaxPendingChars) return;
      // Only a client that goes on asking and never reads comes here: to keep its answers would fill the memory.
      this.#pending = "";
      this.#giveUp();
      return;
    }
    if (this.#pending.length >= ACP_LIMITS.acpWriteChars) this.flush();
    else if (!this.#isDue) {
      this.#isDue = true;
      this.#world.soon(() => {
        this.#isDue = false;
        if (!this.#jam) this.flush();
      });
    }
  }

  /** Writes all pending messages. To be called before the process ends. */
  flush(): void {
    if (this.#pending === "") return;
    const text = this.#pending;
    this.#pending = "";
    if (this.#isOver && !this.#output.writable) return; // nobody reads it
    const isTaken = this.#output.write(text);
    if (isTaken || this.#isOver || this.#jam) return;
    let end = () => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#jam = { over, end };
  }

  #goOn(): void {
    const jam = this.#jam;
    this.#jam = undefined;
    this.flush();
    jam?.end();
  }

  #receive(lines: readonly Line[]): void {
    for (const line of lines) {
      if (this.#isOver) return;
      if (line.kind === "line") this.#read(line.text);
      else {
        const what = `a message of ${line.bytes} bytes is over the limit of ${LIMITS.acpMaxLineBytes}`;
        this.#refuse(-32600, `Invalid request: ${what}`, line.head);
      }
    }
  }

  #read(text: string): void {
    const parsed = parseJson(text);
    if (!parsed.ok) {
      if (parsed.isDeep) this.#refuse(-32600, `Invalid request: ${parsed.reason}`, headOf(text));
      else this.#refuse(-32700, `Parse error: ${parsed.reason}`);
    } else if (isMessage(parsed.value)) this.#hear(parsed.value);
    else this.#refuse(-32600, "Invalid request: a message is one JSON object; batches are not supported");
  }

  /** What one message causes ends with that message: the client hears of it, and the next one is read. */
  #hear(message: WireMessage): void {
    try {
      this.#onTraffic?.("in", message);
      this.onMessage(message);
    } catch (error) {
      const { id, method } = message;
      const isRequest = method !== undefined && (typeof id === "string" || typeof id === "number");
      if (isRequest) this.#refuse(-32603, `Internal error: ${wordsOf(error)}`, { id, hasMethod: true });
    }
  }

  /** An answer that cannot be read still ends the request it is for. */
  #refuse(code: number, message: string, { id, hasMethod }: MessageHead = { hasMethod: true }): void {
    if (!hasMethod && id !== undefined) this.#hear({ jsonrpc: "2.0", id, error: { code, message } });
    else this.post({ jsonrpc: "2.0", id: id ?? null, error: { code, message } });
  }
}

function headOf(text: string): MessageHead {
  const finder = new MessageHeadFinder();
  finder.feed(Buffer.from(text));
  return finder.head;
}

/** An answer that cannot be written is answered as a failure; of anything else the sender hears. */
function textOf(message: object): string {
  try {
    return JSON.stringify(message);
  } catch (error) {
    if ("method" in message || !("id" in message)) throw error;
    const id = typeof message.id === "string" || typeof message.id === "number" ? message.id : null;
    return JSON.stringify({
      jsonrpc: "2.0",
      id,
      error: { code: -32603, message: `Internal error: ${wordsOf(error)}` },
    });
  }
}

/** Not by `base/errors`: the start of the command line must not load it. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isMessage(value: unknown): value is WireMessage {
  return isJsonObject(value);
}
