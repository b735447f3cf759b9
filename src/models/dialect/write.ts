// A shape as the JSON Schema of one dialect; whatever the dialect has no keyword for ends up in the descriptions.
import { defined } from "../../base/json/defined.js";
import { hashJson, isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { discriminator, orNull } from "./combine.js";
import { NoForm, type Rules } from "./rules.js";
import {
  ANY,
  BOUND_NAMES,
  BOUNDS,
  type Bound,
  boundSentence,
  type Fuel,
  isOfKinds,
  isOnly,
  type Kind,
  mayBe,
  namesWords,
  ofKind,
  optionsWords,
  patternSentence,
  type Shape,
  saying,
  shapeWords,
  valueWords,
  wordsAlone,
} from "./shape.js";

export interface Written {
  readonly schema: JsonObject;
  /** Property names that the provider refuses, by the name they have in the form. */
  readonly originals: ReadonlyMap<string, string>;
  /** Objects some of whose properties may be null in this form only, and which. */
  readonly nullables: ReadonlyMap<JsonObject, ReadonlySet<string>>;
}

export function writeSchema(shape: Shape, rules: Rules, fuel: Fuel): Written {
  return new Writer(rules, fuel).root(shape);
}

class Writer {
  readonly #rules: Rules;
  readonly #fuel: Fuel;
  readonly #originals = new Map<string, string>();
  readonly #nullables = new Map<JsonObject, ReadonlySet<string>>();

  constructor(rules: Rules, fuel: Fuel) {
    this.#rules = rules;
    this.#fuel = fuel;
  }

  root(shape: Shape): Written {
    // The title of the whole is the tool's name once more; it is not worth a sentence.
    const schema = this.#one(this.#rules.keywords.has("title") ? shape : untitled(shape), "object", 0);
    return { schema, originals: this.#originals, nullables: this.#nullables };
  }

  #write(shape: Shape, depth: number): JsonObject {
    this.#fuel.spend(1);
    if (depth > this.#rules.maxDepth) return this.#cut(shape, depth);
    if (shape.forms !== undefined) return this.#forms(shape, shape.forms, depth);
    if (shape.kinds === undefined) return this.#any(shape, depth);
    const kinds = shape.kinds.filter((kind) => kind !== "null");
    const [kind] = kinds;
    if (kind === undefined) return this.#one(shape, "null", depth);
    if (kinds.length === 1 && shape.kinds.length === 1) return this.#one(shape, kind, depth);
    if (this.#rules.kinds === "listed" && (kinds.length === 1 || this.#rules.optional === "omitted")) {
      return this.#one(shape, shape.kinds, depth);
    }
    return this.#forms(wordsAlone(shape), apart(shape), depth);
  }

  /** What lies too deep: its kind alone, and the rest in words. A list says no more of its items than their kind. */
  #cut(shape: Shape, depth: number): JsonObject {
    if (this.#rules.objects === "closed")
      throw new NoForm(`it is nested more than ${this.#rules.maxDepth} levels deep`);
    const told = saying(wordsAlone(shape), `Here: ${shapeWords(shape)}.`);
    const kind = shape.kinds?.[0] ?? shape.forms?.find((form) => form.kinds !== undefined)?.kinds?.[0];
    if (kind === undefined && this.#rules.any === "empty") return this.#words(told, {});
    if (kind !== "array") return this.#one(told, kind ?? "object", depth);
    const item = shape.items?.kinds?.[0];
    return this.#one(
      { ...told, items: ofKind(item === undefined || item === "array" ? "object" : item) },
      "array",
      depth,
    );
  }

  #any(shape: Shape, depth: number): JsonObject {
    switch (this.#rules.any) {
      case "empty":
        return this.#words(shape, {});
      case "never":
        throw new NoForm("it has a value of no particular type");
      case "forms": {
        const list: Shape = { ...ofKind("array"), items: { ...ofKind("string") } };
        const kinds = [ofKind("string"), ofKind("number"), ofKind("boolean"), ofKind("object"), list];
        return this.#forms(wordsAlone(shape), kinds, depth);
      }
    }
  }

  #forms(words: Shape, forms: readonly Shape[], depth: number): JsonObject {
    const some = this.#ordered(forms.filter((form) => !isOnly(form, "null")));
    const [first, ...others] = some;
    if (first === undefined) return this.#one(words, "null", depth);
    const mayBeNull = some.length < forms.length;
    if (this.#rules.besideForms) {
      const branches = some.map((form) => this.#write(form, depth));
      const list = mayBeNull && !some.some((form) => mayBe(form, "null")) ? [...branches, { type: "null" }] : branches;
      return this.#words(words, { anyOf: list });
    }
    // Nothing may stand beside `anyOf`, so its words go to the first form, and `null` with it.
    const told = this.#write(underWords(words, first), depth);
    const written = [told, ...others.map((form) => this.#write(form, depth))];
    // What came down to `null` only when it was written is no form of its own: an adapter would be left with none.
    const [lead, ...rest] = written.filter((node) => node["type"] !== "null");
    if (lead === undefined) return told;
    const hasNull = (mayBeNull || 1 + rest.length < written.length) && !isNullable(lead);
    const head = hasNull ? withNullForm(lead) : lead;
    return rest.length === 0 ? head : { anyOf: [head, ...rest] };
  }

  /** What tells objects apart comes first: strict decoders pick the form by its first key. */
  #ordered(forms: readonly Shape[]): readonly Shape[] {
    if (this.#rules.optional !== "nullable") return forms;
    const objects = forms.filter((form) => mayBe(form, "object") && form.forms === undefined);
    const key = discriminator(objects);
    const ordered = forms.map((form) => {
      const property = key === undefined ? undefined : form.properties.get(key);
      if (key === undefined || property === undefined) return form;
      return { ...form, properties: new Map([[key, property], ...form.properties]) };
    });
    const firsts = objects.map((form) => (key !== undefined ? form : form.properties.keys().next().value));
    if (new Set(firsts).size < firsts.length) throw new NoForm("some of its forms begin with the same property");
    return ordered;
  }

  /** One kind, or several in one list of types. */
  #one(shape: Shape, kinds: Kind | readonly Kind[], depth: number): JsonObject {
    const list = typeof kinds === "string" ? [kinds] : kinds;
    const node: Node = { type: list.length === 1 && list[0] !== undefined ? list[0] : list };
    const says = this.#keywords(node, shape, list);
    if (list.includes("array")) {
      node["items"] = this.#write(shape.items ?? ANY, depth + 1);
      if (shape.isUnique === true) {
        if (this.#rules.keywords.has("uniqueItems")) node["uniqueItems"] = true;
        else says.push("No item twice.");
      }
    }
    const names = list.includes("object") ? this.#object(node, shape, depth, says) : undefined;
    const written = this.#words(saying(shape, ...says), node);
    if (names !== undefined && names.size > 0) this.#nullables.set(written, names);
    return written;
  }

  /**
   * What one value may be, beside its kind, as keywords where the dialect has them. Returns the constraints that have none,
   * a sentence each.
   */
  #keywords(node: Node, shape: Shape, kinds: readonly Kind[]): string[] {
    const { options, pattern, format } = shape;
    const { formats, keywords, objects } = this.#rules;
    const says: string[] = [];
    const isListed = options !== undefined && this.#options(node, options, kinds, says);
    for (const bound of BOUND_NAMES) this.#bound(node, bound, shape.bounds[bound], kinds, says);
    if (isListed) return says; // pattern and format have nothing to add
    if (pattern !== undefined && kinds.includes("string")) {
      if (keywords.has("pattern") && isPattern(pattern, objects === "closed")) node["pattern"] = pattern;
      else says.push(patternSentence(pattern));
    }
    if (format === undefined) return says;
    if (formats === undefined || (formats.has(format) && isPlaceFor(format, kinds))) node["format"] = format;
    else says.push(`Format: ${format.slice(0, 80)}.`);
    return says;
  }

  /** True when they are written. */
  #options(node: Node, options: readonly JsonValue[], kinds: readonly Kind[], says: string[]): boolean {
    this.#fuel.spend(options.length / 4);
    const { options: allowed, objects } = this.#rules;
    const isTaken = options.every((option) => {
      if (!isOfKinds(option, kinds)) return false;
      if (allowed === "texts") return typeof option === "string" && option !== "";
      return allowed === "all" || typeof option !== "object" || option === null;
    });
    if (isTaken) node["enum"] = options;
    else says.push(options.length === 1 ? `Must be ${optionsWords(options)}.` : `One of ${optionsWords(options)}.`);
    if (!isTaken && objects === "closed") {
      throw new NoForm("some of its allowed values are objects or lists, or of another type than it says");
    }
    return isTaken;
  }

  #bound(node: Node, bound: Bound, value: number | undefined, kinds: readonly Kind[], says: string[]): void {
    const of = BOUNDS[bound];
    if (value === undefined || !(kinds.includes(of) || (of === "number" && kinds.includes("integer")))) return;
    const { keywords, maxRepeat, objects, optional } = this.#rules;
    const isLong = maxRepeat !== undefined && of !== "number" && value > maxRepeat;
    // The strict form of Anthropic's knows this one bound, and only with this value.
    const isLeastOne = bound === "minItems" && value === 1 && objects === "closed" && optional === "omitted";
    if ((keywords.has(bound) && !isLong) || isLeastOne) node[bound] = value;
    else says.push(boundSentence(bound, value));
  }

  /** The name itself, or one the provider takes that depends on nothing but it. */
  #nameFor(name: string): string {
    if (this.#rules.names.test(name)) return name;
    const stem = name.slice(0, MAX_STEM).replace(/[^a-zA-Z0-9_.-]/g, "_");
    const short = `${stem}_${hashJson(name).slice(0, 8)}`;
    this.#originals.set(short, name);
    return short;
  }

  /** Returns the properties that may be null in this form only. */
  #object(node: Node, shape: Shape, depth: number, says: string[]): ReadonlySet<string> {
    const { objects, optional } = this.#rules;
    const properties: [string, JsonObject][] = [];
    const nullables = new Set<string>();
    const required: string[] = [];
    const taken = new Set<string>();
    for (const [name, property] of shape.properties) {
      const key = this.#nameFor(name);
      if (taken.has(key)) throw new NoForm(`two of its properties would both be called ${JSON.stringify(key)}`);
      taken.add(key);
      const isRequired = shape.required.has(name);
      const plain = isEcho(property.title, name) ? untitled(property) : property;
      const told = key === name ? plain : saying(plain, `The tool itself calls it ${namesWords([name])}.`);
      const isPatched = optional === "nullable" && !isRequired && !mayBe(property, "null");
      if (isPatched) nullables.add(key);
      properties.push([key, this.#write(isPatched ? orNull(told) : told, depth + 1)]);
      if (isRequired || optional === "nullable") required.push(key);
    }
    if (properties.length > 0 || objects !== "unsaid") node["properties"] = Object.fromEntries(properties);
    if (required.length > 0 || optional === "nullable") node["required"] = required;
    this.#further(node, shape, depth, says);
    return nullables;
  }

  #further(node: Node, shape: Shape, depth: number, says: string[]): void {
    const { additional } = shape;
    switch (this.#rules.objects) {
      case "open":
        if (additional !== undefined) {
          node["additionalProperties"] =
            typeof additional === "boolean" ? additional : this.#write(additional, depth + 1);
        }
        return;
      case "unsaid":
        if (typeof additional === "object") says.push(`Further keys hold ${shapeWords(additional)}.`);
        else if (additional === true && shape.properties.size === 0) says.push("Its keys are free.");
        return;
      case "closed": {
        const isFree = additional !== undefined && additional !== false;
        if (isFree || (additional === undefined && shape.properties.size === 0 && depth > 0)) {
          throw new NoForm("it has an object with keys of any name");
        }
        node["additionalProperties"] = false;
      }
    }
  }

  /** Title, description and default, with every constraint that has no keyword. */
  #words(shape: Shape, node: Node): JsonObject {
    const says = [...shape.says];
    const { keywords } = this.#rules;
    if (shape.default !== undefined) {
      if (keywords.has("default")) node["default"] = shape.default;
      else says.push(`Default: ${valueWords(shape.default)}.`);
    }
    if (shape.title !== undefined && keywords.has("title")) node["title"] = shape.title;
    const lead = shape.description ?? (keywords.has("title") ? undefined : shape.title);
    const own = typeof node["description"] === "string" ? [node["description"]] : [];
    const parts = [...(lead === undefined ? [] : [lead]), ...own, ...new Set(says)];
    if (parts.length === 0) return node;
    const { type, anyOf, ...rest } = node;
    const first = defined({ type, anyOf });
    return { ...first, description: parts.join(" "), ...rest };
  }
}

