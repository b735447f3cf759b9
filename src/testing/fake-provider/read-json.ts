// Reading requests field by field: a field of the wrong kind reads as absent.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";

export function textField(value: JsonObject, key: string): string | undefined {
  const found = value[key];
  return typeof found === "string" ? found : undefined;
}

export function listField(value: JsonObject, key: string): readonly JsonValue[] {
  const found = value[key];
  return typeof found === "object" && found !== null && !isJsonObject(found) ? found : [];
}

export function objectField(value: JsonObject, key: string): JsonObject | undefined {
  const found = value[key];
  return isJsonObject(found) ? found : undefined;
}

export function objectsIn(value: JsonObject, key: string): readonly JsonObject[] {
  return listField(value, key).filter((item) => isJsonObject(item));
}

export function headerOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  name: string,
): string | undefined {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function bearerOf(headers: Readonly<Record<string, string | string[] | undefined>>): string | undefined {
  return /^Bearer (.+)$/.exec(headerOf(headers, "authorization") ?? "")?.[1];
}
