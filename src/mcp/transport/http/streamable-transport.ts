// Streamable HTTP in both eras: one POST per message, responses on any stream, and a GET stream in the legacy era.
import type { IncomingMessage as HttpResponse } from "node:http";
import { backoffDelayMs } from "../../../base/async/deadline.js";
import type { TenonError } from "../../../base/errors.js";
import type { EndGrace } from "../../../base/io/process.js";
import type { Timer, World } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import type { Agreement, OutgoingMessage, RpcId, SendHint, Transport, TransportListener } from "../transport.js";
import type { Exchange } from "./exchange.js";
import { isSessionId } from "./headers.js";
import { HttpSender, type RemoteParts } from "./http-sender.js";
import { drain, type Incoming, mediaType, type Reporting, report } from "./incoming.js";
import { Post, type Request } from "./post.js";
import { StreamReader } from "./readers.js";
import type { Refused } from "./refusal.js";

/** Lists need no stream for what a server might ask meanwhile; everything else may. */
const NEEDS_NO_STREAM = /(^ping$|\/list$)/u;

interface Held {
  readonly message: OutgoingMessage;
  readonly hint: SendHint | undefined;
}

export class StreamableTransport implements Transport {
  readonly stderrTail = "";
  readonly parts: RemoteParts;
  readonly sender: HttpSender;
  /** Requests that wait for their answer. */
  readonly #posts = new Map<RpcId, Post>();
  /** Requests that have it, whose stream the server has not ended yet. */
  readonly #answeredStreams: AnsweredStreams;
  readonly #held: Held[] = [];
  /** The session is lost: the requests that were refused for it, and a bound for those still in progress. */
  #losing: { readonly error: TenonError; readonly refused: RpcId[]; readonly timer: Timer } | undefined;
  #listener: TransportListener | undefined;
  #standing: ListenStream | undefined;
  #streamTimer: Timer | undefined;
  /** After `initialized`: until the server has taken it, then until the standing stream is there or is not to come. */
  #phase: "free" | "initializing" | "opening_stream" = "free";
  #isGone = false;
  #closing: Promise<void> | undefined;
  readonly #reporting: Reporting = { isGone: () => this.#isGone, answered: (id) => this.#answered(id) };

  constructor(parts: RemoteParts) {
    this.parts = parts;
    this.sender = new HttpSender(parts);
    this.#answeredStreams = new AnsweredStreams(parts.world);
  }

  get sessionId(): string | undefined {
    return this.sender.headers.sessionId;
  }

  start(listener: TransportListener): void {
    this.#listener = listener;
  }

  agreed(agreement: Agreement): void {
    const { headers } = this.sender;
    headers.converse(agreement, agreement.era === "modern" ? undefined : headers.sessionId); // some name one all the same
  }

  send(message: OutgoingMessage, hint?: SendHint): void {
    if (this.#isGone) return;
    if (this.#mustWait(message)) this.#held.push({ message, hint });
    else if (!("method" in message)) this.#notice(message);
    else if ("id" in message) this.#posts.set(message.id, new Post(this, message, hint));
    else if (message.method === "notifications/initialized") this.#initialized(message);
    else this.#notice(message);
  }

  cancel(id: RpcId, reason: string): void {
    const held = this.#held.findIndex(({ message }) => "method" in message && "id" in message && message.id === id);
    if (held !== -1) this.#held.splice(held, 1);
    const post = this.#posts.get(id);
    if (!post) return;
    this.#posts.delete(id);
    // In the modern era the end of the stream is the message. In the legacy one it is not, but a handshake has no other.
    if (this.sender.headers.agreement?.era !== "legacy") return post.stop();
    if (!post.answered()) this.#answeredStreams.add(post); // the rest of its stream is ignored, and not resumed
    const params = { requestId: id, reason };
    this.#notice({ jsonrpc: "2.0", method: "notifications/cancelled", params }, () => {
      post.stop();
      this.#answeredStreams.delete(post);
    });
  }

  close(grace: EndGrace): Promise<void> {
    this.#closing ??= this.#close(grace);
    return this.#closing;
  }

  /** The head of a success, before its body is read: only that of the response to `initialize` names a session. */
  onAccepted({ method }: Request, response: HttpResponse): void {
    if (method !== "initialize") return;
    const { headers } = this.sender;
    const sessionId = response.headers["mcp-session-id"];
    if (isSessionId(sessionId)) headers.converse(headers.agreement, sessionId);
    else if (sessionId !== undefined) this.#listener?.onNoise("a session id that cannot be sent back");
  }