function isNullable(node: JsonObject): boolean {
  const { anyOf } = node;
  const isNull = (branch: JsonValue) => isJsonObject(branch) && (branch["type"] === "null" || isNullable(branch));
  return Array.isArray(anyOf) && anyOf.some(isNull);
}

/** Beside a single form: of several the first takes it, since adapters make a mark of `null`, and nothing may stand beside forms. */
function withNullForm(node: JsonObject): JsonObject {
  const { anyOf } = node;
  const [first, ...rest] = Array.isArray(anyOf) ? anyOf : [];
  return isJsonObject(first) ? { ...node, anyOf: [withNullForm(first), ...rest] } : { anyOf: [node, { type: "null" }] };
}

/** A schema that is being written. */
export interface Node {
  [keyword: string]: JsonValue;
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

function isPlaceFor(format: string, kinds: readonly Kind[]): boolean {
  if (!/^(?:int|uint|float|double)/.test(format)) return kinds.includes("string");
  return kinds.includes(format.startsWith("int") ? "integer" : "number");
}

const MAX_STEM = 50;

// Shapes as they are about to be written: a kind at a time, without words that say nothing, with words of what they stand in.

/** One shape per kind, each with what concerns it. */
function apart(shape: Shape): readonly Shape[] {
  const { title: _title, description: _description, default: _default, options, ...rest } = shape;
  return (shape.kinds ?? []).map((kind): Shape => {
    const own = options?.filter((option) => isOfKinds(option, [kind]));
    const fitting = own === undefined || own.length === 0 ? {} : { options: own };
    return { ...rest, ...fitting, kinds: [kind], says: [] };
  });
}

/** Generators give every property its own name as a title: tokens that say nothing. */
function isEcho(title: string | undefined, name: string): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
  return title !== undefined && title.length <= 100 && plain(title) === plain(name);
}

function untitled(shape: Shape): Shape {
  const { title: _title, ...rest } = shape;
  return rest;
}

/** What was said of all forms together, said of this one. */
function underWords(words: Shape, shape: Shape): Shape {
  const description = [words.description ?? words.title, shape.description].filter((text) => text !== undefined);
  const preset = words.default === undefined ? shape.default : words.default;
  return {
    ...saying(shape, ...words.says),
    ...defined({ description: description.length === 0 ? undefined : description.join(" "), default: preset }),
  };
}
