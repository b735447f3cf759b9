// Constraints as sentences: what a provider's form has no keyword for is told to the model in the description instead.
import { canonicalJson, type JsonValue } from "../../base/json/json.js";
import { BOUND_NAMES, type Bound, type Kind, type Shape } from "./shape.js";

/** Longer lists and texts are cut: a description is read with every request. */
const MAX_VALUE_CHARS = 120;
const MAX_LIST_CHARS = 600;
const MAX_PATTERN_CHARS = 300;
/** How deep shapes are told inside one sentence. */
const MAX_TOLD_DEPTH = 2;

export function clip(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1)}…`;
}

/** For values already known to be small. */
export function valueWords(value: JsonValue): string {
  return clip(canonicalJson(value), MAX_VALUE_CHARS);
}

/** Cut at a whole item, with the number of those left out. */
export function listWords(items: readonly string[], separator = ", ", maxChars: number = MAX_LIST_CHARS): string {
  let text = "";
  for (const [index, item] of items.entries()) {
    const next = index === 0 ? item : `${separator}${item}`;
    if (index > 0 && text.length + next.length > maxChars) return `${text}${separator}… (${items.length - index} more)`;
    text += next;
  }
  return text;
}

export function namesWords(names: Iterable<string>): string {
  return listWords(
    [...names].map((name) => JSON.stringify(clip(name, MAX_VALUE_CHARS))),
    ", ",
  );
}

export function optionsWords(options: readonly JsonValue[]): string {
  const list = listWords(options.slice(0, 200).map((option) => valueWords(option)));
  const rest = options.length - 200;
  return rest > 0 ? `${list} … (${rest} more)` : list;
}

export function boundSentence(bound: Bound, value: number): string {
  switch (bound) {
    case "minimum":
      return `At least ${value}.`;
    case "maximum":
      return `At most ${value}.`;
    case "exclusiveMinimum":
      return `Greater than ${value}.`;
    case "exclusiveMaximum":
      return `Less than ${value}.`;
    case "multipleOf":
      return `A multiple of ${value}.`;
    case "minLength":
      return `At least ${counted(value, "character")}.`;
    case "maxLength":
      return `At most ${counted(value, "character")}.`;
    case "minItems":
      return `At least ${counted(value, "item")}.`;
    case "maxItems":
      return `At most ${counted(value, "item")}.`;
    case "minProperties":
      return `At least ${counted(value, "key")}.`;
    case "maxProperties":
      return `At most ${counted(value, "key")}.`;
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function patternSentence(pattern: string): string {
  return `Must match the pattern \`${clip(pattern, MAX_PATTERN_CHARS)}\`.`;
}

const NOUNS: Readonly<Record<Kind, string>> = {
  object: "an object",
  array: "a list",
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  null: "null",
};

/** A shape in a few words, to stand inside a sentence. */
export function shapeWords(shape: Shape, depth: number = MAX_TOLD_DEPTH): string {
  if (shape.forms !== undefined) {
    const forms = shape.forms.slice(0, 20).map((form) => shapeWords(form, depth - 1));
    return listWords([...new Set(forms)], " or ", 300);
  }
  const parts: string[] = [];
  if (shape.options !== undefined) {
    parts.push(shape.options.length === 1 ? optionsWords(shape.options) : `one of ${optionsWords(shape.options)}`);
  } else if (shape.kinds !== undefined) parts.push(shape.kinds.map((kind) => NOUNS[kind]).join(" or "));
  else parts.push("anything");
  if (shape.format !== undefined) parts.push(`(${clip(shape.format, 40)})`);
  if (shape.pattern !== undefined) parts.push(`matching ${clip(shape.pattern, MAX_VALUE_CHARS)}`);
  const bounds = BOUND_NAMES.flatMap((bound) => {
    const value = shape.bounds[bound];
    return value === undefined ? [] : [boundSentence(bound, value).slice(0, -1).toLowerCase()];
  });
  if (bounds.length > 0) parts.push(`(${bounds.join(", ")})`);
  if (shape.items !== undefined && depth > 0) parts.push(`of ${shapeWords(shape.items, depth - 1)}`);
  const inside = depth > 0 ? insideWords(shape, depth) : "";
  return clip([...parts, ...(inside === "" ? [] : [`with ${inside}`])].join(" "), MAX_LIST_CHARS);
}

/** Which properties an object needs or fixes: what tells one form of it from another. */
export function insideWords(shape: Shape, depth: number = MAX_TOLD_DEPTH): string {
  const parts: string[] = [];
  const given: string[] = [];
  for (const [name, property] of shape.properties) {
    if (parts.length >= 20) break;
    const isFixed = property.options !== undefined && property.options.length <= 5;
    const isTelling = isFixed || property.pattern !== undefined || Object.keys(property.bounds).length > 0;
    if (isTelling) parts.push(`${namesWords([name])}: ${shapeWords(property, depth - 1)}`);
    else if (shape.required.has(name)) given.push(name);
  }
  const named = given.length === 0 ? [] : [namesWords(given)];
  return listWords([...parts, ...named], " and ", 400);
}
