// The answer to one HTTP request: plain JSON, or an event stream as soon as another message goes before the answer.
import type { ServerResponse } from "node:http";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import type { Timer, World } from "../base/ports/world.js";
import { SERVE_LIMITS } from "./limits.js";

const EVENT_STREAM = { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" };

/** What the modern era wants errors to be answered with; all others are 200. */
const STATUS_OF: ReadonlyMap<number, number> = new Map([
  [-32_601, 404],
  [-32_600, 400],
  [-32_602, 400],
  [-32_020, 400],
  [-32_021, 400],
  [-32_022, 400],
]);

export class EventAnswer {
  readonly #world: Pick<World, "after">;
  readonly #response: ServerResponse;
  readonly #takesEvents: boolean;
  #silence: Timer | undefined;
  #isOver = false;

  constructor(world: Pick<World, "after">, response: ServerResponse, takesEvents: boolean) {
    this.#world = world;
    this.#response = response;
    this.#takesEvents = takesEvents;
    response.once("close", () => this.#end());
    if (takesEvents) this.#awaitSilence();
  }

  /** A message before the answer. Dropped where the client takes no events. */
  send(message: JsonObject): void {
    if (this.#isOver || !this.#takesEvents) return;
    this.#write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  /** `isModern`: the status says what kind of error it is. */
  answer(message: JsonObject, isModern: boolean): void {
    if (this.#isOver) return;
    if (this.#response.headersSent) {
      this.send(message);
      return this.finish();
    }
    const { error } = message;
    const code = isModern && isJsonObject(error) ? error["code"] : undefined;
    const status = typeof code === "number" ? (STATUS_OF.get(code) ?? 200) : 200;
    this.#end();
    this.#response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
    this.#response.end(JSON.stringify(message));
  }

  /** A stream from now on. */
  begin(): void {
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, EVENT_STREAM);
      this.#response.flushHeaders();
    }
  }

  /** There is nothing more to come. */
  finish(): void {
    if (this.#isOver) return;
    this.#end();
    if (!this.#response.headersSent) this.#response.writeHead(202);
    this.#response.end();
  }

  #write(text: string): void {
    this.begin();
    this.#response.write(text);
    // A client that takes nothing more must not fill the memory.
    if (this.#response.writableLength > SERVE_LIMITS.unsentMaxBytes) this.#response.destroy();
    this.#awaitSilence();
  }

  #awaitSilence(): void {
    this.#silence?.clear();
    this.#silence = this.#world.after(SERVE_LIMITS.keepAliveMs, () => {
      if (!this.#isOver) this.#write(": still here\n\n");
    });
  }

  #end(): void {
    this.#isOver = true;
    this.#silence?.clear();
  }
}
