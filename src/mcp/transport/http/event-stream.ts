// Reads `text/event-stream` from bytes, however they are cut: linear in the input, and nothing of an event's data is held.
import { Buffer } from "node:buffer";
import { Gathered } from "./incoming.js";

export interface EventSink {
  /** The next bytes of the event's data: a part of a chunk, not a copy. */
  onData(bytes: Buffer): void;
  /** The event is complete. `hasData` is false for events that only set an id: servers prime streams with them. */
  onEvent(type: string, hasData: boolean): void;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM: Buffer = Buffer.from([0xef, 0xbb, 0xbf]);
const NEWLINE: Buffer = Buffer.from("\n");
const DATA: Buffer = Buffer.from("data");
const EVENT: Buffer = Buffer.from("event");
const ID: Buffer = Buffer.from("id");
const RETRY: Buffer = Buffer.from("retry");
/** A line that is no data: longer ones are left out. */
const MAX_LINE_BYTES = 65_536;
/** Node's servers take 16 KB of headers in all. */
const MAX_ID_BYTES = 4_096;

export class EventStreamParser {
  /**
   * The id of the last event that was complete and had one, as a header says it: where a broken stream can be taken up
   * again. Undefined after an id that no header can carry, and after an empty one, which takes the id back.
   */
  lastEventId: string | undefined;
  /** The last `retry` of the server. */
  retryMs: number | undefined;
  readonly #sink: EventSink;
  /** The start of a line whose end has not come, unless it is data, which is passed on as it comes. */
  #line: Gathered | undefined;
  #isInData = false;
  #hasData = false;
  #type = "";
  #pendingId: string | undefined;
  #skipsLf = false;
  #isFirstLine = true;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  /** An event that is not ended by an empty line before the stream ends is never reported, as the standard requires. */
  push(chunk: Buffer): void {
    let start = 0;
    if (this.#skipsLf && chunk.length > 0) {
      if (chunk[0] === LF) start = 1;
      this.#skipsLf = false;
    }
    let lf = chunk.indexOf(LF, start);
    let cr = chunk.indexOf(CR, start);
    for (;;) {
      // Each is searched for again only once it is passed: otherwise a chunk of many lines would be scanned once per line.
      if (lf !== -1 && lf < start) lf = chunk.indexOf(LF, start);
      if (cr !== -1 && cr < start) cr = chunk.indexOf(CR, start);
      const end = lf === -1 ? cr : cr === -1 ? lf : Math.min(lf, cr);
      if (end === -1) break;
      this.#endLine(chunk, start, end);
      start = end + 1;
      if (end !== cr) continue;
      if (start === chunk.length) this.#skipsLf = true;
      else if (chunk[start] === LF) start += 1;
    }
    if (start < chunk.length) this.#addToLine(chunk.subarray(start));
  }

  #addToLine(piece: Buffer): void {
    if (this.#isInData) return this.#sink.onData(piece);
    this.#line ??= new Gathered(MAX_LINE_BYTES);
    this.#line.add(piece);
    const start = this.#line.peek();
    const known = this.#isFirstLine && hasBom(start) ? start.subarray(BOM.length) : start;
    // One byte more than the name and its colon, since a space after them does not belong to the data.
    const value = DATA.length + 1;
    if (known.length <= value || known[DATA.length] !== COLON || !startsWith(known, 0, DATA)) return;
    this.#isInData = true;
    this.#isFirstLine = false;
    this.#startData(known.subarray(known[value] === SPACE ? value + 1 : value));
    this.#line = undefined;
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    if (this.#isInData) {
      this.#isInData = false;
      if (end > start) this.#sink.onData(chunk.subarray(start, end));
      return;
    }
    if (!this.#line && !this.#isFirstLine) return this.#field(chunk, start, end);
    const rest = chunk.subarray(start, end);
    const whole = this.#line?.with(rest) ?? rest;
    const isLeftOut = this.#line !== undefined && this.#line.droppedBytes > 0;
    const from = this.#isFirstLine && hasBom(whole) ? BOM.length : 0;
    this.#isFirstLine = false;
    this.#line = undefined;
    if (!isLeftOut) this.#field(whole, from, whole.length);
  }

  /** A line, which is where it lies: copies and strings of the names would cost more than all the rest. */
  #field(line: Buffer, start: number, end: number): void {
    if (start === end) return this.#dispatch();
    let colon = start;
    while (colon < end && line[colon] !== COLON) colon += 1;
    const next = Math.min(colon + 1, end);
    const from = next < end && line[next] === SPACE ? next + 1 : next;
    const length = colon - start;
    if (length === DATA.length && startsWith(line, start, DATA)) this.#startData(line.subarray(from, end));
    else if (length === EVENT.length && startsWith(line, start, EVENT)) this.#type = line.toString("utf8", from, end);
    else if (length === ID.length && startsWith(line, start, ID)) {
      // The header has the bytes of the id's UTF-8, as browsers send it; Node takes them as Latin-1.
      const id = line.toString("latin1", from, end);
      if (!id.includes("\0")) this.#pendingId = id;
    } else if (length === RETRY.length && startsWith(line, start, RETRY)) {
      const digits = line.toString("latin1", from, end);
      if (/^\d{1,9}$/u.test(digits)) this.retryMs = Number(digits);
    }
  }

  #startData(value: Buffer): void {
    if (this.#hasData) this.#sink.onData(NEWLINE);
    this.#hasData = true;
    if (value.length > 0) this.#sink.onData(value);
  }

  #dispatch(): void {
    if (this.#pendingId !== undefined) this.lastEventId = isSendable(this.#pendingId) ? this.#pendingId : undefined;
    const type = this.#type === "" ? "message" : this.#type;
    const hadData = this.#hasData;
    const isWorthTelling = hadData || this.#pendingId !== undefined;
    this.#hasData = false;
    this.#type = "";
    this.#pendingId = undefined;
    if (isWorthTelling) this.#sink.onEvent(type, hadData);
  }
}

/** As the value of a header: other control characters end or break it, and servers refuse very long ones. */
function isSendable(id: string): boolean {
  return id.length > 0 && id.length <= MAX_ID_BYTES && !/[^\t\x20-\x7e\x80-\xff]/u.test(id);
}

function hasBom(line: Buffer): boolean {
  return line.length >= BOM.length && startsWith(line, 0, BOM);
}

/** Byte by byte: a view of a few bytes costs more than looking at them. */
function startsWith(bytes: Buffer, from: number, start: Buffer): boolean {
  for (let at = 0; at < start.length; at++) if (bytes[from + at] !== start[at]) return false;
  return true;
}
