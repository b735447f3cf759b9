// Arguments as a person is shown them who is asked: complete in what matters, and never megabytes of it.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";

/** Long texts are cut and say how long they are; what lies too deep or comes after too many values is named, not shown. */
export function forPeople(given: JsonObject): JsonObject {
  const shown = new Shortener().shorten(given, 0);
  return isJsonObject(shown) ? shown : {};
}

class Shortener {
  #charsLeft: number = LIMITS.shownArguments.maxChars;

  shorten(value: JsonValue, depth: number): JsonValue {
    if (typeof value === "string") return this.#text(value);
    this.#charsLeft -= 8;
    if (typeof value !== "object" || value === null) return value;
    if (depth >= LIMITS.shownArguments.maxDepth) return "… (nested deeper than is shown)";
    return isJsonObject(value) ? this.#object(value, depth) : this.#list(value, depth);
  }

  #text(value: string): string {
    const room = Math.max(0, Math.min(LIMITS.shownArguments.textChars, this.#charsLeft));
    this.#charsLeft -= Math.min(value.length, room) + 2;
    return value.length <= room ? value : `${value.slice(0, room)}… (${value.length} characters in all)`;
  }

  #list(items: readonly JsonValue[], depth: number): JsonValue {
    const shown: JsonValue[] = [];
    for (const item of items) {
      if (this.#charsLeft <= 0) {
        shown.push(`… (${items.length - shown.length} more)`);
        break;
      }
      shown.push(this.shorten(item, depth + 1));
    }
    return shown;
  }

  #object(fields: JsonObject, depth: number): JsonObject {
    const shown: [string, JsonValue][] = [];
    const names = Object.keys(fields);
    for (const [index, name] of names.entries()) {
      if (this.#charsLeft <= 0) {
        shown.push(["…", `${names.length - index} more`]);
        break;
      }
      this.#charsLeft -= name.length;
      shown.push([name, this.shorten(fields[name] ?? null, depth + 1)]);
    }
    return Object.fromEntries(shown);
  }
}
