// The standing GET stream of a legacy session, on which servers ask and announce: opened once, reopened with patience.
import type { IncomingMessage as HttpResponse } from "node:http";
import { backoffDelayMs } from "../../../base/async/deadline.js";
import type { TenonError } from "../../../base/errors.js";
import type { Timer } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import { drain, mediaType } from "./body.js";
import type { Channel } from "./channel.js";
import { EventPump } from "./event-pump.js";
import type { OpenRequest } from "./exchange.js";

export interface ListenStreamHandler {
  /** The first attempt is decided: there is a stream, or there is none. At most once. */
  onDecided(): void;
  /** The server has forgotten the session, or cannot be reached any more. At most once. */
  onGone(error: TenonError): void;
  onNoise(what: string): void;
}

export class ListenStream {
  readonly #channel: Channel;
  readonly #handler: ListenStreamHandler;
  #exchange: OpenRequest | undefined;
  #pump: EventPump | undefined;
  #timer: Timer | undefined;
  #lastEventId: string | undefined;
  #retryMs: number | undefined;
  #openedAtMs = 0;
  #wasOpen = false;
  /** Streams in a row that were over at once. */
  #short = 0;
  /** Of those, the ones that brought no message either. */
  #fruitless = 0;
  #unreachable = 0;
  #isStopped = false;

  constructor(channel: Channel, handler: ListenStreamHandler) {
    this.#channel = channel;
    this.#handler = handler;
    this.#open();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.clear();
    this.#pump?.stop();
    this.#exchange?.abort();
  }

  #open(): void {
    this.#exchange = this.#channel.openStream(this.#lastEventId, {
      onHead: (response) => this.#onHead(response),
      // With a status there was an answer: nobody is let in just now, which a log-in may change.
      onFailed: ({ error, httpStatus }) => (httpStatus === undefined ? this.#unreached(error) : this.#denied()),
    });
  }

  #onHead(response: HttpResponse): void {
    if (this.#isStopped) return;
    this.#unreachable = 0;
    if (response.statusCode === 200 && mediaType(response) === "text/event-stream") this.#follow(response);
    else this.#refused(response);
    this.#handler.onDecided();
  }

  #follow(response: HttpResponse): void {
    this.#wasOpen = true;
    this.#openedAtMs = this.#channel.world.monotonicMs();
    const pump = new EventPump(response, this.#channel, {
      onIncoming: (incoming) => this.#channel.hear(incoming),
      onEnd: () => this.#ended(pump),
    });
    this.#pump = pump;
  }

  /**
   * Servers without such a stream say so in many ways (405, 404, 400, 409, a page): none is an error of the connection.
   * But one that had a stream and now does not know the session has forgotten it.
   */
  #refused(response: HttpResponse): void {
    const status = response.statusCode ?? 0;
    if (!this.#wasOpen) {
      drain(response);
      if (status >= 500 || status === 429) this.#again(false); // it may be a bad moment rather than a "no"
      return;
    }
    this.#channel.judge(response, undefined, (refused) => {
      if (this.#isStopped) return;
      if (refused.kind === "session_lost") this.#handler.onGone(refused.error);
      else if (status >= 500 || status === 429) this.#again(false);
      else this.#handler.onNoise(`the server no longer offers its event stream (${status})`);
    });
  }

  #ended(pump: EventPump): void {
    if (this.#isStopped) return;
    this.#lastEventId = pump.lastEventId ?? this.#lastEventId;
    this.#retryMs = pump.retryMs ?? this.#retryMs;
    const livedMs = this.#channel.world.monotonicMs() - this.#openedAtMs;
    // A server may close the stream and have us come back at its own pace, if that pace is no storm.
    const isPolling = (this.#retryMs ?? 0) >= MCP_LIMITS.httpReopen.firstMs && pump.lastEventId !== undefined;
    if (livedMs >= MCP_LIMITS.httpStreamProvenMs || isPolling) {
      this.#short = 0;
      this.#fruitless = 0;
    }
    this.#again(pump.messageCount > 0);
  }

  #again(wasFruitful: boolean): void {
    const { world } = this.#channel;
    this.#short += 1;
    this.#fruitless = wasFruitful ? 0 : this.#fruitless + 1;
    if (this.#fruitless > MCP_LIMITS.httpReopenAttempts) {
      this.#handler.onNoise(
        `the server ends its event stream again and again: given up after ${this.#fruitless} times`,
      );
      return;
    }
    const slower = backoffDelayMs(MCP_LIMITS.httpReopen, this.#short - 1, world.random());
    this.#timer = world.after(Math.max(slower, this.#retryMs ?? 0, MCP_LIMITS.httpReopenMinMs), () => this.#open());
  }

  #denied(): void {
    if (this.#isStopped) return;
    this.#handler.onDecided();
    this.#again(false);
  }

  #unreached(error: TenonError): void {
    if (this.#isStopped) return;
    if (!this.#wasOpen) {
      this.#handler.onNoise(`the server's event stream cannot be opened: ${error.message}`);
      this.#handler.onDecided();
      return;
    }
    this.#unreachable += 1;
    if (this.#unreachable >= MCP_LIMITS.httpUnreachableAttempts) this.#handler.onGone(error);
    else {
      const { world } = this.#channel;
      const delayMs = backoffDelayMs(MCP_LIMITS.httpReopen, this.#unreachable - 1, world.random());
      this.#timer = world.after(delayMs, () => this.#open());
    }
  }
}
