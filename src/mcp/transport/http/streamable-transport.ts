// Streamable HTTP in both eras: one POST per message, answers on whatever stream they come, a standing stream for legacy.
import type { IncomingMessage as HttpResponse } from "node:http";
import type { TenonError } from "../../../base/errors.js";
import type { EndGrace } from "../../../base/io/process.js";
import type { Timer, World } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import type { OutgoingMessage, RpcId } from "../json-rpc.js";
import type { Agreement, SendHint, Transport, TransportListener } from "../transport.js";
import { AnsweredStreams, type Stoppable } from "./answered-streams.js";
import type { PostChannel, Request, Unanswered } from "./channel.js";
import type { HttpHandler, OpenRequest } from "./exchange.js";
import { isSessionId } from "./headers.js";
import { type Delivery, HttpSender, type RemoteParts } from "./http-sender.js";
import type { Incoming } from "./incoming.js";
import { ListenStream } from "./listen-stream.js";
import { Post } from "./post.js";
import type { Refused } from "./refusal.js";

/** Lists need no stream for what a server might ask meanwhile; everything else may. */
const NEEDS_NO_STREAM = /(^ping$|\/list$)/u;

interface Held {
  readonly message: OutgoingMessage;
  readonly hint: SendHint | undefined;
}

export class StreamableTransport implements Transport, PostChannel {
  readonly stderrTail = "";
  readonly world: World;
  readonly folder: () => string;
  readonly #parts: RemoteParts;
  readonly #sender: HttpSender;
  /** Requests that wait for their answer. */
  readonly #posts = new Map<RpcId, Post>();
  /** Requests that have it, whose stream the server has not ended yet. */
  readonly #answeredStreams: AnsweredStreams;
  readonly #held: Held[] = [];
  /** The session is lost; the requests that were refused for it, and who is still waited for before it is told. */
  #losing: { readonly error: TenonError; readonly refused: RpcId[]; readonly timer: Timer } | undefined;
  #listener: TransportListener | undefined;
  #standing: ListenStream | undefined;
  #streamTimer: Timer | undefined;
  /** After `initialized`: until the server has taken it, then until the standing stream is there or is not to come. */
  #phase: "free" | "initializing" | "opening_stream" = "free";
  #isGone = false;
  #closing: Promise<void> | undefined;

  constructor(parts: RemoteParts) {
    this.#parts = parts;
    this.world = parts.world;
    this.folder = parts.folder;
    this.#sender = new HttpSender(parts);
    this.#answeredStreams = new AnsweredStreams(parts.world);
  }

  get sessionId(): string | undefined {
    return this.#sender.sessionId;
  }

  get mayResume(): boolean {
    return this.#sender.agreement?.era !== "modern";
  }

  start(listener: TransportListener): void {
    this.#listener = listener;
  }

