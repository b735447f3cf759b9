// One recorded exchange with a model over HTTP: the answer of then, part by part.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";

export class ReplayedExchange {
  readonly response: Promise<Response>;
  readonly #settle: { resolve: (response: Response) => void; reject: (error: Error) => void };
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor() {
    let settle: { resolve: (response: Response) => void; reject: (error: Error) => void } | undefined;
    this.response = new Promise<Response>((resolve, reject) => {
      settle = { resolve, reject };
    });
    this.response.catch(() => {}); // whoever asked may have left
    this.#settle = settle ?? { resolve: () => {}, reject: () => {} };
  }

  hear(message: JsonObject): void {
    const { kind, status, headers, text, body, error } = message;
    switch (kind) {
      case "response":
        this.#begin(typeof status === "number" ? status : 200, headers);
        break;
      case "events":
        if (typeof text === "string") this.#write(text);
        break;
      case "body":
        this.#write(typeof body === "string" ? body : JSON.stringify(body));
        break;
      case "end":
        this.#end();
        break;
      case "failed":
        this.#fail(typeof error === "string" ? error : "it failed");
        break;
      default:
    }
  }

  #begin(status: number, headers: JsonValue | undefined): void {
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#body = controller;
      },
      cancel: () => {
        this.#body = undefined;
      },
    });
    const plain = isJsonObject(headers) ? Object.entries(headers) : [];
    const kept = plain.flatMap(([name, value]): [string, string][] =>
      typeof value === "string" && !DECODED.includes(name.toLowerCase()) ? [[name, value]] : [],
    );
    const hasBody = ![204, 205, 304].includes(status);
    this.#settle.resolve(new Response(hasBody ? stream : null, { status, headers: kept }));
  }

  #write(text: string): void {
    this.#body?.enqueue(new TextEncoder().encode(text));
  }

  #end(): void {
    this.#body?.close();
    this.#body = undefined;
  }

  #fail(error: string): void {
    const failure = new TypeError(error);
    this.#settle.reject(failure);
    this.#body?.error(failure);
    this.#body = undefined;
  }
}

/** They are of the bytes on the wire, which the recording does not have. */
const DECODED: readonly string[] = ["content-encoding", "content-length", "transfer-encoding"];
