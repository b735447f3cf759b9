// Whether two JSON values are equal. For values whose depth has been checked: it walks recursively.
import { isJsonObject, type JsonValue } from "./json.js";

/** Key order does not matter. `onStep` hears of every value looked at, so that a caller can bound the work. */
export function sameJson(one: JsonValue | undefined, other: JsonValue | undefined, onStep?: () => void): boolean {
  onStep?.();
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item: JsonValue, index) => sameJson(item, other[index], onStep));
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  for (const key in one) if (!Object.hasOwn(other, key) || !sameJson(one[key], other[key], onStep)) return false;
  for (const key in other) if (!Object.hasOwn(one, key)) return false;
  return true;
}
