// Sends our messages to one server: builds the requests, keeps those in progress, and classifies refusals.

import { Buffer } from "node:buffer";
import type { IncomingMessage as HttpResponse } from "node:http";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { Timer } from "../../../base/ports/world.js";
import type { KnownSecrets } from "../../../base/text/secrets.js";
import { MCP_LIMITS } from "../../limits.js";
import type { MessageLinesOptions } from "../large/message-lines.js";
import type { OutgoingMessage, RpcId, SendHint } from "../transport.js";
import type { Dialler, Place } from "./dial.js";
import { Exchange, type HttpHandler, type HttpRequest } from "./exchange.js";
import { HeaderWriter, type UserHeaders } from "./headers.js";
import { drain } from "./incoming.js";
import { type Refused, readRefusal } from "./refusal.js";
import type { RequestAccess } from "./request-access.js";

export interface RemoteParts extends MessageLinesOptions {
  readonly dialler: Dialler;
  readonly place: Place;
  readonly user: UserHeaders;
  /** Some servers repeat them. */
  readonly secrets: KnownSecrets;
  /** Where a log-in may be needed. */
  readonly access?: RequestAccess;
}

/** How a message ended that expects no response. */
export type Delivery = { readonly kind: "delivered" } | Refused;

interface Unsent {
  readonly message: OutgoingMessage;
  readonly done: (delivery: Delivery) => void;
}

interface Notice {
  readonly exchange: Exchange;
  readonly deadline: Timer;
}

export class HttpSender {
  /** Where messages are posted to. */
  place: Place;
  /** The place itself is a secret of the session: HTTP+SSE puts the session into the URL. */
  hasSessionInPlace = false;
  readonly headers: HeaderWriter;
  readonly #parts: RemoteParts;
  readonly #notices = new Set<Notice>();
  readonly #waiting: Unsent[] = [];
  #isStopped = false;

  constructor(parts: RemoteParts) {
    this.#parts = parts;
    this.place = parts.place;
    this.headers = new HeaderWriter(parts.user);
  }

  post(message: OutgoingMessage, hint: SendHint | undefined, handler: HttpHandler): Exchange {
    const body = JSON.stringify(message);
    const headers = this.headers.post(message, Buffer.byteLength(body), hint);
    return this.#open({ method: "POST", place: this.place, headers, body }, handler);
  }

  get(lastEventId: string | undefined, handler: HttpHandler): Exchange {
    const headers = this.headers.plain("text/event-stream");
    if (lastEventId !== undefined) headers.push("last-event-id", lastEventId);
    return this.#open({ method: "GET", place: this.#parts.place, headers, body: undefined }, handler);
  }

  /** For a message whose response only confirms that it arrived: `done` is called once, in time, unless stopped first. */
  deliver(message: OutgoingMessage, done: (delivery: Delivery) => void): void {
    const { atOnce, waiting } = MCP_LIMITS.httpNotices;
    if (this.#notices.size < atOnce) this.#deliverNow({ message, done });
    else if (this.#waiting.length < waiting) this.#waiting.push({ message, done });
    else {
      const error = new TenonError("mcp.unavailable", `the server has not taken ${atOnce + waiting} messages of ours`);
      queueMicrotask(() => {
        if (!this.#isStopped) done({ kind: "loss", loss: { error, wasSent: false } });
      });
    }
  }

  #deliverNow({ message, done }: Unsent): void {
    const end = (delivery: Delivery) => {
      this.#notices.delete(notice);
      deadline.clear();
      if (this.#isStopped) return;
      done(delivery);
      const next = this.#waiting.shift();
      if (next) this.#deliverNow(next);
    };
    const exchange = this.post(message, undefined, {
      onFailed: (loss) => end({ kind: "loss", loss }),
      onHead: (response) => {
        const status = response.statusCode ?? 0;
        if (status >= 200 && status <= 299) {
          drain(response);
          end({ kind: "delivered" });
          return;
        }
        const id = "id" in message && "method" in message ? message.id : undefined;
        this.judge(response, id, end);
      },
    });
    const deadline = this.#parts.world.after(MCP_LIMITS.httpNoticeTimeoutMs, () => {
      exchange.abort();
      end({ kind: "loss", loss: exchange.lossNow("the server did not take it in time") });
    });
    const notice = { exchange, deadline };
    this.#notices.add(notice);
  }

  /** Reads an answer that is no success. */
  judge(response: HttpResponse, id: RpcId | undefined, done: (refused: Refused) => void): void {
    const context = {
      ...defined({ id }),
      hadSession: this.headers.sessionId !== undefined || this.hasSessionInPlace,
      hadCredentials: this.#parts.user.hasAuthorization || this.#parts.access !== undefined,
      secrets: this.#parts.secrets,
      nowMs: this.#parts.world.now(),
    };
    readRefusal(response, context, (refused) => {
      if (!this.#isStopped) done(refused);
    });
  }

  stop(): void {
    this.#isStopped = true;
    for (const { exchange, deadline } of this.#notices) {
      deadline.clear();
      exchange.abort();
    }
    this.#notices.clear();
    this.#waiting.length = 0;
  }

  /** Tells the server that the session is over. Its response does not matter, nor whether there is one. */
  async deleteSession(withinMs: number): Promise<void> {
    if (this.headers.sessionId === undefined) return;
    await new Promise<void>((resolve) => {
      const deadline = this.#parts.world.after(withinMs, resolve);
      const end = () => {
        deadline.clear();
        resolve();
      };
      const request = { method: "DELETE", place: this.place, headers: this.headers.plain(), body: undefined } as const;
      this.#open(request, { onHead: end, onFailed: end });
    });
  }

  #open(request: Omit<HttpRequest, "isConfidential">, handler: HttpHandler): Exchange {
    const { dialler, user, access } = this.#parts;
    const isConfidential = user.isConfidential || this.headers.sessionId !== undefined || this.hasSessionInPlace;
    return new Exchange(dialler, { ...request, isConfidential }, handler, access);
  }
}
