// A PNG as sixels, for terminals that know no other pictures: decoded, made small enough, and reduced to 216 colours.
import { inflateSync } from "node:zlib";

/** As many pixels as about 16 rows of text are high. */
const MOST = { width: 640, height: 320 } as const;
/** Larger pictures are not decoded: each pixel takes four bytes. */
const MAX_PIXELS = 16_777_216;
const BAND = 6;
const SHADES = 6;
const OPAQUE = 128;

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue and alpha of each. */
  readonly data: Uint8Array;
}

/** Undefined for what it cannot read: other formats, interlaced pictures, other depths than eight bits, broken ones. */
export function sixelOf(png: Buffer): string | undefined {
  try {
    const pixels = decode(png);
    return pixels && encode(shrunk(pixels));
  } catch {
    return undefined; // what it claims to hold is not there
  }
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Bytes of a pixel, by the type of colour. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

function decode(png: Buffer): Pixels | undefined {
  if (!png.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return undefined;
  const parts: Buffer[] = [];
  let palette: Uint8Array = new Uint8Array();
  let alphas: Uint8Array = new Uint8Array();
  for (let at = SIGNATURE.length; at + 8 <= png.length; ) {
    const length = png.readUInt32BE(at);
    const name = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (name === "PLTE") palette = body;
    else if (name === "tRNS") alphas = body;
    else if (name === "IDAT") parts.push(body);
    at += length + 12;
  }
  const [width, height, depth, type] = [png.readUInt32BE(16), png.readUInt32BE(20), png[24], png[25] ?? 0];
  const channels = CHANNELS[type];
  const isReadable = channels !== undefined && depth === 8 && png[28] === 0 && width > 0 && height > 0;
  if (!isReadable || width * height > MAX_PIXELS) return undefined;
  const stride = width * channels;
  const raw = inflateSync(Buffer.concat(parts), { maxOutputLength: (stride + 1) * height });
  if (raw.length < (stride + 1) * height) return undefined;
  unfilter(raw, { stride, height, channels });
  const data = new Uint8Array(width * height * 4);
  for (let row = 0, to = 0; row < height; row += 1) {
    for (let from = row * (stride + 1) + 1, end = from + stride; from < end; from += channels, to += 4) {
      const first = raw[from] ?? 0;
      const isGrey = type === 0 || type === 4;
      for (let colour = 0; colour < 3; colour += 1)
        data[to + colour] = type === 3 ? (palette[first * 3 + colour] ?? 0) : (raw[from + (isGrey ? 0 : colour)] ?? 0);
      data[to + 3] = type === 3 ? (alphas[first] ?? 255) : channels % 2 === 0 ? (raw[from + channels - 1] ?? 0) : 255;
    }
  }
  return { width, height, data };
}

/** Each row was written as its difference from what is left of it and above it. */
function unfilter(
  raw: Buffer,
  { stride, height, channels }: { readonly stride: number; readonly height: number; readonly channels: number },
): void {
  for (let row = 0; row < height; row += 1) {
    const begin = row * (stride + 1);
    const filter = raw[begin];
    for (let at = begin + 1; at <= begin + stride; at += 1) {
      const hasLeft = at - channels > begin;
      const left = hasLeft ? (raw[at - channels] ?? 0) : 0;
      const up = row > 0 ? (raw[at - stride - 1] ?? 0) : 0;
      const corner = hasLeft && row > 0 ? (raw[at - stride - 1 - channels] ?? 0) : 0;
      const guess =
        filter === 1
          ? left
          : filter === 2
            ? up
            : filter === 3
              ? (left + up) >> 1
              : filter === 4
                ? paeth(left, up, corner)
                : 0;
      raw[at] = (raw[at] ?? 0) + guess;
    }
  }
}

function paeth(left: number, up: number, corner: number): number {
  const [toLeft, toUp, toCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

function shrunk({ width, height, data }: Pixels): Pixels {
  const scale = Math.min(1, MOST.width / width, MOST.height / height);
  if (scale === 1) return { width, height, data };
  const [across, down] = [Math.max(1, Math.floor(width * scale)), Math.max(1, Math.floor(height * scale))];
  const small = new Uint8Array(across * down * 4);
  for (let row = 0; row < down; row += 1)
    for (let column = 0; column < across; column += 1) {
      const from = (Math.floor(row / scale) * width + Math.floor(column / scale)) * 4;
      small.set(data.subarray(from, from + 4), (row * across + column) * 4);
    }
  return { width: across, height: down, data: small };
}

/** Bands of six rows; in each band a run of characters for each colour that it has. */
function encode({ width, height, data }: Pixels): string {
  const used = new Set<number>();
  const bands: string[] = [];
  for (let top = 0; top < height; top += BAND) {
    const columns = new Map<number, Uint8Array>();
    for (let row = top; row < Math.min(top + BAND, height); row += 1)
      for (let column = 0; column < width; column += 1) {
        const at = (row * width + column) * 4;
        if ((data[at + 3] ?? 0) < OPAQUE) continue;
        const colour = (shade(data[at]) * SHADES + shade(data[at + 1])) * SHADES + shade(data[at + 2]);
        const bits = columns.get(colour) ?? new Uint8Array(width);
        columns.set(colour, bits);
        bits[column] = (bits[column] ?? 0) | (1 << (row - top));
      }
    for (const colour of columns.keys()) used.add(colour);
    bands.push([...columns].map(([colour, bits]) => `#${colour}${runs(bits)}`).join("$"));
  }
  const percent = (step: number) => Math.round((100 * step) / (SHADES - 1));
  const colours = [...used].map((colour) => {
    const [red, green, blue] = [Math.floor(colour / 36), Math.floor(colour / SHADES) % SHADES, colour % SHADES];
    return `#${colour};2;${percent(red)};${percent(green)};${percent(blue)}`;
  });
  return `\u001bP0;1q"1;1;${width};${height}${colours.join("")}${bands.join("-")}\u001b\\`;
}

function shade(value = 0): number {
  return Math.round((value * (SHADES - 1)) / 255);
}

function runs(bits: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bits.length; ) {
    let end = at + 1;
    while (end < bits.length && bits[end] === bits[at]) end += 1;
    const character = String.fromCharCode(63 + (bits[at] ?? 0));
    text += end - at > 3 ? `!${end - at}${character}` : character.repeat(end - at);
    at = end;
  }
  return text;
}
