// Words and JSON values as values of the kind a parameter wants, or nothing when they do not fit.
import { isJsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import { isList, type Parameter, type ValueShape } from "./parameters.js";
import { words } from "./words.js";

const YES = new Set(["true", "yes", "on", "y", "1"]);
const NO = new Set(["false", "no", "off", "n", "0"]);

/** A text somebody wrote as the value of a parameter. */
export function fromText(text: string, parameter: Parameter): JsonValue | undefined {
  if (parameter.kind === "array") return arrayFromText(text, parameter);
  return shapeFromText(text, parameter);
}

function shapeFromText(text: string, shape: ValueShape): JsonValue | undefined {
  if (shape.choices !== undefined) {
    const found = findChoice(text, shape.choices);
    return found !== undefined && text.slice(0, found.start).trim() === "" ? found.value : undefined;
  }
  switch (shape.kind) {
    case "string":
      return text;
    case "number":
    case "integer": {
      const value = text.trim() === "" ? Number.NaN : Number(text.replaceAll(/(\d),(?=\d{3})/g, "$1"));
      return Number.isFinite(value) && (shape.kind === "number" || Number.isInteger(value)) ? value : undefined;
    }
    case "boolean": {
      const word = text.trim().toLowerCase();
      return YES.has(word) ? true : NO.has(word) ? false : undefined;
    }
    case "object":
    case "array": {
      const parsed = parseJson(text);
      return parsed.ok && fits(parsed.value, shape) ? parsed.value : undefined;
    }
    case "any": {
      const parsed = parseJson(text);
      return parsed.ok ? parsed.value : text;
    }
  }
}

function arrayFromText(text: string, parameter: Parameter): JsonValue | undefined {
  const parsed = parseJson(text);
  if (parsed.ok && isList(parsed.value)) return parsed.value;
  const { item } = parameter;
  if (item === undefined || item.kind === "object" || item.kind === "array") return undefined;
  const values = splitList(text).map((part) => shapeFromText(part, item));
  const usable = values.filter((value) => value !== undefined);
  return usable.length > 0 && usable.length === values.length ? usable : undefined;
}

/** `a, b and c` as its three members. */
function splitList(text: string): string[] {
  return text
    .split(/\s*(?:,|;|\n)\s*(?:and\s+)?|\s+and\s+/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Whether a JSON value can stand for the parameter as it is. */
export function fits(value: JsonValue, shape: ValueShape): boolean {
  if (shape.choices !== undefined && !shape.choices.includes(value)) return false;
  switch (shape.kind) {
    case "string":
      return typeof value === "string";
    case "number":
      return typeof value === "number";
    case "integer":
      return Number.isInteger(value);
    case "boolean":
      return typeof value === "boolean";
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    case "any":
      return true;
  }
}

/** The first mention of one of the choices, whatever its case and separators; the longest where several begin. */
export function findChoice(
  text: string,
  choices: readonly JsonValue[],
): { value: JsonValue; start: number; end: number } | undefined {
  const found = choices.flatMap((value) => {
    const parts = words(typeof value === "string" ? value : JSON.stringify(value));
    if (parts.length === 0) return [];
    const form = new RegExp(`(?<![\\p{L}\\p{N}_])${parts.join("[\\s_-]*")}(?![\\p{L}\\p{N}_])`, "iu");
    const match = form.exec(text);
    return match === null ? [] : [{ value, start: match.index, end: match.index + match[0].length }];
  });
  return found.toSorted((one, other) => one.start - other.start || other.end - one.end)[0];
}
