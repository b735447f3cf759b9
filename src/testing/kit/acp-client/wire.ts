// The bytes between the test client and an agent, line by line: all recorded, and what is the SDK's handed to the SDK.
import type { Readable, Writable } from "node:stream";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { LineSplitter } from "../../../base/json/ndjson.js";
import { Feed } from "../feed.js";

export interface WireLine {
  readonly direction: "sent" | "received";
  readonly text: string;
  /** Milliseconds since the wire was opened. */
  readonly atMs: number;
}

export interface WireEvents {
  /** A message of the agent, and the method it answers when it is a response. */
  onMessage(message: JsonObject, answeredMethod: string | undefined): void;
  /** A line of the agent that is no JSON object: stdout belongs to the protocol. */
  onGarbage(text: string): void;
  /** The agent's output has ended; resolves when the SDK may be told. */
  onEnd(): Promise<void>;
}

const MAX_LINE_BYTES = 268_435_456;

export class Wire {
  readonly lines: Feed<WireLine> = new Feed<WireLine>("line");
  readonly stream: Stream;
  readonly #toAgent: Writable;
  readonly #events: WireEvents;
  readonly #startMs = performance.now();
  /** Methods of the requests under way, by id: those of the SDK, and those a test wrote itself. */
  readonly #sdkRequests = new Map<unknown, string>();
  readonly #rawRequests = new Map<unknown, string>();
  readonly #splitter = new LineSplitter(MAX_LINE_BYTES);

  constructor(toAgent: Writable, fromAgent: Readable, events: WireEvents) {
    this.#toAgent = toAgent;
    this.#events = events;
    toAgent.on("error", () => {}); // an agent that is gone shows at the end of its output
    this.stream = {
      readable: new ReadableStream<AnyMessage>({ start: (controller) => this.#read(fromAgent, controller) }),
      writable: new WritableStream<AnyMessage>({ write: (message) => this.#writeMessage(message) }),
    };
  }

  /** Writes a line as it is, well-formed or not. What the agent answers to it is recorded and kept from the SDK. */
  sendLine(text: string): void {
    const parsed = parseJson(text);
    if (parsed.ok && isJsonObject(parsed.value)) noteRequest(parsed.value, this.#rawRequests);
    this.#write(text);
  }

  #writeMessage(message: AnyMessage): void {
    if ("method" in message && "id" in message) this.#sdkRequests.set(message.id, message.method);
    this.#write(JSON.stringify(message));
  }

  #write(text: string): void {
    this.#record("sent", text);
    if (this.#toAgent.writable) this.#toAgent.write(`${text}\n`);
  }

  #read(fromAgent: Readable, controller: ReadableStreamDefaultController<AnyMessage>): void {
    fromAgent.on("data", (chunk: Uint8Array) => {
      for (const line of this.#splitter.push(chunk)) {
        if (line.kind === "line") this.#receive(line.text, controller);
        else this.#events.onGarbage(`a line of ${line.bytes} bytes`);
      }
    });
    fromAgent.once("close", () => {
      for (const line of this.#splitter.flush()) if (line.kind === "line") this.#receive(line.text, controller);
      this.#events
        .onEnd()
        .finally(() => controller.close())
        .catch(() => {}); // the SDK has closed the stream before
    });
  }

  #receive(text: string, controller: ReadableStreamDefaultController<AnyMessage>): void {
    this.#record("received", text);
    const parsed = parseJson(text);
    if (!parsed.ok || !isJsonObject(parsed.value)) return this.#events.onGarbage(text);
    const { id, method } = parsed.value;
    if (method !== undefined) {
      this.#events.onMessage(parsed.value, undefined);
      this.#forward(text, controller);
      return;
    }
    const isForSdk = this.#sdkRequests.has(id);
    const requests = isForSdk ? this.#sdkRequests : this.#rawRequests;
    this.#events.onMessage(parsed.value, requests.get(id));
    requests.delete(id);
    if (isForSdk) this.#forward(text, controller);
  }

  #forward(text: string, controller: ReadableStreamDefaultController<AnyMessage>): void {
    const message: AnyMessage = JSON.parse(text);
    try {
      controller.enqueue(message);
    } catch {
      // the SDK's side is closed already: the line is recorded, which is all that is left to do with it
    }
  }

  #record(direction: WireLine["direction"], text: string): void {
    this.lines.push({ direction, text, atMs: performance.now() - this.#startMs });
  }
}

function noteRequest(message: JsonObject, requests: Map<unknown, string>): void {
  const { id, method } = message;
  if (id !== undefined && typeof method === "string") requests.set(id, method);
}
