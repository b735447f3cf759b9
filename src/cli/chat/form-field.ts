// One field of a form, as a terminal asks for it: what it is in words, and what a typed line means for it.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { visibleLine } from "../terminal/text.js";

export interface Option {
  readonly value: string;
  readonly title: string;
}

export interface Field {
  readonly name: string;
  /** For the question: title, what it is for, bounds. */
  readonly label: string;
  readonly options: readonly Option[];
  readonly isRequired: boolean;
  readonly isMany: boolean;
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice";
  readonly usual?: JsonValue;
  readonly rules: JsonObject;
}

export type FieldAnswer =
  /** Without a value: the field is left out. */
  { readonly ok: true; readonly value?: JsonValue } | { readonly ok: false; readonly reason: string };

/** Undefined for a field of a kind nobody could fill in here. */
export function readField(name: string, raw: unknown, isRequired: boolean): Field | undefined {
  if (!isJsonObject(raw)) return undefined;
  const kind = kindOf(raw);
  if (!kind) return undefined;
  const isMany = raw["type"] === "array";
  const options = kind === "choice" ? optionsOf(isMany && isJsonObject(raw["items"]) ? raw["items"] : raw) : [];
  const usual = raw["default"];
  const base = { name, label: labelOf(name, raw), options, isRequired, isMany, kind, rules: raw };
  return usual === undefined || usual === null ? base : { ...base, usual };
}

function kindOf(raw: JsonObject): Field["kind"] | undefined {
  switch (raw["type"]) {
    case "string":
      return optionsOf(raw).length > 0 ? "choice" : "text";
    case "array":
      return "choice";
    case "number":
    case "integer":
    case "boolean":
      return raw["type"];
    default:
      return undefined;
  }
}

function optionsOf(raw: JsonObject): readonly Option[] {
  const titled = raw["oneOf"] ?? raw["anyOf"];
  if (Array.isArray(titled)) {
    return titled.flatMap((option) => {
      const { const: value, title } = isJsonObject(option) ? option : {};
      return typeof value === "string" ? { value, title: typeof title === "string" ? title : value } : [];
    });
  }
  const values = Array.isArray(raw["enum"]) ? raw["enum"] : [];
  return values.flatMap((value) => (typeof value === "string" ? { value, title: value } : []));
}

function labelOf(name: string, raw: JsonObject): string {
  const { title, description, format } = raw;
  const told = [description, boundsOf(raw), format].flatMap((note) =>
    typeof note === "string" && note !== "" ? visibleLine(note) : [],
  );
  const head = visibleLine(typeof title === "string" && title !== "" ? title : name);
  return told.length === 0 ? head : `${head} (${told.join("; ")})`;
}

function boundsOf({ minimum, maximum }: JsonObject): string | undefined {
  if (typeof minimum === "number" && typeof maximum === "number") return `${minimum} to ${maximum}`;
  if (typeof minimum === "number") return `at least ${minimum}`;
  return typeof maximum === "number" ? `at most ${maximum}` : undefined;
}

/** What is offered when nothing is typed, as people read it. */
export function usualText({ usual, options }: Field): string | undefined {
  if (usual === undefined) return undefined;
  const title = (value: JsonValue) => options.find((option) => option.value === value)?.title ?? textOf(value);
  return visibleLine(Array.isArray(usual) ? usual.map(title).join(", ") : title(usual));
}

function textOf(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** An empty line is the default, or leaves an optional field out. */
export function readTyped(field: Field, typed: string): FieldAnswer {
  const words = typed.trim();
  if (words === "") {
    if (field.usual !== undefined) return { ok: true, value: field.usual };
    return field.isRequired ? { ok: false, reason: "This is needed." } : { ok: true };
  }
  switch (field.kind) {
    case "text":
      return readText(field.rules, typed);
    case "number":
    case "integer":
      return readNumber(field, words);
    case "boolean":
      return readBoolean(words);
    case "choice":
      return field.isMany ? readChoices(field, words) : readChoice(field, words);
  }
}

function readText({ minLength, maxLength }: JsonObject, typed: string): FieldAnswer {
  const length = Array.from(typed).length; // code points, as JSON Schema counts
  if (typeof minLength === "number" && length < minLength)
    return { ok: false, reason: `At least ${minLength} characters.` };
  if (typeof maxLength === "number" && length > maxLength)
    return { ok: false, reason: `At most ${maxLength} characters.` };
  return { ok: true, value: typed };
}

function readNumber({ kind, rules: { minimum, maximum } }: Field, words: string): FieldAnswer {
  const value = Number(words);
  if (!Number.isFinite(value)) return { ok: false, reason: "Please type a number." };
  if (kind === "integer" && !Number.isInteger(value)) return { ok: false, reason: "Please type a whole number." };
  if (typeof minimum === "number" && value < minimum) return { ok: false, reason: `At least ${minimum}.` };
  if (typeof maximum === "number" && value > maximum) return { ok: false, reason: `At most ${maximum}.` };
  return { ok: true, value };
}

function readBoolean(words: string): FieldAnswer {
  const word = words.toLowerCase();
  if (["y", "yes", "true"].includes(word)) return { ok: true, value: true };
  if (["n", "no", "false"].includes(word)) return { ok: true, value: false };
  return { ok: false, reason: "Please answer y or n." };
}

/** By its number, its value or its title. */
function readChoice({ options }: Field, words: string): FieldAnswer {
  const numbered = /^\d+$/u.test(words) ? options[Number(words) - 1] : undefined;
  const word = words.toLowerCase();
  const named = options.find(({ value, title }) => value.toLowerCase() === word || title.toLowerCase() === word);
  const chosen = named ?? numbered;
  return chosen
    ? { ok: true, value: chosen.value }
    : { ok: false, reason: `Please choose from 1 to ${options.length}.` };
}

function readChoices(field: Field, words: string): FieldAnswer {
  const { minItems, maxItems } = field.rules;
  const values: JsonValue[] = [];
  for (const word of words
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")) {
    const read = readChoice(field, word);
    if (!read.ok) return { ok: false, reason: `"${visibleLine(word)}": ${read.reason}` };
    if (read.value !== undefined && !values.includes(read.value)) values.push(read.value);
  }
  if (typeof minItems === "number" && values.length < minItems)
    return { ok: false, reason: `At least ${minItems}, separated by commas.` };
  if (typeof maxItems === "number" && values.length > maxItems) return { ok: false, reason: `At most ${maxItems}.` };
  return { ok: true, value: values };
}
