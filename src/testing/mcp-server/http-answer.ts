// The HTTP answer to one JSON-RPC request: plain JSON, or an event stream once another message goes before the response.
import type { ServerResponse } from "node:http";
import type { JsonObject } from "../../base/json/json.js";
import type { RequestId } from "./host.js";

export class HttpAnswer {
  readonly #response: ServerResponse;
  readonly #id: RequestId;

  /** `isStream`: as events even where plain JSON would do, with a first event that only sets an id. */
  constructor(response: ServerResponse, id: RequestId, isStream = false) {
    this.#response = response;
    this.#id = id;
    if (!isStream) return;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`id: ${String(id)}_0\ndata:\n\n`);
  }

  send(message: JsonObject): void {
    if (this.#response.writableEnded) return; // a duplicate reply has nowhere to go over HTTP
    const isResponse = message["id"] === this.#id && message["method"] === undefined;
    if (isResponse && !this.#response.headersSent) {
      this.#response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
      return;
    }
    if (!this.#response.headersSent) this.#response.writeHead(200, { "content-type": "text/event-stream" });
    this.#response.write(eventText(message));
    if (isResponse) this.#response.end();
  }

  /** A gateway that answers with its own page: 200, and a body that is no message. */
  garbage(text: string): void {
    if (!this.#response.headersSent) this.#response.writeHead(200, { "content-type": "application/json" });
    this.#response.end(text);
  }

  cut(): void {
    this.#response.destroy();
  }
}

export function eventText(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
