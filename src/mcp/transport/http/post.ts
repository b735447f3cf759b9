// One request over Streamable HTTP: its POST, its response as JSON or as a stream, and the stream's resumption.
import type { IncomingMessage as HttpResponse } from "node:http";
import { backoffDelayMs } from "../../../base/async/deadline.js";
import { messageOf, TenonError } from "../../../base/errors.js";
import type { Timer } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import type { OutgoingMessage, RequestLoss, RpcId, SendHint } from "../transport.js";
import type { Exchange, HttpHandler } from "./exchange.js";
import { drain, type Incoming, mediaType } from "./incoming.js";
import { BodyReader, type StreamHandler, StreamReader } from "./readers.js";
import { emptyLoss, type Refused } from "./refusal.js";
import type { StreamableTransport } from "./streamable-transport.js";

export type Request = OutgoingMessage & { readonly id: RpcId; readonly method: string };

export class Post implements HttpHandler, StreamHandler {
  readonly #owner: StreamableTransport;
  readonly #request: Request;
  #exchange: Exchange | undefined;
  #reader: BodyReader | StreamReader | undefined;
  #timer: Timer | undefined;
  #lastEventId: string | undefined;
  #retryMs: number | undefined;
  /** Attempts in a row to resume that brought neither a message nor a new event id. */
  #fruitless = 0;
  #isOver = false;
  /** The whole response has been read: its connection is free again. */
  #isComplete = false;

  constructor(owner: StreamableTransport, request: Request, hint?: SendHint) {
    this.#owner = owner;
    this.#request = request;
    this.#exchange = owner.sender.post(request, hint, this);
  }

  /** Its response has come, on any stream. True when nothing of it is open any more. */
  answered(): boolean {
    this.#isOver = true;
    this.#timer?.clear();
    if (this.#isComplete) this.#release();
    return this.#isComplete;
  }

  /** Its response is not needed any more. */
  stop(): void {
    this.#isOver = true;
    this.#timer?.clear();
    this.#reader?.stop();
    this.#exchange?.abort();
  }

  /**
   * A Map that has grown still refers to entries of its old table until V8 collects everything: so a finished request must
   * not hold its exchange and bodies, or many calls at once fill the memory with those of earlier ones.
   */
  #release(): void {
    this.#exchange = undefined;
    this.#reader = undefined;
  }

  onFailed(loss: RequestLoss): void {
    this.#lose(loss);
  }

  onHead(response: HttpResponse): void {
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299)
      return this.#owner.sender.judge(response, this.#request.id, (refused) => this.#refused(refused));
    this.#owner.onAccepted(this.#request, response);
    const type = mediaType(response);
    const encoding = response.headers["content-encoding"] ?? "identity";
    if (encoding !== "identity") this.#useless(response, `compressed its answer (${encoding}), which nobody asked for`);
    else if (type === "text/event-stream") this.#follow(response);
    else if (status === 202 || status === 204) this.#useless(response, "gave no answer to it");
    else if (type !== "application/json" && type !== "")
      this.#useless(response, `answered with ${type} instead of a message`);
    else this.#readBody(response);
  }

  #refused(refused: Refused): void {
    if (this.#isOver) return;
    this.#isComplete = true;
    if (refused.kind === "answer") return this.#owner.onIncoming({ messages: [refused.message] });
    this.#isOver = true;
    this.#owner.onUnanswered(this.#request.id, refused);
  }

  #useless(response: HttpResponse, what: string): void {
    drain(response);
    this.#lose(emptyLoss(response, what));
  }

  #readBody(response: HttpResponse): void {
    let strange: Incoming | undefined;
    const handler = {
      onIncoming: (incoming: Incoming) => {
        this.#isComplete = true;
        this.#owner.onIncoming(incoming);
        if (!this.#isOver) strange = incoming;
      },
      onTooLarge: () => this.onTooLarge(),
      onBodyEnd: (end: "whole" | "empty" | Error) => {
        if (this.#isOver) return; // our response was in it, or the transport has been closed
        if (end instanceof Error) this.#lose(brokenOff("the answer broke off", end));
        else if (end === "empty") this.#lose(emptyLoss(response, "gave an empty answer"));
        else {
          const { messages = [], noise } = strange ?? {};
          const what = messages.length > 0 ? "its answer is to something else" : "its answer is no message";
          this.#lose(emptyLoss(response, noise === undefined ? what : `${what}: ${noise}`));
        }
      },
    };
    this.#reader = new BodyReader(response, this.#owner.parts, handler, this.#request.id);
  }

  #follow(response: HttpResponse): void {
    this.#reader = new StreamReader(response, this.#owner.parts, this, this.#request.id);
  }

  onIncoming(incoming: Incoming): void {
    this.#owner.onIncoming(incoming);
  }

  /** In this response it can only have been ours. */
  onTooLarge(): void {
    if (this.#isOver) return;
    const text = `the server's answer is over the limit of ${MCP_LIMITS.mcpMaxLineBytes} bytes`;
    this.#lose({ error: new TenonError("mcp.too_large", text), wasSent: true });
    this.stop();
  }

  onStreamEnd(error: Error | undefined, stream: StreamReader): void {
    this.#isComplete = true;
    if (this.#isOver) {
      this.#release();
      this.#owner.onFinished(this);
      return;
    }
    const { lastEventId, retryMs = this.#retryMs } = stream.parser;
    const isFurther = lastEventId !== undefined && lastEventId !== this.#lastEventId;
    this.#fruitless = isFurther || stream.messageCount > 0 ? 0 : this.#fruitless + 1;
    this.#lastEventId = lastEventId ?? this.#lastEventId;
    this.#retryMs = retryMs;
    this.#resumeOr(brokenOff("the event stream ended without the answer", error));
  }

  #resumeOr(loss: RequestLoss): void {
    const { sender, parts } = this.#owner;
    const mayResume = sender.headers.agreement?.era !== "modern" && this.#lastEventId !== undefined;
    if (!mayResume || this.#fruitless > MCP_LIMITS.httpReopenAttempts) return this.#lose(loss);
    const asked = Math.max(this.#retryMs ?? MCP_LIMITS.httpReopen.firstMs, MCP_LIMITS.httpReopenMinMs);
    const slower =
      this.#fruitless === 0 ? 0 : backoffDelayMs(MCP_LIMITS.httpReopen, this.#fruitless, parts.world.random());
    this.#timer = parts.world.after(Math.max(asked, slower), () => {
      this.#isComplete = false;
      this.#exchange = sender.get(this.#lastEventId, {
        onHead: (response) => this.#resumed(response, loss),
        onFailed: () => this.#notResumed(loss),
      });
    });
  }

  #resumed(response: HttpResponse, loss: RequestLoss): void {
    const status = response.statusCode ?? 0;
    if (status === 200 && mediaType(response) === "text/event-stream") return this.#follow(response);
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
    this.#owner.onUnanswered(this.#request.id, { kind: "loss", loss });
  }
}

function brokenOff(what: string, error: Error | undefined): RequestLoss {
  const why = error === undefined ? "" : `: ${messageOf(error)}`;
  return { error: new TenonError("mcp.connection_lost", `${what}${why}`, { cause: error }), wasSent: true };
}
