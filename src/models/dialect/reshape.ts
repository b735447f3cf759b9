// Shapes as they are about to be written: a kind at a time, without words that say nothing, with words of what they stand in.
import { defined } from "../../base/json/defined.js";
import type { JsonValue } from "../../base/json/json.js";
import { type Kind, type Shape, saying } from "./shape.js";

/** One shape per kind, each with what concerns it. */
export function apart(shape: Shape): readonly Shape[] {
  const { title: _title, description: _description, default: _default, options, ...rest } = shape;
  return (shape.kinds ?? []).map((kind): Shape => {
    const own = options?.filter((option) => mayHold(kind, option));
    const fitting = own === undefined || own.length === 0 ? {} : { options: own };
    return { ...rest, ...fitting, kinds: [kind], says: [] };
  });
}

function mayHold(kind: Kind, value: JsonValue): boolean {
  if (value === null) return kind === "null";
  if (Array.isArray(value)) return kind === "array";
  if (typeof value === "number") return kind === "number" || (kind === "integer" && Number.isInteger(value));
  return typeof value === kind;
}

/** Generators give every property its own name as a title: tokens that say nothing. */
export function isEcho(title: string | undefined, name: string): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
  return title !== undefined && title.length <= 100 && plain(title) === plain(name);
}

export function untitled(shape: Shape): Shape {
  const { title: _title, ...rest } = shape;
  return rest;
}

/** What was said of all forms together, said of this one. */
export function underWords(words: Shape, shape: Shape): Shape {
  const description = [words.description ?? words.title, shape.description].filter((text) => text !== undefined);
  const preset = words.default === undefined ? shape.default : words.default;
  return {
    ...saying(shape, ...words.says),
    ...defined({ description: description.length === 0 ? undefined : description.join(" "), default: preset }),
  };
}
