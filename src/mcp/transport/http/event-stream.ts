// Reads `text/event-stream` from bytes, however they are cut: linear in the input, and nothing of an event's data is held.
import { Buffer } from "node:buffer";
import { Gathered } from "./body.js";

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
const DATA: Buffer = Buffer.from("data:");
/** Field names are short; a longer one is unknown in any case. */
const MAX_FIELD_BYTES = 16;
/** A line that is no data: longer ones are left out. */
const MAX_LINE_BYTES = 65_536;
/** Node's servers take 16 KB of headers in all. */
const MAX_ID_BYTES = 4_096;

export class EventStreamParser {
  readonly #sink: EventSink;
  /** The start of a line whose end has not come, unless it is data, which is passed on as it comes. */
  #line: Gathered | undefined;
  #isInData = false;
  #hasData = false;
  #type = "";
  #pendingId: string | undefined;
  #lastId: string | undefined;
  #retryMs: number | undefined;
  #skipsLf = false;
  #isFirstLine = true;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  /**
   * The id of the last event that was complete and had one, as a header says it: where a broken stream can be taken up
   * again. Undefined after an id that no header can carry, and after an empty one, which takes the id back.
   */
  get lastEventId(): string | undefined {
    return this.#lastId;
  }

  /** What the server last said about when to come back. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** An event that is not ended by an empty line before the stream ends is never told, as the standard wants it. */
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
      this.#endLine(chunk.subarray(start, end));
      start = end + 1;
      if (end !== cr) continue;
      if (start === chunk.length) this.#skipsLf = true;
      else if (chunk[start] === LF) start += 1;
    }
    if (start < chunk.length) this.#addToLine(chunk.subarray(start));
  }

  #addToLine(piece: Buffer): void {
    if (this.#isInData) {
      this.#sink.onData(piece);
      return;
    }
    this.#line ??= new Gathered(MAX_LINE_BYTES);
    this.#line.add(piece);
    const start = this.#line.peek();
    const known = this.#isFirstLine && hasBom(start) ? start.subarray(BOM.length) : start;
    // One byte more than the name, since a space after it does not belong to the data.
    if (known.length <= DATA.length || !known.subarray(0, DATA.length).equals(DATA)) return;
    this.#isInData = true;
    this.#isFirstLine = false;
    this.#startData(known.subarray(known[DATA.length] === SPACE ? DATA.length + 1 : DATA.length));
    this.#line = undefined;
  }

  #endLine(rest: Buffer): void {
    if (this.#isInData) {
      this.#isInData = false;
      if (rest.length > 0) this.#sink.onData(rest);
      return;
    }
    const whole = this.#line?.with(rest) ?? rest;
    const line = this.#isFirstLine && hasBom(whole) ? whole.subarray(BOM.length) : whole;
    this.#isFirstLine = false;
    const isLeftOut = this.#line !== undefined && this.#line.droppedBytes > 0;
    if (!isLeftOut && line.length === 0) this.#dispatch();
    else if (!isLeftOut) this.#field(line);
    this.#line = undefined;
  }

  #field(line: Buffer): void {
    const end = nameEnd(line);
    if (end === 0) return; // a comment: servers keep connections alive with them
    const name = line.toString("latin1", 0, end);
    const from = line[end] !== COLON ? line.length : line[end + 1] === SPACE ? end + 2 : end + 1;
    if (name === "data") this.#startData(line.subarray(from));
    else if (name === "event") this.#type = line.toString("utf8", from);
    else if (name === "id") {
      // The header has the bytes of the id's UTF-8, as browsers send it; Node takes them as Latin-1.
      const id = line.toString("latin1", from);
      if (!id.includes("\0")) this.#pendingId = id;
    } else if (name === "retry") {
      const digits = line.toString("latin1", from);
      if (/^\d{1,9}$/u.test(digits)) this.#retryMs = Number(digits);
    }
  }

  #startData(value: Buffer): void {
    if (this.#hasData) this.#sink.onData(NEWLINE);
    this.#hasData = true;
    if (value.length > 0) this.#sink.onData(value);
  }

  #dispatch(): void {
    if (this.#pendingId !== undefined) this.#lastId = isSendable(this.#pendingId) ? this.#pendingId : undefined;
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

/** Byte by byte: answers are mostly one short event, and a view of three bytes costs more than looking at them. */
function hasBom(line: Buffer): boolean {
  return line[0] === BOM[0] && line[1] === BOM[1] && line[2] === BOM[2];
}

/** Where the name of a field ends: at its colon, at the end of the line, or where no known name goes on. */
function nameEnd(line: Buffer): number {
  let at = 0;
  while (at < line.length && at < MAX_FIELD_BYTES && line[at] !== COLON) at += 1;
  return at;
}
