// The event stream reader against a plain reading of the whole text, for any text and any cut.
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { EventStreamParser } from "./event-stream.js";

interface Seen {
  readonly type: string;
  readonly data: string;
}

interface Reading {
  readonly events: readonly Seen[];
  readonly lastEventId: string | undefined;
  readonly retryMs: number | undefined;
}

function read(chunks: readonly Buffer[]): Reading {
  const events: Seen[] = [];
  let data: Buffer[] = [];
  const parser = new EventStreamParser({
    onData: (bytes) => data.push(Buffer.from(bytes)),
    onEvent: (type, hasData) => {
      expect(hasData || data.length === 0).toBe(true);
      events.push({ type, data: Buffer.concat(data).toString("utf8") });
      data = [];
    },
  });
  for (const chunk of chunks) parser.push(chunk);
  return { events, lastEventId: parser.lastEventId, retryMs: parser.retryMs };
}

function readText(text: string): Reading {
  return read([Buffer.from(text)]);
}

/** The standard, word for word, on a text that is all there. */
function reference(text: string): Reading {
  const events: Seen[] = [];
  const lines = text.replace(/^\ufeff/u, "").split(/\r\n|\n|\r/u);
  lines.pop(); // what has no line end is never a line
  let data: string[] = [];
  let type = "";
  let pending: string | undefined;
  let lastEventId: string | undefined;
  let retryMs: number | undefined;
  for (const line of lines) {
    if (line === "") {
      // As a header says it: the bytes of its UTF-8; an empty id takes the last one back.
      if (pending !== undefined) lastEventId = Buffer.from(pending).toString("latin1") || undefined;
      if (data.length > 0 || pending !== undefined) {
        events.push({ type: type === "" ? "message" : type, data: data.join("\n") });
      }
      data = [];
      type = "";
      pending = undefined;
      continue;
    }
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /u, "");
    if (name === "data") data.push(value);
    if (name === "event") type = value;
    if (name === "id" && !value.includes("\0")) pending = value;
    if (name === "retry" && /^\d{1,9}$/u.test(value)) retryMs = Number(value);
  }
  return { events, lastEventId, retryMs };
}

const line = fc.oneof(
  fc.constantFrom("", "", "data:", "data", "data: x", "id: 1", "id:", "id: a\0b", "event: message", "event: other"),
  fc.constantFrom("retry: 500", "retry:x", "retry: 5s", ": comment", ":", "unknown: field", "data:  two spaces"),
  fc.string({ unit: "grapheme" }).map((text) => `data: ${text}`),
  fc.string(),
);
const end = fc.constantFrom("\n", "\n", "\r\n", "\r");
const stream = fc
  .tuple(fc.constantFrom("", "", "\ufeff"), fc.array(fc.tuple(line, end)), fc.string())
  .map(([bom, lines, rest]) => `${bom}${lines.map(([text, lineEnd]) => text + lineEnd).join("")}${rest}`);

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((one, other) => one - other), bytes.length];
  return at.slice(1).map((to, index) => bytes.subarray(at[index], to));
}

test("an id that no header can carry is no id, and one outside of Latin-1 is sent as its UTF-8", () => {
  expect(readText("id: é→💡\ndata: x\n\n").lastEventId).toBe(Buffer.from("é→💡").toString("latin1"));
  expect(readText("id: 1\n\nid: a\x07b\ndata: x\n\n").lastEventId).toBeUndefined();
  expect(readText(`id: ${"x".repeat(5_000)}\ndata: x\n\n`).lastEventId).toBeUndefined();
});

test("any stream, cut anywhere, reads as the standard says", () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(10_000), { maxLength: 30 }), (text, places) => {
      const bytes = Buffer.from(text);
      const expected = reference(bytes.toString("utf8"));
      expect(read(cut(bytes, places))).toEqual(expected);
      expect(read(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(expected);
    }),
    { numRuns: 2_000 },
  );
});

test("an id counts once its event is complete, also when the event has no data", () => {
  expect(readText("id: 7\ndata:\n\n")).toMatchObject({ lastEventId: "7", events: [{ data: "" }] });
  expect(readText("id: 7\n\nid: 8\ndata: x\n")).toMatchObject({ lastEventId: "7", events: [{ data: "" }] });
});

test("half an event at the end of the stream is no event", () => {
  expect(readText('data: {"jsonrpc":"2.0"').events).toEqual([]);
  expect(readText('data: {"jsonrpc":"2.0"}\n').events).toEqual([]);
});

test("a line that is no data and far too long is left out, and the rest is read", () => {
  const chunks = [..."id: ", "x".repeat(100_000), "\ndata: ok\n\n"].map((text) => Buffer.from(text));
  expect(read(chunks)).toEqual({
    events: [{ type: "message", data: "ok" }],
    lastEventId: undefined,
    retryMs: undefined,
  });
});

test("data is passed on as it comes, before its line has ended", () => {
  let bytes = 0;
  const parser = new EventStreamParser({ onData: (piece) => (bytes += piece.length), onEvent: () => {} });
  parser.push(Buffer.from("data: 123"));
  expect(bytes).toBe(3);
  parser.push(Buffer.alloc(1_000_000, "x"));
  expect(bytes).toBe(1_000_003);
});

test("an event that comes byte by byte costs linear time", () => {
  const text = Buffer.from(`data: ${"y".repeat(400_000)}\n\n`);
  const chunks = Array.from(text, (byte) => Buffer.of(byte));
  const startMs = performance.now();
  const { events } = read(chunks);
  expect(events[0]?.data).toHaveLength(400_000);
  expect(performance.now() - startMs).toBeLessThan(3_000); // copied anew for each byte, it would be 80 GB
});
