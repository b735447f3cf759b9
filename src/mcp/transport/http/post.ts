// One request of ours over Streamable HTTP: its POST, its answer as JSON or as a stream, and the stream's resumption.
import type { IncomingMessage as HttpResponse } from "node:http";
import { backoffDelayMs } from "../../../base/async/deadline.js";
import { messageOf, TenonError } from "../../../base/errors.js";
import type { Timer } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import type { RequestLoss, SendHint } from "../transport.js";
import { drain, mediaType } from "./body.js";
import type { PostChannel, Request } from "./channel.js";
import { EventPump, type PumpHandler } from "./event-pump.js";
import type { HttpHandler, OpenRequest } from "./exchange.js";
import type { Incoming } from "./incoming.js";
import { JsonBody, type JsonBodyHandler } from "./json-body.js";
import type { Refused } from "./refusal.js";
import { emptyLoss } from "./status.js";

export class Post implements HttpHandler, JsonBodyHandler, PumpHandler {
  readonly #channel: PostChannel;
  readonly #request: Request;
  #exchange: OpenRequest | undefined;
  #reading: JsonBody | EventPump | undefined;
  /** What a JSON body brought that was not our answer. */
  #strange: Incoming | undefined;
  #timer: Timer | undefined;
  #lastEventId: string | undefined;
  #retryMs: number | undefined;
  /** Attempts in a row to resume that brought neither a message nor a new place in the stream. */
  #fruitless = 0;
  #isOver = false;
  /** The whole answer has been read: its connection is free again. */
  #isComplete = false;

  constructor(channel: PostChannel, request: Request, hint?: SendHint) {
    this.#channel = channel;
    this.#request = request;
    this.#exchange = channel.post(request, hint, this);
  }

  /** Its answer has come, on whatever stream. True when nothing of it is open any more. */
  answered(): boolean {
    this.#isOver = true;
    this.#timer?.clear();
    if (this.#isComplete) this.#release();
    return this.#isComplete;
  }

  /** Nobody waits for it any more. */
  stop(): void {
    this.#isOver = true;
    this.#timer?.clear();
    this.#reading?.stop();
    this.#exchange?.abort();
  }

  /**
   * What a Map has outgrown still refers to all that was in it, and survives with it until V8 collects everything: so what
   * is over must not hold requests and bodies, or many calls at once fill the memory with those of earlier ones.
   */
  #release(): void {
    this.#exchange = undefined;
    this.#reading = undefined;
  }

  onFailed(loss: RequestLoss): void {
    this.#lose(loss);
  }

  onHead(response: HttpResponse): void {
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) {
      this.#channel.judge(response, this.#request.id, (refused) => this.#refused(refused));
      return;
    }
    this.#channel.accepted(this.#request, response);
    const type = mediaType(response);
    const encoding = response.headers["content-encoding"] ?? "identity";
    if (encoding !== "identity") this.#useless(response, `compressed its answer (${encoding}), which nobody asked for`);
    else if (type === "text/event-stream") this.#follow(response);
    else if (status === 202 || status === 204) this.#useless(response, "gave no answer to it");
    else if (type !== "application/json" && type !== "") {
      this.#useless(response, `answered with ${type} instead of a message`);
    } else this.#reading = new JsonBody(response, this.#channel, this, this.#request.id);
  }

  #refused(refused: Refused): void {
    if (this.#isOver) return;
    this.#isComplete = true;
    if (refused.kind === "answer") {
      this.#channel.hear({ messages: [refused.message] });
      return;
    }
    this.#isOver = true;
    this.#channel.unanswered(this.#request.id, refused);
  }

  #useless(response: HttpResponse, what: string): void {
    drain(response);
    this.#lose(emptyLoss(response, what));
  }

  onIncoming(incoming: Incoming): void {
    this.#channel.hear(incoming);
  }

  onJson(incoming: Incoming): void {
    this.#isComplete = true;
    this.#channel.hear(incoming);
    if (!this.#isOver) this.#strange = incoming;
  }

  /** Whosever it was, in this answer it can only have been ours. */
  onTooLarge(): void {
    if (this.#isOver) return;
    this.#lose(tooLarge());
    this.stop();
  }

  onJsonEnd(response: HttpResponse, end: "whole" | "empty" | Error): void {
    if (this.#isOver) return; // the transport has found our answer in it, or has been closed
    if (end instanceof Error) this.#lose(brokenOff("the answer broke off", end));
    else if (end === "empty") this.#lose(emptyLoss(response, "gave an empty answer"));
    else {
      const { messages = [], noise } = this.#strange ?? {};
      const what = messages.length > 0 ? "its answer is to something else" : "its answer is no message";
      this.#lose(emptyLoss(response, noise === undefined ? what : `${what}: ${noise}`));
    }
  }

  #follow(response: HttpResponse): void {
    this.#reading = new EventPump(response, this.#channel, this, this.#request.id);
  }

  onEnd(error: Error | undefined, pump: EventPump): void {
    this.#isComplete = true;
    if (this.#isOver) {
      this.#release();
      this.#channel.finished(this);
      return;
    }
    const isFurther = pump.lastEventId !== undefined && pump.lastEventId !== this.#lastEventId;
    this.#fruitless = isFurther || pump.messageCount > 0 ? 0 : this.#fruitless + 1;
    this.#lastEventId = pump.lastEventId ?? this.#lastEventId;
    this.#retryMs = pump.retryMs ?? this.#retryMs;
    this.#resumeOr(brokenOff("the event stream ended without the answer", error));
  }

  #resumeOr(loss: RequestLoss): void {
    const { mayResume, world } = this.#channel;
    if (!mayResume || this.#lastEventId === undefined || this.#fruitless > MCP_LIMITS.httpReopenAttempts) {
      this.#lose(loss);
      return;
    }
    const asked = Math.max(this.#retryMs ?? MCP_LIMITS.httpReopen.firstMs, MCP_LIMITS.httpReopenMinMs);
    const slower = this.#fruitless === 0 ? 0 : backoffDelayMs(MCP_LIMITS.httpReopen, this.#fruitless, world.random());
    this.#timer = world.after(Math.max(asked, slower), () => {
      this.#isComplete = false;
      this.#exchange = this.#channel.openStream(this.#lastEventId, {
        onHead: (response) => this.#resumed(response, loss),
        onFailed: () => this.#notResumed(loss),
      });
    });
  }

  #resumed(response: HttpResponse, loss: RequestLoss): void {
    const status = response.statusCode ?? 0;
    if (status === 200 && mediaType(response) === "text/event-stream") {
      this.#follow(response);
      return;
    }
    drain(response);
    if (status >= 500 || status === 429) this.#notResumed(loss);
    else this.#lose(loss);
  }

  #notResumed(loss: RequestLoss): void {
    if (this.#isOver) return;
    this.#fruitless += 1;
    this.#resumeOr(loss);
  }

  #lose(loss: RequestLoss): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#channel.unanswered(this.#request.id, { kind: "loss", loss });
  }
}

function brokenOff(what: string, error: Error | undefined): RequestLoss {
  const why = error === undefined ? "" : `: ${messageOf(error)}`;
  return { error: new TenonError("mcp.connection_lost", `${what}${why}`, { cause: error }), wasSent: true };
}

function tooLarge(): RequestLoss {
  const text = `the server's answer is over the limit of ${MCP_LIMITS.mcpMaxLineBytes} bytes`;
  return { error: new TenonError("mcp.too_large", text), wasSent: true };
}
