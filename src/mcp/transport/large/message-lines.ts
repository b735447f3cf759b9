// Messages out of a byte stream, one per line: short ones at once, long ones by way of a thread, endless ones not at all.
import { Buffer, isAscii } from "node:buffer";
import { handled } from "../../../base/async/scope.js";
import { messageOf, TenonError } from "../../../base/errors.js";
import type { JsonValue } from "../../../base/json/json.js";
import { isJsonObject, isTooDeep, mayBeDeep, parseJson, tooDeepReason } from "../../../base/json/json.js";
import type { World } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import type { MessageEnds, RpcId } from "../transport.js";
import { LargeMessage } from "./large-message.js";

const NEWLINE = 0x0a;
/** Smaller pieces of a line are gathered: a list of tiny buffers would cost far more than their bytes. */
const GATHER_BYTES = 16_384;
const MAX_FINISHING = 2;
/** Up to this a look at the bytes costs more than it saves. */
const SHORT_BYTES = 4_096;

export interface LineListener {
  onValue(value: JsonValue): void;
  /** A long message is whole and is read next. */
  onWhole?(ends: MessageEnds): void;
  /** An answer that came and could not be read. */
  onLost(id: RpcId, error: TenonError): void;
  onNoise(what: string): void;
  /** More than can be handled at the moment: the source should wait until the opposite is said. */
  onFull(isFull: boolean): void;
}

export interface MessageLinesOptions {
  readonly world: World;
  /** A folder for what is too long for memory. */
  readonly folder: () => string;
}

/** The line under way, once it is too long to be parsed in passing. */
interface LongLine {
  readonly head: string;
  tail: Buffer;
  /** A text: why it cannot be read. Then it is only searched for its end. */
  message: LargeMessage | string;
}

export class MessageLines {
  readonly #options: MessageLinesOptions;
  readonly #listener: LineListener;
  /** The start of a line whose end has not come, and its size so far. */
  #held: Buffer[] = [];
  #bytes = 0;
  /** The last of `held` while it has room for more small pieces, and how much of it is used. */
  #gathering: Buffer | undefined;
  #gathered = 0;
  #long: LongLine | undefined;
  readonly #finishing = new Set<LargeMessage>();
  #isBehind = false;
  #isClosed = false;

  constructor(options: MessageLinesOptions, listener: LineListener) {
    this.#options = options;
    this.#listener = listener;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      if (this.#bytes === 0) this.#read(chunk, start, end);
      else {
        this.#hold(chunk.subarray(start, end));
        this.#endLine();
      }
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(start === 0 ? chunk : chunk.subarray(start));
  }

  /** The stream is over: what came without a newline may still be a message. Resolves when nothing is being read any more. */
  async end(): Promise<void> {
    if (this.#bytes > 0) this.#endLine();
    await Promise.all([...this.#finishing].map((message) => message.settled));
  }

  /** Whether a long message is on its way through a thread. */
  get isBusy(): boolean {
    return this.#long !== undefined || this.#finishing.size > 0;
  }

  /** The listener is not called any more. */
  close(): void {
    this.#isClosed = true;
    if (this.#long?.message instanceof LargeMessage) this.#long.message.abandon();
    for (const message of this.#finishing) message.abandon();
  }

  #read(bytes: Buffer, start: number, end: number): void {
    const size = end - start;
    if (size > SHORT_BYTES) this.#readLong(bytes.subarray(start, end));
    else if (size > 0) this.#parse(bytes.toString("utf8", start, end));
  }

  #readLong(line: Buffer): void {
    this.#listener.onWhole?.(endsOf(line));
    const isQuick = line.length <= MCP_LIMITS.messagePlainBytes || isQuicklyParsed(line, MCP_LIMITS.messageParseMs);
    if (isQuick) this.#parse(textOf(line));
    else this.#readInThread(line);
  }

  #parse(text: string): void {
    let value: JsonValue;
    try {
      value = JSON.parse(text);
    } catch {
      this.#parseStrange(text);
      return;
    }
    if (mayBeDeep(text.length) && isTooDeep(value)) this.#refuseDeep(value);
    else this.#listener.onValue(value);
  }

  #refuseDeep(value: JsonValue): void {
    const id = isJsonObject(value) && value["method"] === undefined ? value["id"] : undefined;
    if (typeof id === "string" || typeof id === "number")
      this.#listener.onLost(id, new TenonError("mcp.protocol", tooDeepReason()));
    else this.#listener.onNoise(tooDeepReason());
  }

  /** Servers print banners and debug lines; a byte order mark and empty lines are no noise. */
  #parseStrange(text: string): void {
    const trimmed = text.trim();
    if (trimmed === "") return;
    const parsed = parseJson(trimmed);
    if (parsed.ok) this.#listener.onValue(parsed.value);
    else this.#listener.onNoise(`no JSON: ${trimmed.slice(0, 200)}`); // also where it is too deep
  }

