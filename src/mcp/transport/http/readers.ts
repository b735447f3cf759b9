// Reads the messages of a response that succeeded: a JSON body with one, or an event stream with many.
import type { Buffer } from "node:buffer";
import type { IncomingMessage as HttpResponse } from "node:http";
import { handled } from "../../../base/async/scope.js";
import type { Timer } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import type { MessageLinesOptions } from "../large/message-lines.js";
import type { RpcId } from "../transport.js";
import { type EventSink, EventStreamParser } from "./event-stream.js";
import { type Incoming, Intake, type IntakeListener } from "./incoming.js";

interface ReaderHandler {
  onIncoming(incoming: Incoming): void;
  /** A message is over every limit; it is dropped as it comes. */
  onTooLarge?(): void;
}

export interface BodyHandler extends ReaderHandler {
  /** The body has ended, and its message, if there was one, has been reported. Exactly once, unless stopped. */
  onBodyEnd(end: "whole" | "empty" | Error): void;
}

export interface StreamHandler extends ReaderHandler {
  /** An event of another type than `message`. */
  onOther?(type: string, data: Buffer): void;
  /** The stream has ended; everything in it has been reported. Not called after `stop`. */
  onStreamEnd(error: Error | undefined, stream: StreamReader): void;
}

/** Calls back once, with the error of a response that broke off. */
function onceEnded(response: HttpResponse, onEnd: (error: Error | undefined) => void): void {
  let hasEnded = false;
  const end = (error?: Error) => {
    if (hasEnded) return;
    hasEnded = true;
    onEnd(error);
  };
  response.on("end", () => end());
  response.on("error", end);
  // Every response closes: an error, which records its stack, is made only for those that did not end.
  response.on("close", () => {
    if (!hasEnded) end(new Error("the connection was closed"));
  });
}

/** Calls back when nothing is being read any more. */
function onceSettled(intake: Intake, { world }: MessageLinesOptions, onSettled: () => void): void {
  if (intake.isIdle) onSettled();
  else handled(intake.settled().finally(onSettled), world.log, "end of a response");
}

export class BodyReader {
  readonly #intake: Intake;
  #isStopped = false;

  /** `postId`: the request whose POST this body answers. */
  constructor(response: HttpResponse, parts: MessageLinesOptions, handler: BodyHandler, postId: RpcId) {
    const intake = new Intake(
      parts,
      {
        onIncoming: (incoming) => handler.onIncoming(incoming),
        onTooLarge: () => handler.onTooLarge?.(),
        onFull: (isFull) => (isFull ? response.pause() : response.resume()),
      },
      postId,
    );
    this.#intake = intake;
    response.on("data", (chunk: Buffer) => intake.push(chunk));
    onceEnded(response, (error) => {
      if (this.#isStopped) return;
      if (error) intake.close();
      if (error || intake.isEmpty) return handler.onBodyEnd(error ?? "empty");
      intake.end();
      onceSettled(intake, parts, () => handler.onBodyEnd("whole"));
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#intake.close();
  }
}

export class StreamReader implements EventSink, IntakeListener {
  messageCount = 0;
  readonly #response: HttpResponse;
  readonly #parts: MessageLinesOptions;
  readonly #handler: StreamHandler;
  readonly parser: EventStreamParser;
  readonly #intake: Intake;
  #isFull = false;
  /** Since the first chunk of this turn of the event loop. */
  #turn: { readonly startMs: number; readonly timer: Timer } | undefined;
  #isResting = false;
  #hasTaken = false;
  #isOver = false;

  /** `postId`: the request whose POST this stream answers. */
  constructor(response: HttpResponse, parts: MessageLinesOptions, handler: StreamHandler, postId?: RpcId) {
    this.#response = response;
    this.#parts = parts;
    this.#handler = handler;
    this.#intake = new Intake(parts, this, postId);
    this.parser = new EventStreamParser(this);
    response.on("data", (chunk: Buffer) => this.#take(chunk));
    onceEnded(response, (error) => onceSettled(this.#intake, parts, () => this.#finish(error)));
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
    this.messageCount += incoming.messages.length;
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
   * A server that floods us gets its share of a turn, so that others get theirs. Measured by the clock from its second chunk
   * on: a flood of small chunks keeps Node itself busy, not only us. Most streams are one chunk, with one response.
   */
  #take(chunk: Buffer): void {
    if (this.#isOver) return;
    if (!this.#hasTaken) {
      this.#hasTaken = true;
      this.parser.push(chunk);
      return;
    }
    const { world } = this.#parts;
    this.#turn ??= { startMs: world.monotonicMs(), timer: world.after(0, () => this.#nextTurn()) };
    this.parser.push(chunk);
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

  #finish(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#turn?.timer.clear();
    this.#handler.onStreamEnd(error, this);
  }
}
