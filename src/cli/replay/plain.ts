// A message as it would stand on the wire.
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";

export function plain(message: object): JsonObject {
  const parsed = parseJson(JSON.stringify(message));
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
}
