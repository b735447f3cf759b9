// Reads the one message that is the body of an answer, and says when and how the body ended.
import type { Buffer } from "node:buffer";
import type { IncomingMessage as HttpResponse } from "node:http";
import { handled } from "../../../base/async/scope.js";
import { MCP_LIMITS } from "../../limits.js";
import type { RpcId } from "../json-rpc.js";
import { type Incoming, readIncoming } from "./incoming.js";
import { Intake, type IntakeParts } from "./intake.js";

export interface JsonBodyHandler {
  onJson(incoming: Incoming): void;
  onTooLarge(): void;
  /** It is over, and its message, if there was one, has been told. Exactly once, unless stopped. */
  onJsonEnd(response: HttpResponse, end: "whole" | "empty" | Error): void;
}

export class JsonBody {
  readonly #response: HttpResponse;
  readonly #parts: IntakeParts;
  readonly #handler: JsonBodyHandler;
  readonly #postId: RpcId;
  /** Most bodies come in one piece. */
  #only: Buffer | undefined;
  #intake: Intake | undefined;
  #hasEnded = false;

  constructor(response: HttpResponse, parts: IntakeParts, handler: JsonBodyHandler, postId: RpcId) {
    this.#response = response;
    this.#parts = parts;
    this.#handler = handler;
    this.#postId = postId;
    response.on("data", (chunk: Buffer) => this.#take(chunk));
    response.on("end", () => this.#end());
    response.on("error", (error: Error) => this.#broken(error));
    response.on("close", () => this.#broken());
  }

  stop(): void {
    this.#hasEnded = true;
    this.#intake?.close();
  }

  #take(chunk: Buffer): void {
    if (this.#intake) this.#intake.push(chunk);
    else if (!this.#only && chunk.length <= MCP_LIMITS.messagePlainBytes) this.#only = chunk;
    else {
      this.#intake = this.#openIntake();
      if (this.#only) this.#intake.push(this.#only);
      this.#intake.push(chunk);
      this.#only = undefined;
    }
  }

  #openIntake(): Intake {
    const listener = {
      onIncoming: (incoming: Incoming) => this.#handler.onJson(incoming),
      onTooLarge: () => this.#handler.onTooLarge(),
      onFull: (isFull: boolean) => (isFull ? this.#response.pause() : this.#response.resume()),
    };
    return new Intake(this.#parts, listener, this.#postId);
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#only) {
      this.#handler.onJson(readIncoming(this.#only, this.#postId));
      this.#handler.onJsonEnd(this.#response, "whole");
    } else if (!this.#intake) this.#handler.onJsonEnd(this.#response, "empty");
    else {
      this.#intake.end();
      this.#settle(this.#intake);
    }
  }

  #settle(intake: Intake): void {
    const end = (how: "whole" | Error) => this.#handler.onJsonEnd(this.#response, how);
    if (intake.isIdle) end("whole");
    else {
      const ended = intake
        .settled()
        .then(() => end("whole"))
        .catch((thrown: unknown) => end(thrown instanceof Error ? thrown : new Error(String(thrown))));
      handled(ended, this.#parts.world.log, "end of an answer");
    }
  }

  #broken(error?: Error): void {
    if (this.#hasEnded) return;
    this.stop();
    this.#handler.onJsonEnd(this.#response, error ?? new Error("the connection was closed"));
  }
}