  #hold(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#long) this.#feed(this.#long, part);
    else {
      this.#keep(part);
      if (this.#bytes > MCP_LIMITS.messageInlineBytes) this.#becomeLong();
    }
  }

  #keep(part: Buffer): void {
    if (part.length >= GATHER_BYTES) {
      this.#closeGathering();
      this.#held.push(part);
      return;
    }
    if (!this.#gathering || this.#gathered + part.length > this.#gathering.length) {
      this.#closeGathering();
      this.#gathering = Buffer.allocUnsafe(GATHER_BYTES * 2);
      this.#gathered = 0;
    }
    part.copy(this.#gathering, this.#gathered);
    this.#gathered += part.length;
  }

  #closeGathering(): void {
    if (this.#gathering) this.#held.push(this.#gathering.subarray(0, this.#gathered));
    this.#gathering = undefined;
  }

  #takeHeld(): Buffer[] {
    this.#closeGathering();
    const held = this.#held;
    this.#held = [];
    return held;
  }

  #endLine(): void {
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (this.#long) return this.#endLong(this.#long, bytes);
    const held = this.#takeHeld();
    const whole = held.length === 1 && held[0] ? held[0] : Buffer.concat(held, bytes);
    this.#read(whole, 0, bytes);
  }

  #becomeLong(): void {
    const held = this.#takeHeld();
    const head = Buffer.concat(held, END_BYTES).toString("utf8");
    this.#long = { head, tail: Buffer.alloc(0), message: this.#startMessage() };
    for (const part of held) this.#feed(this.#long, part);
  }

  /** Or why there is none: the temporary folder cannot be written, or the system gives no thread. */
  #startMessage(): LargeMessage | string {
    const { world, folder } = this.#options;
    try {
      return new LargeMessage({ world, folder: folder(), onRoom: () => this.#reportRoom(false) });
    } catch (error) {
      return `could not be read: ${messageOf(error)}`;
    }
  }

  #feed(long: LongLine, part: Buffer): void {
    long.tail = Buffer.from(Buffer.concat([long.tail, part.subarray(-END_BYTES)]).subarray(-END_BYTES));
    if (typeof long.message === "string") return;
    if (this.#bytes > MCP_LIMITS.mcpMaxLineBytes) {
      long.message.abandon();
      long.message = `is over the limit of ${MCP_LIMITS.mcpMaxLineBytes} and was dropped`;
    } else if (!long.message.push(part)) this.#reportRoom(true);
  }

  #readInThread(line: Buffer): void {
    const message = this.#startMessage();
    if (message instanceof LargeMessage && !message.push(line)) this.#reportRoom(true);
    this.#finish(message, endsOf(line), line.length);
  }

  #endLong({ head, tail, message }: LongLine, bytes: number): void {
    this.#long = undefined;
    this.#finish(message, { head, tail: tail.toString("utf8") }, bytes);
  }

  #finish(message: LargeMessage | string, ends: MessageEnds, bytes: number): void {
    if (typeof message === "string") return this.#lose(ends, bytes, message);
    this.#finishing.add(message);
    this.#reportRoom(this.#isBehind);
    const delivered = message.end().then(
      (value) => {
        this.#finished(message);
        if (!this.#isClosed) this.#listener.onValue(value);
      },
      (error: unknown) => {
        this.#finished(message);
        if (!this.#isClosed) this.#lose(ends, bytes, `could not be read: ${messageOf(error)}`);
      },
    );
    handled(delivered, this.#options.world.log, "deliver a long message");
  }

  #finished(message: LargeMessage): void {
    this.#finishing.delete(message);
    this.#reportRoom(this.#isBehind);
  }

  /** Also while two are being finished: each has a thread, and no server gets more than that. */
  #reportRoom(isBehind: boolean): void {
    this.#isBehind = isBehind;
    if (!this.#isClosed) this.#listener.onFull(isBehind || this.#finishing.size >= MAX_FINISHING);
  }

  #lose(ends: MessageEnds, bytes: number, why: string): void {
    const id = answeredId(ends);
    const what = `a message of ${bytes} bytes ${why}`;
    if (id === undefined) this.#listener.onNoise(what);
    else this.#listener.onLost(id, new TenonError("mcp.too_large", what));
  }
}

