// What one value may be, beside its kind: allowed values, bounds, pattern and format as keywords where a dialect has them.
import type { JsonValue } from "../../base/json/json.js";
import type { Fuel } from "./fuel.js";
import { NoForm, type Rules } from "./rules.js";
import { BOUND_NAMES, BOUNDS, type Bound, isOfKinds, type Kind, type Shape } from "./shape.js";
import { boundSentence, optionsWords, patternSentence } from "./words.js";

/** A schema that is being written. */
export interface Node {
  [keyword: string]: JsonValue;
}

interface Writing {
  readonly node: Node;
  readonly shape: Shape;
  readonly kinds: readonly Kind[];
  readonly rules: Rules;
  readonly says: string[];
}

/** Returns what has to be told in words instead, a sentence each. */
export function writeKeywords(
  node: Node,
  shape: Shape,
  { kinds, rules, fuel }: { readonly kinds: readonly Kind[]; readonly rules: Rules; readonly fuel: Fuel },
): string[] {
  const says: string[] = [];
  const writing: Writing = { node, shape, kinds, rules, says };
  const hasOptions = writeOptions(writing, fuel);
  for (const bound of BOUND_NAMES) writeBound(writing, bound);
  if (kinds.includes("string") && shape.pattern !== undefined && !hasOptions) writePattern(writing, shape.pattern);
  if (shape.format !== undefined && !hasOptions) writeFormat(writing, shape.format);
  return says;
}

/** True when they are written: then pattern and format have nothing to add. */
function writeOptions({ node, shape, kinds, rules, says }: Writing, fuel: Fuel): boolean {
  const { options } = shape;
  if (options === undefined) return false;
  fuel.spend(options.length / 4);
  const allowed = rules.options;
  const isTaken = options.every((option) => {
    if (!isOfKinds(option, kinds)) return false;
    if (allowed === "texts") return typeof option === "string" && option !== "";
    return allowed === "all" || typeof option !== "object" || option === null;
  });
  if (isTaken) node["enum"] = options;
  else says.push(options.length === 1 ? `Must be ${optionsWords(options)}.` : `One of ${optionsWords(options)}.`);
  if (!isTaken && rules.objects === "closed") {
    throw new NoForm("some of its allowed values are objects or lists, or of another type than it says");
  }
  return isTaken;
}

function writeBound({ node, shape, kinds, rules, says }: Writing, bound: Bound): void {
  const value = shape.bounds[bound];
  const of = BOUNDS[bound];
  if (value === undefined || !(kinds.includes(of) || (of === "number" && kinds.includes("integer")))) return;
  const { keywords, maxRepeat, objects, optional } = rules;
  const isLong = maxRepeat !== undefined && of !== "number" && value > maxRepeat;
  // The strict form of Anthropic's knows this one bound, and only with this value.
  const isLeastOne = bound === "minItems" && value === 1 && objects === "closed" && optional === "omitted";
  if ((keywords.has(bound) && !isLong) || isLeastOne) node[bound] = value;
  else says.push(boundSentence(bound, value));
}

function writePattern({ node, rules, says }: Writing, pattern: string): void {
  const isWritten = rules.keywords.has("pattern") && isPattern(pattern, rules.objects === "closed");
  if (isWritten) node["pattern"] = pattern;
  else says.push(patternSentence(pattern));
}

/** One that is no regular expression here is one nowhere. Decoders take no look-around and no references back. */
function isPattern(pattern: string, isDecoded: boolean): boolean {
  if (pattern.length > 1_000 || (isDecoded && /\(\?|\\[bBkpP1-9]/.test(pattern))) return false;
  try {
    return new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

function writeFormat({ node, kinds, rules, says }: Writing, format: string): void {
  const { formats } = rules;
  const isNumeric = /^(?:int|uint|float|double)/.test(format);
  const isPlace = isNumeric
    ? kinds.includes(format.startsWith("int") ? "integer" : "number")
    : kinds.includes("string");
  if (formats === undefined || (formats.has(format) && isPlace)) node["format"] = format;
  else says.push(`Format: ${format.slice(0, 80)}.`);
}
