// Newline-delimited JSON-RPC over stdio, as message objects. Loaded first of all, so it imports nothing heavy.
import type { AnyMessage } from "@agentclientprotocol/sdk";
import { isJsonObject, parseJson } from "../base/json.js";
import { LIMITS } from "../base/limits.js";
import { type Line, LineSplitter } from "../base/ndjson.js";

export interface WireStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Some JSON object; whether it is a JSON-RPC message the SDK checks itself. */
export type WireMessage = AnyMessage & Readonly<Record<string, unknown>>;

/** Calls `onMessage` for every JSON object that comes in; answers what is no message with the JSON-RPC error it deserves. */
export class Wire {
  readonly #output: NodeJS.WritableStream;
  readonly #lines = new LineSplitter(LIMITS.acpMaxLineBytes);
  readonly closed: Promise<void>;
  onMessage: (message: WireMessage) => void = () => {};

  constructor({ input, output }: WireStreams) {
    this.#output = output;
    this.closed = new Promise((resolve) => {
      const end = () => {
        this.#receive(this.#lines.flush());
        resolve();
      };
      input.on("data", (chunk: Buffer) => this.#receive(this.#lines.push(chunk)));
      input.once("end", end);
      input.once("close", end);
      input.once("error", end);
      output.on("error", () => resolve()); // EPIPE: the client is gone
    });
  }

  send(message: object): void {
    this.#output.write(`${JSON.stringify(message)}\n`);
  }

  #receive(lines: readonly Line[]): void {
    for (const line of lines) {
      if (line.kind === "oversize") {
        this.#refuse(
          -32600,
          `Invalid request: a message of ${line.bytes} bytes is over the limit of ${LIMITS.acpMaxLineBytes}`,
        );
        continue;
      }
      const parsed = parseJson(line.text);
      if (!parsed.ok) this.#refuse(-32700, `Parse error: ${parsed.reason}`);
      else if (isMessage(parsed.value)) this.onMessage(parsed.value);
      else this.#refuse(-32600, "Invalid request: a message is one JSON object; batches are not supported");
    }
  }

  #refuse(code: number, message: string): void {
    this.send({ jsonrpc: "2.0", id: null, error: { code, message } });
  }
}

function isMessage(value: unknown): value is WireMessage {
  return isJsonObject(value);
}
