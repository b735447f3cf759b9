// Simple shapes in one colour on a transparent ground, drawn pixel by pixel with soft edges.
import { encodePng } from "./png.js";

export const SHAPES = ["circle", "square", "triangle", "ring"] as const;
export type Shape = (typeof SHAPES)[number];

export const COLOURS = ["red", "orange", "yellow", "green", "blue", "purple", "black", "white"] as const;
export type Colour = (typeof COLOURS)[number];

const RGB: Readonly<Record<Colour, readonly [number, number, number]>> = {
  red: [220, 50, 47],
  orange: [230, 126, 34],
  yellow: [241, 196, 15],
  green: [39, 174, 96],
  blue: [41, 128, 185],
  purple: [142, 68, 173],
  black: [20, 20, 20],
  white: [250, 250, 250],
};

/** Points per pixel side: 4 x 4 samples decide how much of a pixel the shape covers. */
const SAMPLES = 4;

export interface Picture {
  readonly shape: Shape;
  readonly colour: Colour;
  /** Width and height in pixels. */
  readonly size: number;
}

export function drawPicture({ shape, colour, size }: Picture): Buffer {
  const pixels = new Uint8Array(size * size * 4);
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const alpha = Math.round(255 * coverage(shape, x, y, size));
      pixels.set([...RGB[colour], alpha], (y * size + x) * 4);
    }
  }
  return encodePng({ width: size, height: size, pixels });
}

function coverage(shape: Shape, x: number, y: number, size: number): number {
  let inside = 0;
  for (let row = 0; row < SAMPLES; row += 1) {
    for (let column = 0; column < SAMPLES; column += 1) {
      const u = ((x + (column + 0.5) / SAMPLES) / size) * 2 - 1;
      const v = ((y + (row + 0.5) / SAMPLES) / size) * 2 - 1;
      if (contains(shape, u, v)) inside += 1;
    }
  }
  return inside / SAMPLES ** 2;
}

/** Shapes live in the square from -1 to 1, v pointing down, and leave a small margin. */
function contains(shape: Shape, u: number, v: number): boolean {
  switch (shape) {
    case "circle":
      return Math.hypot(u, v) <= 0.9;
    case "ring":
      return Math.abs(Math.hypot(u, v) - 0.7) <= 0.2;
    case "square":
      return Math.max(Math.abs(u), Math.abs(v)) <= 0.8;
    case "triangle":
      return v <= 0.75 && v >= -0.85 + Math.abs(u) * 1.8;
  }
}
