// The smallest encoder that makes real PNG files: 8-bit RGBA, one IDAT chunk, no filters.
import { crc32, deflateSync } from "node:zlib";

export interface Raster {
  readonly width: number;
  readonly height: number;
  /** Four bytes a pixel, row by row: red, green, blue, alpha. */
  readonly pixels: Uint8Array;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BIT_DEPTH = 8;
const COLOUR_TYPE_RGBA = 6;
const BYTES_PER_PIXEL = 4;

export function encodePng(raster: Raster): Buffer {
  const { width, height, pixels } = raster;
  if (pixels.length !== width * height * BYTES_PER_PIXEL) {
    throw new RangeError(
      `${width} x ${height} pixels need ${width * height * BYTES_PER_PIXEL} bytes, got ${pixels.length}`,
    );
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([BIT_DEPTH, COLOUR_TYPE_RGBA], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(scanlines(raster))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Each row is preceded by its filter type: 0, none. */
function scanlines({ width, height, pixels }: Raster): Buffer {
  const rowBytes = width * BYTES_PER_PIXEL;
  const lines = Buffer.alloc(height * (rowBytes + 1));
  for (let y = 0; y < height; y += 1) {
    lines.set(pixels.subarray(y * rowBytes, (y + 1) * rowBytes), y * (rowBytes + 1) + 1);
  }
  return lines;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
