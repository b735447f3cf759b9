// Turns the body of an event stream into messages and says when and how it ended, without taking more than its turn.
import type { Buffer } from "node:buffer";
import type { IncomingMessage as HttpResponse } from "node:http";
import { handled } from "../../../base/async/scope.js";
import type { Timer } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import type { RpcId } from "../json-rpc.js";
import { type EventSink, EventStreamParser } from "./event-stream.js";
import type { Incoming } from "./incoming.js";
import { Intake, type IntakeListener, type IntakeParts } from "./intake.js";

export interface PumpHandler {
  onIncoming(incoming: Incoming): void;
  /** An event of another name than `message`. */
  onOther?(type: string, data: Buffer): void;
  /** A message is over every limit; it is dropped as it comes. */
  onTooLarge?(): void;
  /** The stream is over; everything in it has been told. Not called after `stop`. */
  onEnd(error: Error | undefined, pump: EventPump): void;
}

export class EventPump implements EventSink, IntakeListener {
  readonly #response: HttpResponse;
  readonly #parts: IntakeParts;
  readonly #handler: PumpHandler;
  readonly #parser: EventStreamParser;
  readonly #intake: Intake;
  #isFull = false;
  /** Since the first chunk of this turn of the event loop. */
  #turn: { readonly startMs: number; readonly timer: Timer } | undefined;
  #isResting = false;
  #hasTaken = false;
  #hasEnded = false;
  #isOver = false;
  #messageCount = 0;

  /** `postId`: the request whose POST this stream answers. */
  constructor(response: HttpResponse, parts: IntakeParts, handler: PumpHandler, postId?: RpcId) {
    this.#response = response;
    this.#parts = parts;
    this.#handler = handler;
    this.#intake = new Intake(parts, this, postId);
    this.#parser = new EventStreamParser(this);
    response.on("data", (chunk: Buffer) => this.#take(chunk));
    response.on("end", () => this.#ended(undefined));
    response.on("error", (error: Error) => this.#ended(error));
    response.on("close", () => this.#closed());
  }

  get lastEventId(): string | undefined {
    return this.#parser.lastEventId;
  }

  get retryMs(): number | undefined {
    return this.#parser.retryMs;
  }

  get messageCount(): number {
    return this.#messageCount;
  }

  stop(): void {
    this.#isOver = true;
    this.#turn?.timer.clear();
    this.#intake.close();
    this.#response.destroy();
  }

  onData(bytes: Buffer): void {
    this.#intake.push(bytes);
  }

  onEvent(type: string, hasData: boolean): void {
    if (this.#isOver || !hasData) return;
    if (type !== "message") this.#handler.onOther?.(type, this.#intake.take());
    else if (!this.#intake.isEmpty) this.#intake.end();
  }

  onIncoming(incoming: Incoming): void {
    if (this.#isOver) return;
    this.#messageCount += incoming.messages.length;
    this.#handler.onIncoming(incoming);
  }

  onFull(isFull: boolean): void {
    this.#isFull = isFull;
    if (isFull) this.#response.pause();
    else if (!this.#isResting) this.#response.resume();
  }

  onTooLarge(): void {
    this.#handler.onTooLarge?.();
  }

  /**
   * One server that floods us gets its share of a turn, and the others theirs. Taken by the clock from its second chunk
   * on: a flood of small chunks keeps Node itself busy, not only us. Most streams are one chunk, with one answer.
   */
  #take(chunk: Buffer): void {
    if (this.#isOver) return;
    if (!this.#hasTaken) {
      this.#hasTaken = true;
      this.#parser.push(chunk);
      return;
    }
    const { world } = this.#parts;
    this.#turn ??= { startMs: world.monotonicMs(), timer: world.after(0, () => this.#nextTurn()) };
    this.#parser.push(chunk);
    if (this.#isOver || world.monotonicMs() - this.#turn.startMs <= MCP_LIMITS.streamTurnMs) return;
    this.#isResting = true;
    this.#response.pause();
  }

  #nextTurn(): void {
    this.#turn = undefined;
    if (!this.#isResting) return;
    this.#isResting = false;
    if (!this.#isFull) this.#response.resume();
  }

  #ended(error: Error | undefined): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#intake.isIdle) this.#finish(error);
    else
      handled(
        this.#intake.settled().finally(() => this.#finish(error)),
        this.#parts.world.log,
        "end of an event stream",
      );
  }

  #closed(): void {
    if (!this.#hasEnded) this.#ended(new Error("the connection was closed"));
  }

  #finish(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#turn?.timer.clear();
    this.#handler.onEnd(error, this);
  }
}
