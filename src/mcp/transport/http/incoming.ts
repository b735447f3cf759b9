// From the bytes of a response to JSON-RPC messages: short ones are parsed at once, long ones like those of stdio.
import { Buffer } from "node:buffer";
import type { IncomingMessage as HttpResponse } from "node:http";
import type { TenonError } from "../../../base/errors.js";
import { isJsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import { MCP_LIMITS } from "../../limits.js";
import { MessageLines, type MessageLinesOptions } from "../large/message-lines.js";
import type { IncomingMessage, RpcId, TransportListener } from "../transport.js";
import { emptyAnswerError, emptyAnswerId, readMessage } from "../transport.js";

export interface Incoming {
  readonly messages: readonly IncomingMessage[];
  /** Describes anything else that was in it. */
  readonly noise?: string;
  /** A response that came and could not be read. */
  readonly unread?: { readonly id: RpcId; readonly error: TenonError };
}

/**
 * `postId` is the request whose POST this answers, if any: servers leave the id of errors out or null, and over HTTP the
 * POST itself tells which request they belong to.
 */
function incomingOf(value: JsonValue, postId: RpcId | undefined): Incoming {
  const whole = readMessage(value);
  if (whole) return { messages: [whole] };
  // Batches: the version of 2025-03-26 had them, and servers of that time still send them.
  const values = Array.isArray(value) ? value : [value];
  const messages: IncomingMessage[] = [];
  let strangers = 0;
  let emptyId: RpcId | undefined;
  for (const item of values) {
    const isWithoutId = isJsonObject(item) && (item["id"] ?? null) === null;
    const message = readMessage(item) ?? (isWithoutId ? errorOf(item, postId) : undefined);
    if (message) messages.push(message);
    else {
      emptyId ??= emptyAnswerId(item);
      strangers += 1;
    }
  }
  return {
    messages,
    ...(strangers === 0 ? {} : { noise: `${strangers} that were no JSON-RPC messages` }),
    ...(emptyId === undefined ? {} : { unread: { id: emptyId, error: emptyAnswerError() } }),
  };
}

function errorOf(value: JsonValue, postId: RpcId | undefined): IncomingMessage | undefined {
  if (postId === undefined || !isJsonObject(value)) return undefined;
  const message = readMessage({ ...value, id: postId });
  return message?.kind === "error" ? message : undefined;
}

/** A JSON-RPC error in a body, whatever its id: it is about the POST it answers. */
export function readErrorFor(bytes: Buffer, postId: RpcId): IncomingMessage | undefined {
  const parsed = parseJson(textOf(bytes));
  return parsed.ok ? errorOf(parsed.value, postId) : undefined;
}

export interface Reporting {
  /** The transport ended meanwhile. */
  readonly isGone: () => boolean;
  /** A request has its response. False: nothing waits for it. */
  readonly answered: (id: RpcId) => boolean;
}

/** Hands everything of it to the listener. */
export function report(
  { messages, noise, unread }: Incoming,
  listener: TransportListener | undefined,
  { isGone, answered }: Reporting,
): void {
  for (const message of messages) {
    if (message.kind === "result" || message.kind === "error") answered(message.id);
    listener?.onMessage(message);
    if (isGone()) return;
  }
  if (noise !== undefined) listener?.onNoise(noise);
  if (unread && answered(unread.id)) listener?.onRequestLost(unread.id, { error: unread.error, wasSent: true });
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

function textOf(bytes: Buffer): string {
  return (bytes[0] === BOM[0] && bytes.subarray(0, 3).equals(BOM) ? bytes.subarray(3) : bytes).toString("utf8");
}

export interface IntakeListener {
  onIncoming(incoming: Incoming): void;
  /** More than can be handled at the moment: the source should wait until it is called with false. */
  onFull(isFull: boolean): void;
  /** The message in progress is over every limit: the rest of it is dropped as it comes. Once a message. */
  onTooLarge(): void;
}

const LF = 0x0a;
const SPACE = 0x20;
const LINE_END: Buffer = Buffer.from("\n");

/** Takes the bytes of one message after the other. */
export class Intake {
  readonly #parts: MessageLinesOptions;
  readonly #listener: IntakeListener;
  readonly #postId: RpcId | undefined;
  readonly #short = new Gathered(MCP_LIMITS.messagePlainBytes);
  #long: MessageLines | undefined;
  #isInLong = false;
  #bytes = 0;

  constructor(parts: MessageLinesOptions, listener: IntakeListener, postId?: RpcId) {
    this.#parts = parts;
    this.#listener = listener;
    this.#postId = postId;
  }

  /** The next bytes of the message in progress. */
  push(bytes: Buffer): void {
    const isWithin = this.#bytes <= MCP_LIMITS.mcpMaxLineBytes;
    this.#bytes += bytes.length;
    if (!this.#isInLong && this.#short.length + bytes.length <= MCP_LIMITS.messagePlainBytes)
      return this.#short.add(bytes);
    const long = (this.#long ??= this.#lines());
    if (!this.#isInLong) long.push(onOneLine(this.#short.take()));
    this.#isInLong = true;
    long.push(onOneLine(bytes));
    if (isWithin && this.#bytes > MCP_LIMITS.mcpMaxLineBytes) this.#listener.onTooLarge();
  }

  /** The message is whole. It is reported now, or when it has been read. */
  end(): void {
    this.#bytes = 0;
    if (this.#isInLong) {
      this.#isInLong = false;
      this.#long?.push(LINE_END);
      return;
    }
    const parsed = parseJson(textOf(this.#short.take()));
    const noise = parsed.ok ? "" : `it is not JSON: ${parsed.reason}`;
    this.#listener.onIncoming(parsed.ok ? incomingOf(parsed.value, this.#postId) : { messages: [], noise });
  }

  /** Removes the bytes since the last end, which turned out to be no message. Of a long one nothing is returned. */
  take(): Buffer {
    this.#bytes = 0;
    if (this.#isInLong) {
      this.close();
      this.#long = undefined;
      this.#isInLong = false;
    }
    return this.#short.take();
  }

  get isEmpty(): boolean {
    return this.#short.isEmpty && !this.#isInLong;
  }

  /** Everything that was whole has been reported. */
  get isIdle(): boolean {
    return this.#long === undefined;
  }

  /** Resolves when nothing is being read any more. A message that is not whole by then is dropped. */
  async settled(): Promise<void> {
    await this.#long?.end();
  }

  close(): void {
    this.#long?.close();
  }

  #lines(): MessageLines {
    return new MessageLines(this.#parts, {
      onValue: (value) => this.#listener.onIncoming(incomingOf(value, this.#postId)),
      onLost: (id, error) => this.#listener.onIncoming({ messages: [], unread: { id, error } }),
      onNoise: (noise) => this.#listener.onIncoming({ messages: [], noise }),
      onFull: (isFull) => this.#listener.onFull(isFull),
    });
  }
}

/** Between the values of JSON a newline is no more than a space, and inside of them there is none. */
function onOneLine(bytes: Buffer): Buffer {
  let at = bytes.indexOf(LF);
  if (at === -1) return bytes;
  const own = Buffer.from(bytes);
  for (; at !== -1; at = own.indexOf(LF, at + 1)) own[at] = SPACE;
  return own;
}

export type Body =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  /** Over the cap; what was read is dropped and the rest is not waited for. */
  | { readonly kind: "too_large" }
  /** It broke off. */
  | { readonly kind: "broken"; readonly error: Error };

/** `done` is called exactly once, unless the answer is destroyed from our side. */
export function readBody(response: HttpResponse, maxBytes: number, done: (body: Body) => void): void {
  const gathered = new Gathered(maxBytes);
  let isDone = false;
  const end = (body: Body) => {
    if (isDone) return;
    isDone = true;
    done(body);
  };
  response.on("data", (chunk: Buffer) => {
    if (isDone) return;
    gathered.add(chunk);
    if (gathered.droppedBytes === 0) return;
    end({ kind: "too_large" });
    response.destroy();
  });
  response.on("end", () => end({ kind: "whole", bytes: gathered.take() }));
  response.on("error", (error: Error) => end({ kind: "broken", error }));
  response.on("close", () => end({ kind: "broken", error: new Error("the connection was closed") }));
  if (Number(response.headers["content-length"] ?? 0) <= maxBytes) return;
  end({ kind: "too_large" });
  response.destroy();
}

/** Discards a body, so that its connection can be used again; a long one ends the connection instead. */
export function drain(response: HttpResponse): void {
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MCP_LIMITS.httpMaxErrorBytes) response.destroy();
  });
}

/** The media type without its parameters, in lower case; empty when there is none. */
export function mediaType(response: HttpResponse): string {
  const given = response.headers["content-type"] ?? "";
  if (given === "application/json" || given === "text/event-stream") return given; // every call asks
  return given.split(";")[0]?.trim().toLowerCase() ?? "";
}

const NOTHING: Buffer = Buffer.alloc(0);

/** Joins bytes that come in pieces, in linear time and capped. A first piece is kept as it is; later ones are copied to it. */
export class Gathered {
  droppedBytes = 0;
  length = 0;
  readonly #maxBytes: number;
  #bytes: Buffer = NOTHING;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.length === 0 && this.droppedBytes === 0;
  }

  add(piece: Buffer): void {
    if (this.droppedBytes > 0 || this.length + piece.length > this.#maxBytes) {
      this.droppedBytes += this.length + piece.length;
      this.#bytes = NOTHING;
      this.length = 0;
      return;
    }
    if (this.length === 0) this.#bytes = piece;
    else this.#append(piece);
    this.length += piece.length;
  }

  /** All of it, with this last piece. */
  with(last: Buffer): Buffer {
    if (last.length > 0) this.add(last);
    return this.peek();
  }

  /** The bytes so far. */
  peek(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  /** All of it, and nothing is kept. */
  take(): Buffer {
    const all = this.peek();
    this.#bytes = NOTHING;
    this.length = 0;
    this.droppedBytes = 0;
    return all;
  }

  #append(piece: Buffer): void {
    const wanted = this.length + piece.length;
    // Always so after the first piece, whose memory is not ours to write to.
    if (wanted > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(wanted, this.length * 2), this.#maxBytes));
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
    }
    piece.copy(this.#bytes, this.length);
  }
}