  agreed(agreement: Agreement): void {
    this.#sender.agreement = agreement;
    if (agreement.era === "modern") this.#sender.sessionId = undefined; // some servers name one all the same
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
    if (this.#sender.agreement?.era !== "legacy") {
      post.stop();
      return;
    }
    if (!post.answered()) this.#answeredStreams.add(post); // what still comes is for nobody, and nothing is resumed
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

  post(request: Request, hint: SendHint | undefined, handler: HttpHandler): OpenRequest {
    return this.#sender.post(request, hint, handler);
  }

  /** Only the headers of the answer to `initialize` name a session. */
  accepted(request: Request, response: HttpResponse): void {
    if (request.method === "initialize") this.#takeSession(response);
  }

  unanswered(id: RpcId, why: Unanswered): void {
    if (this.#isGone) return;
    this.#posts.delete(id);
    if (why.kind !== "loss") this.#lostSession(why.error, id);
    else {
      this.#listener?.onRequestLost(id, why.loss);
      this.#tellLoss();
    }
  }

  finished(post: Stoppable): void {
    this.#answeredStreams.delete(post);
  }

  openStream(lastEventId: string | undefined, handler: HttpHandler): OpenRequest {
    return this.#sender.get(lastEventId, handler);
  }

  hear(incoming: Incoming): void {
    if (this.#isGone) return;
    for (const message of incoming.messages) {
      if (message.kind === "result" || message.kind === "error") this.#answered(message.id);
      this.#listener?.onMessage(message);
      if (this.#isGone) return;
    }
    const { noise, unread } = incoming;
    if (noise !== undefined) this.#listener?.onNoise(noise);
    if (unread) {
      this.#answered(unread.id);
      this.#listener?.onRequestLost(unread.id, { error: unread.error, wasSent: true });
    }
    this.#tellLoss();
  }

  judge(response: HttpResponse, id: RpcId | undefined, done: (refused: Refused) => void): void {
    this.#sender.judge(response, id, done);
  }

  #answered(id: RpcId): void {
    const post = this.#posts.get(id);
    if (!post) return;
    this.#posts.delete(id);
    if (!post.answered()) this.#answeredStreams.add(post);
  }

  #mustWait(message: OutgoingMessage): boolean {
    if (this.#losing) return true;
    if (this.#phase === "free" || !("method" in message)) return false;
    return this.#phase === "initializing" || ("id" in message && !NEEDS_NO_STREAM.test(message.method));
  }

  #takeSession(response: HttpResponse): void {
    const sessionId = response.headers["mcp-session-id"];
    if (isSessionId(sessionId)) this.#sender.sessionId = sessionId;
    else if (sessionId !== undefined) this.#listener?.onNoise("a session id that cannot be sent back");
  }

  /** A notification or an answer: nobody waits for what comes back, unless it is the end of the session. */
  #notice(message: OutgoingMessage, done: () => void = () => {}): void {
    this.#sender.deliver(message, (delivery) => {
      this.#delivered(message, delivery);
      done();
    });
  }

  #delivered(message: OutgoingMessage, delivery: Delivery): void {
    if (delivery.kind === "session_lost") this.#lostSession(delivery.error);
    else if (delivery.kind === "undelivered") {
      const what = "method" in message ? message.method : "our answer to a request of the server";
      this.#listener?.onNoise(`${what} was not delivered: ${delivery.loss.error.message}`);
    }
  }

  /** Servers drop what they would ask while there is no standing stream, so it comes before the first call. */
  #initialized(message: OutgoingMessage): void {
    if (this.#sender.agreement?.era === "modern") this.#notice(message);
    else {
      this.#phase = "initializing";
      this.#notice(message, () => this.#openStanding());
    }
  }

  #openStanding(): void {
    if (this.#isGone) return;
    this.#streamTimer = this.world.after(MCP_LIMITS.httpStreamWaitMs, () => this.#release("free"));
    this.#release("opening_stream");
    this.#standing = new ListenStream(this, {
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
   * What else is under way is about to be refused for the same reason, and what was refused has certainly not been acted
   * on: it gets a moment to hear that for itself before the transport is gone.
   */
  #lostSession(error: TenonError, id?: RpcId): void {
    if (this.#isGone) return;
    const timer = this.#losing?.timer ?? this.world.after(MCP_LIMITS.httpSessionLossMs, () => this.#tellLoss(true));
    this.#losing ??= { error, refused: [], timer };
    if (id !== undefined) this.#losing.refused.push(id);
    this.#tellLoss();
  }

  #tellLoss(isLate = false): void {
    if (!this.#losing || this.#isGone || (this.#posts.size > 0 && !isLate)) return;
    const { error, refused } = this.#losing;
    // What has not left has not been acted on either.
    const unsent = this.#held.flatMap(({ message }) => ("method" in message && "id" in message ? [message.id] : []));
    this.#stopAll();
    this.#sender.sessionId = undefined;
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
    this.#sender.stop();
    this.#answeredStreams.stop();
    for (const post of this.#posts.values()) post.stop();
    this.#posts.clear();
    this.#held.length = 0;
  }

  async #close(grace: EndGrace): Promise<void> {
    this.#stopAll();
    await this.#sender.deleteSession(grace.stdinMs);
    this.#parts.dialler.close();
    await this.#parts.dispose();
  }
}
