// Whether the text of a result already says what its structured content says, so that no model is sent it twice.
import { isJsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";

/**
 * True when the texts are the JSON of the value, the value itself, or one JSON for each item of it; also of what stands
 * under its one key: servers wrap what they say in `result`, `content` or whatever they call it. Long texts are taken at their first character's word:
 * parsing them would hold everybody up.
 */
export function isSaidBy(texts: readonly string[], structured: JsonValue): boolean {
  const [inner, ...others] = isJsonObject(structured) ? Object.values(structured) : [];
  return isOneOf(texts, structured) || (others.length === 0 && inner !== undefined && isOneOf(texts, inner));
}

function isOneOf(texts: readonly string[], value: JsonValue): boolean {
  if (texts.length === 1) return isJsonOf(texts[0] ?? "", value);
  return Array.isArray(value) && value.length === texts.length && texts.every((text, at) => isJsonOf(text, value[at]));
}

function isJsonOf(text: string, value: JsonValue | undefined): boolean {
  if (text === value) return true;
  const start = text.trimStart()[0];
  if (text.length > LIMITS.resultMaxBytes) return start === (Array.isArray(value) ? "[" : "{");
  const parsed = parseJson(text);
  return parsed.ok && isSame(parsed.value, value, 0);
}

function isSame(one: JsonValue | undefined, other: JsonValue | undefined, depth: number): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (depth > LIMITS.dataMaxDepth) return false;
  if (!isJsonObject(one) || !isJsonObject(other)) {
    if (isJsonObject(one) || isJsonObject(other) || one.length !== other.length) return false;
    return one.every((item, at) => isSame(item, other[at], depth + 1));
  }
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key], depth + 1));
}
