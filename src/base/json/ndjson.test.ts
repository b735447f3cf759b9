// Lines out of bytes: the same whatever the cuts, capped, linear, and never thrown off by bad text.
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Line, LineSplitter } from "./ndjson.js";

const NO_CAP = 1_000_000;

/** All lines of `bytes`, pushed in pieces that end at `cuts`. */
function split(bytes: Uint8Array, cuts: readonly number[], maxLineBytes: number): Line[] {
  const splitter = new LineSplitter(maxLineBytes);
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  const lines: Line[] = [];
  let start = 0;
  for (const end of ends) {
    const piece = Uint8Array.from(bytes.subarray(start, end));
    lines.push(...splitter.push(piece));
    piece.fill(0x21); // a source may use its buffer again
    start = end;
  }
  return [...lines, ...splitter.flush()];
}

/** The plain way: everything in memory, decoded line by line. */
function splitAtOnce(bytes: Uint8Array, maxLineBytes: number): Line[] {
  const lines: Line[] = [];
  let rest = Buffer.from(bytes);
  for (let hasMore = true; hasMore; ) {
    const end = rest.indexOf(10);
    hasMore = end !== -1;
    const line = hasMore ? rest.subarray(0, end) : rest;
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(line).trim();
    if (line.length > maxLineBytes) lines.push({ kind: "oversize", bytes: line.length });
    else if (text !== "") lines.push({ kind: "line", text });
    rest = rest.subarray(end + 1);
  }
  return lines;
}

function texts(lines: readonly Line[]): string[] {
  return lines.map((line) => (line.kind === "line" ? line.text : `oversize ${line.bytes}`));
}

const cuts = fc.array(fc.nat(10_000), { maxLength: 12 });
const newlineRich = fc.array(fc.oneof(fc.constantFrom(0x0a, 0x0d, 0x20, 0xc3, 0xa9, 0xf0, 0x9f, 0xff), fc.nat(255)), {
  maxLength: 200,
});

describe("a line splitter", () => {
  test("gives the same lines for any bytes, however they are cut, with any cap", () => {
    fc.assert(
      fc.property(newlineRich, cuts, fc.integer({ min: 1, max: 40 }), (bytes, where, cap) => {
        const input = Uint8Array.from(bytes);
        expect(split(input, where, cap)).toEqual(splitAtOnce(input, cap));
      }),
      { numRuns: 2_000 },
    );
  });

  test("gives back every JSON message, one byte at a time", () => {
    fc.assert(
      fc.property(fc.array(fc.json(), { maxLength: 5 }), fc.constantFrom("\n", "\r\n", "\n\n"), (messages, end) => {
        const bytes = Buffer.from(messages.map((message) => message + end).join(""));
        const everywhere = Array.from({ length: bytes.length }, (_, index) => index);
        const lines = texts(split(bytes, everywhere, NO_CAP));
        expect(lines).toEqual(messages.map((message) => message.trim()));
      }),
      { numRuns: 300 },
    );
  });

  test("keeps characters whole that are cut between chunks", () => {
    const bytes = Buffer.from('"é€😀"\n');
    for (let cut = 0; cut <= bytes.length; cut++) expect(texts(split(bytes, [cut], NO_CAP))).toEqual(['"é€😀"']);
  });

  test("replaces bytes that are no UTF-8 and goes on with the next line", () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xc3]), Buffer.from('\n{"a":1}\n')]);
    expect(texts(split(bytes, [], NO_CAP))).toEqual(["\ufffd\ufffd", '{"a":1}']);
  });

  test("drops empty lines, line ends of either kind and a byte order mark", () => {
    expect(texts(split(Buffer.from('\ufeff{"a":1}\r\n\r\n \t\n{"b":2}\n'), [], NO_CAP))).toEqual([
      '{"a":1}',
      '{"b":2}',
    ]);
  });

  test("reads a view of a larger buffer as that view only", () => {
    const whole = Buffer.from("xx1\n2yy");
    const splitter = new LineSplitter(NO_CAP);
    expect(texts([...splitter.push(whole.subarray(2, 5)), ...splitter.flush()])).toEqual(["1", "2"]);
  });

  test("gives the last line without a newline on flush, once", () => {
    const splitter = new LineSplitter(NO_CAP);
    expect(splitter.push(Buffer.from("a\nb"))).toEqual([{ kind: "line", text: "a" }]);
    expect(splitter.flush()).toEqual([{ kind: "line", text: "b" }]);
    expect(splitter.flush()).toEqual([]);
  });

  test("takes a line of exactly the cap, reports a longer one once with its size, and lives on", () => {
    const splitter = new LineSplitter(4);
    expect(splitter.push(Buffer.from("1234\n12345\n1"))).toEqual([
      { kind: "line", text: "1234" },
      { kind: "oversize", bytes: 5 },
    ]);
    for (const part of ["234567", "89"]) expect(splitter.push(Buffer.from(part))).toEqual([]);
    expect(splitter.push(Buffer.from("0\nok\n"))).toEqual([
      { kind: "oversize", bytes: 10 },
      { kind: "line", text: "ok" },
    ]);
    splitter.push(Buffer.from("123456"));
    expect(splitter.flush()).toEqual([{ kind: "oversize", bytes: 6 }]);
  });

  test("holds no more than the cap of a line that never ends", () => {
    const splitter = new LineSplitter(65_536);
    const chunk = Buffer.alloc(65_536, "x");
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 2_000; count++) splitter.push(chunk); // 125 MiB
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1_048_576);
    expect(splitter.flush()).toEqual([{ kind: "oversize", bytes: 2_000 * 65_536 }]);
  });

  test("holds about as many bytes as came, when a line comes in tiny pieces", () => {
    const splitter = new LineSplitter(NO_CAP * 2);
    const before = process.memoryUsage();
    for (let count = 0; count < NO_CAP; count++) splitter.push(Buffer.from("x"));
    const after = process.memoryUsage();
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(64 * 1_048_576);
    expect(splitter.flush()).toEqual([{ kind: "line", text: "x".repeat(NO_CAP) }]);
  });

  test("takes time in proportion to the input: one line in 8 times the chunks does not cost the square", () => {
    const timeOf = (chunks: number): number => {
      const chunk = Buffer.alloc(1_024, "x");
      const runs = Array.from({ length: 3 }, () => {
        const splitter = new LineSplitter(1_024 * 1_024 * 1_024);
        const start = performance.now();
        for (let count = 0; count < chunks; count++) splitter.push(chunk);
        expect(splitter.flush()).toHaveLength(1);
        return performance.now() - start;
      });
      return Math.min(...runs);
    };
    timeOf(1_000);
    const small = timeOf(4_000);
    expect(timeOf(32_000) / small).toBeLessThan(32); // linear: about 8; quadratic: 64
  });
});
