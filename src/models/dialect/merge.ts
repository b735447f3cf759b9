// Two shapes that both hold (`allOf`, a reference and what stands beside it), as one.
import { defined } from "../../base/json/defined.js";
import { canonicalJson } from "../../base/json/json.js";
import {
  BOUND_NAMES,
  type Bound,
  type Draft,
  draft,
  type Fuel,
  isOfKinds,
  isOpen,
  type Kind,
  optionsWords,
  patternSentence,
  type Shape,
  saying,
  shapeWords,
} from "./shape.js";

/** More forms than this from multiplying alternatives are described instead of listed. */
const MAX_PRODUCT = 16;

/** Of two descriptions both are kept, unless one holds the other. */
export function bothHold(first: Shape, second: Shape, fuel: Fuel): Shape {
  if (isWordless(second)) return first;
  if (isWordless(first)) return second;
  fuel.spend(2 + first.properties.size + second.properties.size + (first.options?.length ?? 0) / 8);
  const merged = sharedWords(first, second);
  if (first.forms !== undefined || second.forms !== undefined) return bothForms(merged, first, second, fuel);
  mergeKinds(merged, first, second);
  mergeOptions(merged, first, second, fuel);
  mergeBounds(merged, first, second);
  mergeTexts(merged, first, second);
  mergeLists(merged, first, second, fuel);
  mergeObjects(merged, first, second, fuel);
  return merged;
}

function isWordless(shape: Shape): boolean {
  const { title, description, default: preset } = shape;
  return isOpen(shape) && (title ?? description ?? preset) === undefined && shape.says.length === 0;
}

function sharedWords(first: Shape, second: Shape): Draft {
  return {
    ...draft(),
    says: saying(first, ...second.says).says,
    ...defined({
      title: first.title ?? second.title,
      description: joinTexts(first.description, second.description),
      default: first.default === undefined ? second.default : first.default,
    }),
  };
}

function joinTexts(first: string | undefined, second: string | undefined): string | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  // Searching one text in another costs their product at worst; long ones are simply both kept.
  if (first.length + second.length < 10_000) {
    if (first.includes(second)) return first;
    if (second.includes(first)) return second;
  }
  return `${first}\n${second}`;
}

/** `(a or b) and c` is `(a and c) or (b and c)`, as long as that stays short. */
function bothForms(merged: Draft, first: Shape, second: Shape, fuel: Fuel): Shape {
  const left = first.forms ?? [bare(first)];
  const right = second.forms ?? [bare(second)];
  if (left.length * right.length > Math.max(MAX_PRODUCT, left.length, right.length)) {
    merged.forms = left;
    return saying(merged, `Must also be ${shapeWords(second)}.`);
  }
  merged.forms = left.flatMap((one) => right.map((other) => bothHold(one, other, fuel)));
  return merged;
}

function bare(shape: Shape): Shape {
  const { title: _title, description: _description, default: _default, forms: _forms, ...rest } = shape;
  return { ...rest, says: [] };
}

function mergeKinds(merged: Draft, first: Shape, second: Shape): void {
  const kinds = commonKinds(first.kinds, second.kinds);
  if (kinds === undefined) return;
  if (kinds.length > 0) merged.kinds = kinds;
  else {
    // Nothing can satisfy both. The first stays, and the server has the last word.
    if (first.kinds !== undefined) merged.kinds = first.kinds;
    merged.says = saying(merged, `Must also be ${shapeWords({ ...second, properties: new Map() }, 0)}.`).says;
  }
}

function commonKinds(
  first: readonly Kind[] | undefined,
  second: readonly Kind[] | undefined,
): readonly Kind[] | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  const common = first.filter((kind) => second.includes(kind) || (kind === "integer" && second.includes("number")));
  const integers: Kind[] =
    first.includes("number") && second.includes("integer") && !common.includes("integer") ? ["integer"] : [];
  return [...common, ...integers];
}

function mergeOptions(merged: Draft, first: Shape, second: Shape, fuel: Fuel): void {
  let options = first.options ?? second.options;
  if (first.options !== undefined && second.options !== undefined) {
    fuel.spend((first.options.length + second.options.length) / 4);
    const allowed = new Set(second.options.map((option) => canonicalJson(option)));
    const common = first.options.filter((option) => allowed.has(canonicalJson(option)));
    if (common.length > 0) options = common;
    else merged.says = saying(merged, `Must also be one of ${optionsWords(second.options)}.`).says;
  }
  if (options === undefined) return;
  const { kinds } = merged;
  const fitting = kinds === undefined ? options : options.filter((option) => isOfKinds(option, kinds));
  merged.options = fitting.length > 0 ? fitting : options;
}

/** The tighter of two bounds. */
function mergeBounds(merged: Draft, first: Shape, second: Shape): void {
  const bounds: Partial<Record<Bound, number>> = { ...first.bounds };
  for (const bound of BOUND_NAMES) {
    const one = first.bounds[bound];
    const other = second.bounds[bound];
    if (other === undefined) continue;
    if (one === undefined) bounds[bound] = other;
    else if (bound === "multipleOf") {
      if (one !== other) merged.says = saying(merged, `Also a multiple of ${other}.`).says;
    } else bounds[bound] = /^(?:min|exclusiveMin)/.test(bound) ? Math.max(one, other) : Math.min(one, other);
  }
  merged.bounds = bounds;
}

function mergeTexts(merged: Draft, first: Shape, second: Shape): void {
  const pattern = first.pattern ?? second.pattern;
  Object.assign(merged, defined({ pattern, format: first.format ?? second.format }));
  if (second.pattern !== undefined && second.pattern !== pattern) {
    merged.says = saying(merged, patternSentence(second.pattern)).says;
  }
}

function mergeLists(merged: Draft, first: Shape, second: Shape, fuel: Fuel): void {
  if (first.isUnique === true || second.isUnique === true) merged.isUnique = true;
  const items = first.items && second.items ? bothHold(first.items, second.items, fuel) : (first.items ?? second.items);
  if (items !== undefined) merged.items = items;
}

/**
 * Of closed objects the properties are joined, though to the letter each would forbid the other's: authors of `allOf`
 * mean the sum, and the arguments are checked against the raw schema in any case.
 */
function mergeObjects(merged: Draft, first: Shape, second: Shape, fuel: Fuel): void {
  const properties = new Map(first.properties);
  for (const [name, shape] of second.properties) {
    const known = properties.get(name);
    properties.set(name, known === undefined ? shape : bothHold(known, shape, fuel));
  }
  merged.properties = properties;
  merged.required = new Set([...first.required, ...second.required]);
  const additional = commonAdditional(first.additional, second.additional, fuel);
  if (additional !== undefined) merged.additional = additional;
}

function commonAdditional(first: Shape["additional"], second: Shape["additional"], fuel: Fuel): Shape["additional"] {
  if (first === false || second === false) return false;
  if (first === undefined || first === true) return second ?? first;
  if (second === undefined || second === true) return first;
  return bothHold(first, second, fuel);
}
