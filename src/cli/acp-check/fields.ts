// Reading JSON that others wrote: what is not of the expected kind counts as absent.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";

export function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : [];
}

export function objectIn(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function stringIn(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** For ids and for people: text as it is, anything else as JSON. */
export function wordOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}
