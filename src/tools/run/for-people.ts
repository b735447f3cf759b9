// The arguments of a call for the person who is asked about it.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";

/**
 * Arguments as they are shown to the person who is asked. Long texts are cut and say how long they are; values that lie too
 * deep or come after too many others are named, not shown.
 */
export function forPeople(given: JsonObject): JsonObject {
  const { maxChars, maxDepth, textChars } = LIMITS.shownArguments;
  let charsLeft: number = maxChars;
  const shorten = (value: JsonValue, depth: number): JsonValue => {
    if (typeof value === "string") {
      const room = Math.max(0, Math.min(textChars, charsLeft));
      charsLeft -= Math.min(value.length, room) + 2;
      return value.length <= room ? value : `${value.slice(0, room)}… (${value.length} characters in all)`;
    }
    charsLeft -= 8;
    if (typeof value !== "object" || value === null) return value;
    if (depth >= maxDepth) return "… (nested deeper than is shown)";
    const isObject = isJsonObject(value);
    const entries = Object.entries(value);
    const shown: [string, JsonValue][] = [];
    for (const [name, field] of entries) {
      const left = entries.length - shown.length;
      if (charsLeft <= 0) {
        shown.push(["…", isObject ? `${left} more` : `… (${left} more)`]);
        break;
      }
      if (isObject) charsLeft -= name.length;
      shown.push([name, shorten(field ?? null, depth + 1)]);
    }
    return isObject ? Object.fromEntries(shown) : shown.map(([, item]) => item);
  };
  const shown = shorten(given, 0);
  return isJsonObject(shown) ? shown : {};
}
