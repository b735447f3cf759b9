// Carries our messages to one server: builds the requests, remembers what is under way, and judges refusals.

import { Buffer } from "node:buffer";
import type { IncomingMessage as HttpResponse } from "node:http";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { Timer, World } from "../../../base/ports/world.js";
import type { KnownSecrets } from "../../../base/text/secrets.js";
import { MCP_LIMITS } from "../../limits.js";
import type { OutgoingMessage, RpcId } from "../json-rpc.js";
import type { Agreement, RequestLoss, SendHint } from "../transport.js";
import { AuthorizedExchange } from "./authorized-exchange.js";
import { drain } from "./body.js";
import type { Dialler, Place } from "./dial.js";
import { Exchange, type HttpHandler, type HttpRequest, type OpenRequest } from "./exchange.js";
import { HeaderWriter, type UserHeaders } from "./headers.js";
import type { IntakeParts } from "./intake.js";
import { type Refused, readRefusal } from "./refusal.js";
import type { RequestAccess } from "./request-access.js";

export interface RemoteParts extends IntakeParts {
  readonly dialler: Dialler;
  readonly place: Place;
  readonly user: UserHeaders;
  /** Some servers say them back. */
  readonly secrets: KnownSecrets;
  /** Where somebody may have to log in. */
  readonly access?: RequestAccess;
  /** Gives back what is kept outside of memory. */
  readonly dispose: () => Promise<void>;
}

/** How a message of ours ended to which no answer is expected. */
export type Delivery =
  | { readonly kind: "delivered" }
  | { readonly kind: "undelivered"; readonly loss: RequestLoss }
  | Exclude<Refused, { readonly kind: "loss" }>;

interface Unsent {
  readonly message: OutgoingMessage;
  readonly done: (delivery: Delivery) => void;
}

interface Notice {
  readonly exchange: OpenRequest;
  readonly deadline: Timer;
}

export class HttpSender {
  /** Where messages are posted to. */
  place: Place;
  /** The place itself is a secret of the session: HTTP+SSE puts the session into the URL. */
  hasSessionInPlace = false;
  readonly world: World;
  readonly #parts: RemoteParts;
  readonly #headers: HeaderWriter;
  readonly #notices = new Set<Notice>();
  readonly #waiting: Unsent[] = [];
  #agreement: Agreement | undefined;
  #sessionId: string | undefined;
  #isStopped = false;

  constructor(parts: RemoteParts) {
    this.#parts = parts;
    this.world = parts.world;
    this.place = parts.place;
    this.#headers = new HeaderWriter(parts.user);
  }

  get agreement(): Agreement | undefined {
    return this.#agreement;
  }

  set agreement(agreement: Agreement | undefined) {
    this.#agreement = agreement;
    this.#headers.converse(this);
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  set sessionId(sessionId: string | undefined) {
    this.#sessionId = sessionId;
    this.#headers.converse(this);
  }

  post(message: OutgoingMessage, hint: SendHint | undefined, handler: HttpHandler): OpenRequest {
    const body = JSON.stringify(message);
    const headers = this.#headers.post(message, Buffer.byteLength(body), hint);
    return this.#open("POST", this.place, headers, handler, body);
  }

  get(lastEventId: string | undefined, handler: HttpHandler): OpenRequest {
    const headers = this.#headers.plain("text/event-stream");
    if (lastEventId !== undefined) headers.push("last-event-id", lastEventId);
    return this.#open("GET", this.#parts.place, headers, handler);
  }

  /** For a message whose HTTP answer says only that it has come: `done` is called once, in time, unless stopped first. */
  deliver(message: OutgoingMessage, done: (delivery: Delivery) => void): void {
    const { atOnce, waiting } = MCP_LIMITS.httpNotices;
    if (this.#notices.size < atOnce) this.#deliverNow({ message, done });
    else if (this.#waiting.length < waiting) this.#waiting.push({ message, done });
    else {
      const error = new TenonError("mcp.unavailable", `the server has not taken ${atOnce + waiting} messages of ours`);
      queueMicrotask(() => {
        if (!this.#isStopped) done({ kind: "undelivered", loss: { error, wasSent: false } });
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
      onFailed: (loss) => end({ kind: "undelivered", loss }),
      onHead: (response) => {
        const status = response.statusCode ?? 0;
        if (status >= 200 && status <= 299) {
          drain(response);
          end({ kind: "delivered" });
          return;
        }
        const id = "id" in message && "method" in message ? message.id : undefined;
        this.judge(response, id, (refused) =>
          end(refused.kind === "loss" ? { kind: "undelivered", loss: refused.loss } : refused),
        );
      },
    });
    const deadline = this.world.after(MCP_LIMITS.httpNoticeTimeoutMs, () => {
      exchange.abort();
      end({ kind: "undelivered", loss: exchange.lossNow("the server did not take it in time") });
    });
    const notice = { exchange, deadline };
    this.#notices.add(notice);
  }

  /** Reads an answer that is no success. */
  judge(response: HttpResponse, id: RpcId | undefined, done: (refused: Refused) => void): void {
    const context = {
      ...defined({ id }),
      hadSession: this.sessionId !== undefined || this.hasSessionInPlace,
      hadCredentials: this.#parts.user.hasAuthorization || this.#parts.access !== undefined,
      secrets: this.#parts.secrets,
      nowMs: this.world.now(),
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

  /** A courtesy: the server may forget the session at once. Whatever it says, and if it says nothing, we are done. */
  async deleteSession(withinMs: number): Promise<void> {
    if (this.sessionId === undefined) return;
    await new Promise<void>((resolve) => {
      const deadline = this.world.after(withinMs, resolve);
      const end = () => {
        deadline.clear();
        resolve();
      };
      this.#open("DELETE", this.place, this.#headers.plain(), { onHead: end, onFailed: end });
    });
  }

  #open(
    method: HttpRequest["method"],
    place: Place,
    headers: readonly string[],
    handler: HttpHandler,
    body?: string,
  ): OpenRequest {
    const { dialler, user, access } = this.#parts;
    const isConfidential = user.isConfidential || this.#sessionId !== undefined || this.hasSessionInPlace;
    const request = { method, place, headers, body, isConfidential };
    return access ? new AuthorizedExchange(dialler, request, handler, access) : new Exchange(dialler, request, handler);
  }
}
