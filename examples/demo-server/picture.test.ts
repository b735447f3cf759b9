// Pictures are real PNG files that show the shape that was asked for. The decoder here is written from the PNG
// specification and shares nothing with the encoder but zlib.
import { crc32, inflateSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { COLOURS, drawPicture, SHAPES } from "./picture.js";
import { encodePng } from "./png.js";

interface Decoded {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}

function decodePng(file: Buffer): Decoded {
  expect(file.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const body = file.subarray(at + 4, at + 8 + length);
    expect(file.readUInt32BE(at + 8 + length)).toBe(crc32(body));
    chunks.set(body.subarray(0, 4).toString("latin1"), body.subarray(4));
    at += 12 + length;
  }
  expect([...chunks.keys()]).toEqual(["IHDR", "IDAT", "IEND"]);
  const header = chunks.get("IHDR") ?? Buffer.alloc(0);
  expect([...header.subarray(8)]).toEqual([8, 6, 0, 0, 0]);
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const lines = inflateSync(chunks.get("IDAT") ?? Buffer.alloc(0));
  expect(lines.length).toBe(height * (width * 4 + 1));
  const rows = Array.from({ length: height }, (_, y) => {
    const line = lines.subarray(y * (width * 4 + 1), (y + 1) * (width * 4 + 1));
    expect(line[0]).toBe(0);
    return line.subarray(1);
  });
  return { width, height, pixels: Buffer.concat(rows) };
}

function alphaAt(picture: Decoded, x: number, y: number): number | undefined {
  return picture.pixels[(y * picture.width + x) * 4 + 3];
}

describe("encodePng", () => {
  it("gives back any pixels after decoding", () => {
    const raster = fc
      .tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 }))
      .chain(([width, height]) =>
        fc
          .uint8Array({ minLength: width * height * 4, maxLength: width * height * 4 })
          .map((pixels) => ({ width, height, pixels })),
      );
    fc.assert(
      fc.property(raster, ({ width, height, pixels }) => {
        expect(decodePng(encodePng({ width, height, pixels }))).toEqual({ width, height, pixels: Buffer.from(pixels) });
      }),
    );
  });

  it("refuses a raster whose size does not fit its pixels", () => {
    expect(() => encodePng({ width: 2, height: 2, pixels: new Uint8Array(15) })).toThrow("need 16 bytes, got 15");
  });
});

describe("drawPicture", () => {
  it("draws every shape in every colour at the size asked for", () => {
    const files = SHAPES.flatMap((shape) => COLOURS.map((colour) => drawPicture({ shape, colour, size: 16 })));
    for (const file of files) expect(decodePng(file)).toMatchObject({ width: 16, height: 16 });
    expect(new Set(files.map((file) => file.toString("base64"))).size).toBe(SHAPES.length * COLOURS.length);
  });

  it.each([
    ["circle", 255, 0, 255],
    ["ring", 0, 0, 255],
    ["square", 255, 0, 255],
    ["triangle", 255, 0, 0],
  ] as const)("gives the %s its form: centre, corner, right edge", (shape, centre, corner, edge) => {
    const picture = decodePng(drawPicture({ shape, colour: "red", size: 64 }));
    expect(alphaAt(picture, 32, 32)).toBe(centre);
    expect(alphaAt(picture, 0, 0)).toBe(corner);
    expect(alphaAt(picture, 55, 31)).toBe(edge);
    expect([...picture.pixels.subarray(0, 3)]).toEqual([220, 50, 47]);
  });
});
