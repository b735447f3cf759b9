// Shapes put together: two that both hold (`allOf`, a reference and what stands beside it), or several of which one does.
import { defined } from "../../base/json/defined.js";
import { canonicalJson, type JsonValue } from "../../base/json/json.js";
import {
  ANY,
  BOUND_NAMES,
  type Bound,
  clip,
  type Draft,
  draft,
  type Fuel,
  insideWords,
  isOfKinds,
  isOnly,
  isOpen,
  type Kind,
  kindOf,
  listWords,
  mayBe,
  optionsWords,
  patternSentence,
  type Shape,
  saying,
  shapeWords,
  valueWords,
  withoutWords,
  wordsAlone,
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

// Shapes of which one holds (`anyOf`, `oneOf`, the branches of `if`): listed as forms, or folded into one object.

const MAX_FORMS_CHARS = 1_500;

/** What stands beside the alternatives holds for each of them. */
export function withForms(base: Shape, forms: readonly Shape[], isOne: boolean, fuel: Fuel): Shape {
  const flat = forms.flatMap((form) => (form.forms !== undefined && isWordy(form) ? form.forms : [form]));
  const [only, ...others] = flat;
  if (only === undefined) return base;
  if (others.length === 0) return bothHold(base, only, fuel);
  fuel.spend(flat.length);
  if (isOpen(base)) return asForms(wordsAlone(base), flat, isOne, fuel);
  const isObject = isOnly(base, "object") && (base.properties.size > 0 || base.required.size > 0);
  if (isObject && flat.every((form) => mayBe(form, "object"))) return foldObject(base, flat, isOne, fuel);
  const rest = withoutWords(base);
  const told = asForms(ANY, flat, isOne, fuel);
  const both = bothHold(rest, told, fuel);
  return bothHold(wordsAlone(base), both, fuel);
}

/** Alternatives of alternatives are alternatives, unless words hang on the inner ones. */
function isWordy(form: Shape): boolean {
  return form.description === undefined && form.says.length === 0;
}

function asForms(words: Shape, forms: readonly Shape[], isOne: boolean, fuel: Fuel): Shape {
  const some = forms.filter((form) => !isOnly(form, "null"));
  const mayBeNull = some.length < forms.length;
  const merged = oneList(some) ?? (some.length === 1 ? some[0] : undefined);
  if (merged !== undefined && (!mayBeNull || canBeNull(merged))) {
    return bothHold(words, mayBeNull ? orNull(merged) : merged, fuel);
  }
  const shape = draft();
  Object.assign(shape, words);
  shape.forms = distinct(forms, fuel);
  return isOne && !areApart(some) ? saying(shape, "Exactly one of these forms must fit.") : shape;
}

function canBeNull(shape: Shape): boolean {
  return shape.forms === undefined && shape.kinds !== undefined;
}

export function orNull(shape: Shape): Shape {
  if (shape.forms !== undefined) {
    return mayBe(shape, "null") ? shape : { ...shape, forms: [...shape.forms, { ...ANY, kinds: ["null"] }] };
  }
  if (shape.kinds === undefined || shape.kinds.includes("null")) return shape;
  const options = shape.options === undefined ? {} : { options: [...shape.options, null] };
  return { ...shape, kinds: [...shape.kinds, "null"], ...options };
}

/** `oneOf` of single values, each with words of its own, is a list of values. */
function oneList(forms: readonly Shape[]): Shape | undefined {
  if (forms.length < 2) return undefined;
  const options: JsonValue[] = [];
  const told: string[] = [];
  for (const form of forms) {
    if (form.options === undefined || Object.keys(form.bounds).length > 0 || form.pattern !== undefined)
      return undefined;
    if (form.options.some((option) => typeof option === "object" && option !== null)) return undefined;
    options.push(...form.options);
    const words = form.description ?? form.title;
    const isNamed = form.options.length === 1 && words !== undefined && words !== form.options[0];
    if (isNamed) told.push(`${valueWords(form.options[0] ?? null)}: ${clip(words, 200)}`);
  }
  const kinds = [...new Set(options.map((option) => kindOf(option)))];
  if (kinds.some((kind) => kind !== kinds[0])) return undefined;
  const unique = [...new Map(options.map((option) => [canonicalJson(option), option])).values()];
  const list = listWords(told, "; ", MAX_FORMS_CHARS);
  return { ...ANY, kinds, options: unique, says: list === "" ? [] : [`${list}.`] };
}

/** Twins among simple forms only: comparing whole trees at every level would cost more than it saves. */
function distinct(forms: readonly Shape[], fuel: Fuel): readonly Shape[] {
  fuel.spend(forms.length);
  const seen = new Map<unknown, Shape>();
  for (const form of forms) seen.set(leafKey(form) ?? form, form);
  return [...seen.values()];
}

function leafKey(shape: Shape): string | undefined {
  const { items, properties, required, additional, forms, options, ...rest } = shape;
  if (items !== undefined || forms !== undefined || typeof additional === "object") return undefined;
  if (properties.size > 0 || required.size > 0 || (options?.length ?? 0) > 20) return undefined;
  return JSON.stringify([rest, additional, options]);
}

/** Whether no value can fit two of them: by kind, or by a property that has another value in each. */
function areApart(forms: readonly Shape[]): boolean {
  const kinds = forms.map((form) => form.kinds ?? []);
  const all = kinds.flat().map((kind): Kind => (kind === "integer" ? "number" : kind));
  if (kinds.every((list) => list.length > 0) && new Set(all).size === all.length) return true;
  return discriminator(forms) !== undefined;
}

export function discriminator(forms: readonly Shape[]): string | undefined {
  const [first] = forms;
  if (first === undefined || forms.length < 2) return undefined;
  for (const [name, property] of first.properties) {
    if (property.options?.length !== 1) continue;
    const values = forms.map((form) => {
      const options = form.required.has(name) ? form.properties.get(name)?.options : undefined;
      return options?.length === 1 ? canonicalJson(options[0] ?? null) : undefined;
    });
    if (!values.includes(undefined) && new Set(values).size === forms.length) return name;
  }
  return undefined;
}

/**
 * One object for all forms: every property any of them has, those required that all of them require, and a sentence on
 * what each form needs beyond that.
 */
export function foldObject(base: Shape, forms: readonly Shape[], isOne: boolean, fuel: Fuel): Shape {
  const objects = forms.filter((form) => mayBe(form, "object")).map((form) => asObject(form, fuel));
  const folded: Draft = { ...base, kinds: ["object"] };
  const properties = new Map(base.properties);
  for (const name of new Set(objects.flatMap((form) => [...form.properties.keys()]))) {
    const known = base.properties.get(name);
    if (known !== undefined && !isOpen(known)) continue;
    const shapes = objects.flatMap((form) => form.properties.get(name) ?? []);
    fuel.spend(shapes.length);
    const told = shapes.filter((shape) => !isOpen(shape));
    properties.set(name, told.length === 0 ? (known ?? shapes[0] ?? ANY) : asForms(known ?? ANY, told, false, fuel));
  }
  folded.properties = properties;
  const [first, ...others] = objects;
  const shared = [...(first?.required ?? [])].filter((name) => others.every((form) => form.required.has(name)));
  folded.required = new Set([...base.required, ...shared]);
  if (objects.length > 0 && objects.every((form) => form.additional === false)) folded.additional = false;
  const words = objects.map((form) => formWords(form, folded));
  if (words.every((text) => text === "")) return folded;
  const list = words.map((text, index) => `(${index + 1}) ${text === "" ? "nothing further" : text}`);
  const lead = `${isOne ? "Exactly" : "At least"} one of these forms must hold:`;
  return saying(folded, `${lead} ${listWords(list, "; ", MAX_FORMS_CHARS)}.`);
}

/** Alternatives inside an alternative are folded too, so that what is left is an object with properties. */
function asObject(form: Shape, fuel: Fuel): Shape {
  if (form.forms === undefined) return { ...form, kinds: ["object"] };
  return foldObject({ ...wordsAlone(form), kinds: ["object"] }, form.forms, false, fuel);
}

function formWords(form: Shape, folded: Shape): string {
  const properties = new Map(
    [...form.properties].filter(([name, property]) => {
      const isShared = folded.required.has(name) && (property.options?.length ?? 2) > 1;
      return !isShared;
    }),
  );
  const inside = insideWords({ ...form, properties });
  const words = form.title ?? form.description;
  const needs = inside === "" ? "" : `needs ${inside}`;
  const named = words === undefined ? needs : `${clip(words, 100)}${needs === "" ? "" : `: ${needs}`}`;
  return [named, ...form.says.slice(0, 3).map((sentence) => clip(sentence, 200))]
    .filter((text) => text !== "")
    .join(" ");
}

/** `if` / `then` / `else`: properties that only a branch knows become optional ones, and the rule goes into the description. */
export function withCondition(
  base: Shape,
  condition: Shape,
  branches: { readonly met?: Shape; readonly unmet?: Shape },
  fuel: Fuel,
): Shape {
  const { met, unmet } = branches;
  const ruled = [met, unmet].filter((branch) => branch !== undefined);
  if (ruled.length === 0) return base;
  const parts = [
    `If it is ${shapeWords(condition)}`,
    ...(met === undefined ? [] : [`it must be ${shapeWords(met)}`]),
    ...(unmet === undefined ? [] : [`otherwise it must be ${shapeWords(unmet)}`]),
  ];
  const told = saying(base, `${parts.join(", ")}.`);
  if (!isOnly(base, "object")) return told;
  const properties = new Map(base.properties);
  for (const [name, property] of ruled.flatMap((branch) => [...branch.properties])) {
    fuel.spend(1);
    if (!properties.has(name)) properties.set(name, property);
  }
  return { ...told, properties };
}
