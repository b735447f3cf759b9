// A shape as the JSON Schema of one dialect; whatever the dialect has no keyword for ends up in the descriptions.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { discriminator, orNull } from "./alternatives.js";
import type { Fuel } from "./fuel.js";
import { type Node, writeKeywords } from "./keywords.js";
import { Names } from "./names.js";
import { apart, isEcho, underWords, untitled } from "./reshape.js";
import { NoForm, type Rules } from "./rules.js";
import { ANY, isOnly, type Kind, mayBe, ofKind, type Shape, saying, wordsAlone } from "./shape.js";
import { namesWords, shapeWords, valueWords } from "./words.js";

export interface Written {
  readonly schema: JsonObject;
  readonly names: Names;
  /** Objects some of whose properties may be null in this form only, and which. */
  readonly nullables: ReadonlyMap<JsonObject, ReadonlySet<string>>;
  readonly notes: readonly string[];
}

export function writeSchema(shape: Shape, rules: Rules, fuel: Fuel): Written {
  return new Writer(rules, fuel).root(shape);
}

class Writer {
  readonly #rules: Rules;
  readonly #fuel: Fuel;
  readonly #names: Names;
  readonly #nullables = new Map<JsonObject, ReadonlySet<string>>();
  readonly #notes = new Set<string>();

  constructor(rules: Rules, fuel: Fuel) {
    this.#rules = rules;
    this.#fuel = fuel;
    this.#names = new Names(rules.names);
  }

  root(shape: Shape): Written {
    // The title of the whole is the tool's name once more; it is not worth a sentence.
    const schema = this.#one(this.#rules.keywords.has("title") ? shape : untitled(shape), "object", 0);
    return { schema, names: this.#names, nullables: this.#nullables, notes: [...this.#notes] };
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
    this.#note("Parts nested too deep are told in words only.");
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
    const says = writeKeywords(node, shape, { kinds: list, rules: this.#rules, fuel: this.#fuel });
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

  /** Returns the properties that may be null in this form only. */
  #object(node: Node, shape: Shape, depth: number, says: string[]): ReadonlySet<string> {
    const { objects, optional } = this.#rules;
    const properties: [string, JsonObject][] = [];
    const nullables = new Set<string>();
    const required: string[] = [];
    const taken = new Set<string>();
    for (const [name, property] of shape.properties) {
      const key = this.#names.of(name);
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

  /** Title, description and default, with everything that had to be told. */
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
    for (const sentence of says) this.#note(sentence);
    const parts = [...(lead === undefined ? [] : [lead]), ...own, ...new Set(says)];
    if (parts.length === 0) return node;
    const { type, anyOf, ...rest } = node;
    const first = defined({ type, anyOf });
    return { ...first, description: parts.join(" "), ...rest };
  }

  #note(note: string): void {
    if (this.#notes.size < 20) this.#notes.add(note);
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
