// `key=value` words -> the arguments of a tool, each read as its schema wants it.
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import { nearest } from "../../../base/text/nearest.js";
import { misused } from "../../command.js";

/** Throws `usage.invalid` with the word's key, never with its value. */
export function readArguments(words: readonly string[], schema: JsonObject): JsonObject {
  const args: Fields = {};
  for (const word of words) {
    const at = word.indexOf("=");
    if (at < 1)
      throw misused(`arguments are written key=value; ${JSON.stringify(word.split("=")[0])} has no key or no "="`);
    put(args, word.slice(0, at).split("."), word.slice(at + 1), schema);
  }
  return args;
}

/** `key=@FILE` becomes `key=` and the text of the file; `key=@@text` stands for a text that begins with "@". */
export async function withFileTexts(
  words: readonly string[],
  readFile: (path: string) => Promise<string>,
): Promise<readonly string[]> {
  return await Promise.all(
    words.map(async (word) => {
      const [, key = "", value = ""] = /^([^=]+=)@(.*)$/su.exec(word) ?? [];
      if (key === "") return word;
      return value.startsWith("@") ? key + value : key + (await readFile(value));
    }),
  );
}

type Fields = Record<string, JsonValue | undefined>;

function put(target: Fields, path: readonly string[], text: string, schema: JsonObject): void {
  const [key = "", ...inside] = path;
  if (key === "__proto__") throw misused(`there is no argument ${JSON.stringify(key)}`);
  const field = fieldOf(schema, key);
  const before = Object.hasOwn(target, key) ? target[key] : undefined;
  if (inside.length === 0) {
    const value = readValue(text, field, key);
    // The same key again is the next item of a list, and of nothing else.
    if (before !== undefined && !(Array.isArray(before) && Array.isArray(value)))
      throw misused(`${key} is given twice`);
    target[key] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
    return;
  }
  const object: Fields = isJsonObject(before) ? { ...before } : {};
  put(object, inside, text, field);
  target[key] = object;
}

/** What the schema says of a key; nothing where it leaves that open. Throws for a key it does not have. */
function fieldOf(schema: JsonObject, key: string): JsonObject {
  const { properties, additionalProperties } = schema;
  const known = isJsonObject(properties) ? properties : {};
  const field = Object.hasOwn(known, key) ? known[key] : undefined;
  if (isJsonObject(field)) return field;
  const names = Object.keys(known);
  const isClosed = additionalProperties === false || (names.length > 0 && additionalProperties === undefined);
  if (field !== undefined || !isClosed) return isJsonObject(additionalProperties) ? additionalProperties : {};
  const near = nearest(key, names);
  const meant = near === undefined ? `; it takes ${names.join(", ") || "none"}` : `; did you mean ${near}?`;
  throw misused(`the tool has no argument ${JSON.stringify(key)}${meant}`);
}

function readValue(text: string, field: JsonObject, key: string): JsonValue {
  const types = typesOf(field);
  const wants = (type: string) => types.includes(type);
  const parsed = parseJson(text);
  if (types.length === 0) return parsed.ok ? parsed.value : text;
  if (wants("array")) return listOf(text, field, key);
  if (wants("boolean") && (text === "true" || text === "false")) return text === "true";
  if ((wants("number") || wants("integer")) && parsed.ok && typeof parsed.value === "number") {
    // A whole number beyond this is another one by the time it is sent.
    if (/^-?\d+$/u.test(text) && !Number.isSafeInteger(parsed.value)) throw misused(`${key} is too large a number`);
    return parsed.value;
  }
  if (wants("null") && text === "null") return null;
  if (wants("object") && parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  if (wants("string")) return text;
  throw misused(`${key} must be ${types.map(kindText).join(" or ")}`);
}

function kindText(type: string): string {
  if (type === "object") return 'an object, written as JSON: {"name": "value"}';
  return type === "integer" ? "a whole number" : `a ${type}`;
}

/** A JSON list, or one item of it: `tag=a tag=b`. */
function listOf(text: string, field: JsonObject, key: string): JsonValue {
  const parsed = parseJson(text);
  if (parsed.ok && Array.isArray(parsed.value)) {
    const list: readonly JsonValue[] = parsed.value;
    return list;
  }
  const { items } = field;
  const item = isJsonObject(items) ? items : { type: "string" };
  if (typesOf(item).includes("object") && !(parsed.ok && isJsonObject(parsed.value))) {
    throw misused(`${key} must be a list of objects, written as JSON: [{"name": "value"}]`);
  }
  return [readValue(text, item, key)];
}

function typesOf(field: JsonObject): readonly string[] {
  const { type, enum: choices, anyOf, oneOf } = field;
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((one) => typeof one === "string");
  if (Array.isArray(choices) && choices.every((one) => typeof one === "string")) return ["string"];
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  return branches.flatMap((branch) => (isJsonObject(branch) ? typesOf(branch) : []));
}