/** Latin-1 is three times as fast where it gives the same. */
function textOf(line: Buffer): string {
  return line.toString(isAscii(line) ? "latin1" : "utf8");
}

/** `{"jsonrpc":"2.0","id":7,…`: as most write it. */
const AT_START = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,200}")\s*,/;
/** `…,"jsonrpc":"2.0","id":7}`: as the SDKs write results. Only the message itself ends in a single bracket after its id. */
const AT_END = /"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;
/** A request or notification answers nothing. */
const IS_METHOD = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*[^,]{1,200},\s*)?"method"\s*:/;

/** So much of each end is enough to find the id. */
const END_BYTES = 1_024;

function endsOf(line: Buffer): MessageEnds {
  return {
    head: line.toString("utf8", 0, END_BYTES),
    tail: line.toString("utf8", Math.max(0, line.length - END_BYTES)),
  };
}

export function answeredId({ head, tail }: MessageEnds): RpcId | undefined {
  if (IS_METHOD.test(head)) return undefined;
  const [, found] = AT_END.exec(tail) ?? AT_START.exec(head) ?? [];
  if (found === undefined) return undefined;
  return found.startsWith('"') ? found.slice(1, -1) : Number(found);
}

/** Measured on Node 20, rounded up. Containers are what makes JSON slow: `[[[[…` takes 160 ns for each. */
const NS_PER_CONTAINER = 160;
const NS_PER_VALUE = 20;
const NS_PER_STRING = 60;
const NS_PER_ASCII_BYTE = 2;
const NS_PER_OTHER_BYTE = 8;

/** True when parsing these bytes is likely to take less than `maxMs`. Strings are jumped over, so long ones cost nothing. */
export function isQuicklyParsed(bytes: Buffer, maxMs: number): boolean {
  const budget = maxMs * 1_000_000;
  let cost = bytes.length * (isAscii(bytes) ? NS_PER_ASCII_BYTE : NS_PER_OTHER_BYTE);
  for (let at = 0; at < bytes.length && cost <= budget; at++) {
    switch (bytes[at]) {
      case 0x22:
        at = closingQuote(bytes, at + 1);
        cost += NS_PER_STRING;
        break;
      case 0x5b:
      case 0x7b:
        cost += NS_PER_CONTAINER;
        break;
      case 0x2c:
        cost += NS_PER_VALUE;
        break;
      default:
    }
  }
  return cost <= budget;
}

function closingQuote(bytes: Buffer, from: number): number {
  for (let quote = bytes.indexOf(0x22, from); quote !== -1; quote = bytes.indexOf(0x22, quote + 1)) {
    let slashes = 0;
    while (bytes[quote - 1 - slashes] === 0x5c) slashes++;
    if (slashes % 2 === 0) return quote;
  }
  return bytes.length;
}
