// Pictures as sixels: decoded from PNG, in each kind of colour and filter.
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { sixelOf } from "./sixel.js";

function chunk(name: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, Buffer.from(name, "latin1"), body, Buffer.alloc(4)]);
}

/** `rows`: each with its filter in front. */
function png(
  width: number,
  height: number,
  type: number,
  rows: readonly number[],
  palette: readonly number[] = [],
): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, type], 8);
  return Buffer.concat([
    ...[Buffer.from("89504e470d0a1a0a", "hex"), chunk("IHDR", head), chunk("PLTE", Buffer.from(palette))],
    ...[chunk("IDAT", deflateSync(Buffer.from(rows))), chunk("IEND", Buffer.alloc(0))],
  ]);
}

const [RED, WHITE] = ["#180;2;100;0;0", "#215;2;100;100;100"];

describe("sixelOf", () => {
  it("draws colours, greys and palettes, and leaves out what is transparent", () => {
    expect(sixelOf(png(2, 1, 2, [0, 255, 0, 0, 255, 255, 255]))).toBe(
      `\u001bP0;1q"1;1;2;1${RED}${WHITE}#180@?$#215?@\u001b\\`,
    );
    expect(sixelOf(png(2, 1, 6, [0, 255, 0, 0, 255, 255, 255, 255, 0]))).toBe(
      `\u001bP0;1q"1;1;2;1${RED}#180@?\u001b\\`,
    );
    expect(sixelOf(png(1, 2, 0, [0, 255, 0, 255]))).toBe(`\u001bP0;1q"1;1;1;2${WHITE}#215B\u001b\\`);
    expect(sixelOf(png(5, 1, 3, [0, 1, 1, 1, 1, 1], [0, 0, 0, 255, 0, 0]))).toBe(
      `\u001bP0;1q"1;1;5;1${RED}#180!5@\u001b\\`,
    );
  });

  it.each([
    ["left", 1, [255, 0, 0, 0]],
    ["up", 2, [0, 0, 0, 0]],
    ["average", 3, [128, 128, 128, 128]],
    ["Paeth", 4, [0, 0, 0, 0]],
  ])("undoes the filter %s", (_, filter, row) => {
    // The second row is as white as the first one.
    expect(sixelOf(png(4, 2, 0, [1, 255, 0, 0, 0, filter, ...(filter === 3 ? [128, 0, 0, 0] : row)]))).toBe(
      `\u001bP0;1q"1;1;4;2${WHITE}#215!4B\u001b\\`,
    );
  });

  it("begins another band every six rows, and makes large pictures smaller", () => {
    expect(sixelOf(png(1, 7, 0, Array.from({ length: 7 }, () => [0, 255]).flat()))).toContain("#215~-#215@");
    expect(
      sixelOf(png(1_280, 2, 0, Array.from({ length: 2 }, () => [0, ...Array<number>(1_280).fill(255)]).flat())),
    ).toContain('"1;1;640;1');
  });

  it("draws nothing of what it cannot read", () => {
    const whole = png(2, 1, 2, [0, 255, 0, 0, 255, 255, 255]);
    const interlaced = Buffer.from(whole);
    interlaced[28] = 1;
    const huge = Buffer.from(whole);
    huge.writeUInt32BE(1_000_000, 16);
    for (const bytes of [Buffer.from("GIF89a"), whole.subarray(0, 20), whole.subarray(0, 60), interlaced, huge])
      expect(sixelOf(bytes)).toBeUndefined();
  });
});