  /** At most once for a request, and not after it was answered or stopped. */
  onUnanswered(id: RpcId, why: Exclude<Refused, { readonly kind: "answer" }>): void {
    if (this.#isGone) return;
    this.#posts.delete(id);
    if (why.kind !== "loss") this.#lostSession(why.error, id);
    else {
      this.#listener?.onRequestLost(id, why.loss);
      this.#reportLoss();
    }
  }

  /** It was answered before, and now its stream has ended too. */
  onFinished(post: Post): void {
    this.#answeredStreams.delete(post);
  }

  onIncoming(incoming: Incoming): void {
    if (this.#isGone) return;
    report(incoming, this.#listener, this.#reporting);
    this.#reportLoss();
  }

  #answered(id: RpcId): boolean {
    const post = this.#posts.get(id);
    this.#posts.delete(id);
    if (post?.answered() === false) this.#answeredStreams.add(post);
    return true;
  }

  #mustWait(message: OutgoingMessage): boolean {
    if (this.#losing) return true;
    if (this.#phase === "free" || !("method" in message)) return false;
    return this.#phase === "initializing" || ("id" in message && !NEEDS_NO_STREAM.test(message.method));
  }

  /** A notification or an answer of ours: its response does not matter, unless it is the end of the session. */
  #notice(message: OutgoingMessage, done: () => void = () => {}): void {
    this.sender.deliver(message, (delivery) => {
      if (delivery.kind === "session_lost") this.#lostSession(delivery.error);
      else if (delivery.kind === "loss") {
        const what = "method" in message ? message.method : "our answer to a request of the server";
        this.#listener?.onNoise(`${what} was not delivered: ${delivery.loss.error.message}`);
      }
      done();
    });
  }

  /** Servers drop what they would ask while there is no standing stream, so it comes before the first call. */
  #initialized(message: OutgoingMessage): void {
    if (this.sender.headers.agreement?.era === "modern") this.#notice(message);
    else {
      this.#phase = "initializing";
      this.#notice(message, () => this.#openStanding());
    }
  }

  #openStanding(): void {
    if (this.#isGone) return;
    this.#streamTimer = this.parts.world.after(MCP_LIMITS.httpStreamWaitMs, () => this.#release("free"));
    this.#release("opening_stream");
    this.#standing = new ListenStream(this.parts, this.sender, {
      onIncoming: (incoming) => this.onIncoming(incoming),
      onDecided: () => {
        this.#streamTimer?.clear();
        this.#release("free");
      },
      onGone: (error) => this.#lostSession(error),
      onNoise: (what) => this.#listener?.onNoise(what),
    });
  }

  #release(phase: "free" | "opening_stream"): void {
    this.#phase = phase;
    for (const { message, hint } of this.#held.splice(0)) this.send(message, hint);
  }

  /**
   * Other requests in progress are about to be refused for the same reason. A refused request was certainly not acted on,
   * so they get a moment for their own refusal before the transport is gone.
   */
  #lostSession(error: TenonError, id?: RpcId): void {
    if (this.#isGone) return;
    const timer =
      this.#losing?.timer ?? this.parts.world.after(MCP_LIMITS.httpSessionLossMs, () => this.#reportLoss(true));
    this.#losing ??= { error, refused: [], timer };
    if (id !== undefined) this.#losing.refused.push(id);
    this.#reportLoss();
  }

  #reportLoss(isLate = false): void {
    if (!this.#losing || this.#isGone || (this.#posts.size > 0 && !isLate)) return;
    const { error, refused } = this.#losing;
    // A request that was not sent was not acted on either.
    const unsent = this.#held.flatMap(({ message }) => ("method" in message && "id" in message ? [message.id] : []));
    this.#stopAll();
    this.sender.headers.converse(this.sender.headers.agreement, undefined);
    for (const untouched of [...unsent, ...refused]) {
      this.#listener?.onRequestLost(untouched, { error, wasSent: false });
    }
    this.#listener?.onClosed(error);
  }

  #stopAll(): void {
    this.#isGone = true;
    this.#losing?.timer.clear();
    this.#streamTimer?.clear();
    this.#standing?.stop();
    this.sender.stop();
    this.#answeredStreams.stop();
    for (const post of this.#posts.values()) post.stop();
    this.#posts.clear();
    this.#held.length = 0;
  }

  async #close(grace: EndGrace): Promise<void> {
    this.#stopAll();
    await this.sender.deleteSession(grace.stdinMs);
    this.parts.dialler.close();
    await this.parts.access?.close();
  }
}

