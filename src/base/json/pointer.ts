// JSON pointers (RFC 6901): reading one value out of another. Total: a pointer that leads nowhere gives nothing.
import { isJsonObject, type JsonValue } from "./json.js";

/** Undefined for a text that is no JSON pointer. The empty pointer means the whole value. */
export function pointerSteps(pointer: string): readonly string[] | undefined {
  if (pointer === "") return [];
  if (!pointer.startsWith("/") || /~(?![01])/u.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Undefined when there is nothing at that place: JSON itself has no undefined. Only own keys count, so `__proto__` is no way out. */
export function valueAtPointer(value: JsonValue, pointer: string): JsonValue | undefined {
  const steps = pointerSteps(pointer);
  if (!steps) return undefined;
  let current: JsonValue | undefined = value;
  for (const step of steps) {
    if (isJsonObject(current)) current = Object.hasOwn(current, step) ? current[step] : undefined;
    else if (Array.isArray(current))
      current = /^(?:0|[1-9][0-9]{0,9})$/u.test(step) ? current[Number(step)] : undefined;
    else return undefined;
  }
  return current;
}