/**
 * Requests that have their response, whose stream the server has not ended: it may, but not keep it for ever. One timer for
 * all of them, and none while there are none: most streams end with their response.
 */
class AnsweredStreams {
  readonly #world: World;
  #young = new Set<Post>();
  #old = new Set<Post>();
  #timer: Timer | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  add(item: Post): void {
    this.#young.add(item);
    this.#timer ??= this.#world.after(MCP_LIMITS.httpLingerMs, () => this.#age());
  }

  delete(item: Post): void {
    if (!this.#young.delete(item)) this.#old.delete(item);
  }

  stop(): void {
    this.#timer?.clear();
    for (const item of [...this.#young, ...this.#old]) item.stop();
    this.#young.clear();
    this.#old.clear();
  }

  #age(): void {
    for (const item of this.#old) item.stop();
    this.#old = this.#young;
    this.#young = new Set();
    this.#timer = this.#old.size === 0 ? undefined : this.#world.after(MCP_LIMITS.httpLingerMs, () => this.#age());
  }
}

interface ListenStreamHandler {
  onIncoming(incoming: Incoming): void;
  /** The first attempt is decided: there is a stream, or there is none. */
  onDecided(): void;
  /** The server has forgotten the session, or cannot be reached any more. At most once. */
  onGone(error: TenonError): void;
  onNoise(what: string): void;
}

/** The GET stream of a legacy session, on which servers send requests and notifications: reopened with backoff. */
class ListenStream {
  readonly #parts: RemoteParts;
  readonly #sender: HttpSender;
  readonly #handler: ListenStreamHandler;
  #exchange: Exchange | undefined;
  #reader: StreamReader | undefined;
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

  constructor(parts: RemoteParts, sender: HttpSender, handler: ListenStreamHandler) {
    this.#parts = parts;
    this.#sender = sender;
    this.#handler = handler;
    this.#open();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.clear();
    this.#reader?.stop();
    this.#exchange?.abort();
  }

  #open(): void {
    this.#exchange = this.#sender.get(this.#lastEventId, {
      onHead: (response) => this.#onHead(response),
      // With a status there was a response: access is denied just now, which a log-in may change.
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
    this.#openedAtMs = this.#parts.world.monotonicMs();
    this.#reader = new StreamReader(response, this.#parts, {
      onIncoming: (incoming) => this.#handler.onIncoming(incoming),
      onStreamEnd: (_, stream) => this.#ended(stream),
    });
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
    this.#sender.judge(response, undefined, (refused) => {
      if (this.#isStopped) return;
      if (refused.kind === "session_lost") this.#handler.onGone(refused.error);
      else if (status >= 500 || status === 429) this.#again(false);
      else this.#handler.onNoise(`the server no longer offers its event stream (${status})`);
    });
  }

  #ended(stream: StreamReader): void {
    if (this.#isStopped) return;
    const { lastEventId } = stream.parser;
    this.#lastEventId = lastEventId ?? this.#lastEventId;
    this.#retryMs = stream.parser.retryMs ?? this.#retryMs;
    const livedMs = this.#parts.world.monotonicMs() - this.#openedAtMs;
    // A server may close the stream and have us come back at its own pace, if that pace is no storm.
    const isPolling = (this.#retryMs ?? 0) >= MCP_LIMITS.httpReopen.firstMs && lastEventId !== undefined;
    if (livedMs >= MCP_LIMITS.httpStreamProvenMs || isPolling) {
      this.#short = 0;
      this.#fruitless = 0;
    }
    this.#again(stream.messageCount > 0);
  }

  #again(wasFruitful: boolean): void {
    const { world } = this.#parts;
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
      const { world } = this.#parts;
      const delayMs = backoffDelayMs(MCP_LIMITS.httpReopen, this.#unreachable - 1, world.random());
      this.#timer = world.after(delayMs, () => this.#open());
    }
  }
}
