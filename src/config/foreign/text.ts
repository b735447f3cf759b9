// The text of another client's file as data, with places: JSON with comments, or TOML. Never throws.
import { messageOf } from "../../base/errors.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import { type KeyPath, parseDocument } from "../layers/document.js";
import { CONFIG_LIMITS } from "../limits.js";

export interface ForeignText {
  /** Undefined when nothing can be read of it. */
  readonly root: JsonObject | undefined;
  readonly problems: readonly { readonly message: string; readonly at: TextPlace }[];
  locate(path: KeyPath): TextPlace;
  /** Whether a syntax error lies in it: then what was read of it may not be what was meant. */
  isBroken(path: KeyPath): boolean;
}

interface TextPlace {
  readonly line?: number;
  readonly column?: number;
}

export async function parseForeign(text: string, format: "json" | "toml"): Promise<ForeignText> {
  if (format === "toml") return await parseToml(text);
  return text.length > CONFIG_LIMITS.configMaxBytes ? parseLarge(text) : parseSmall(text);
}

function parseSmall(text: string): ForeignText {
  const document = parseDocument(text);
  const faults = document.problems.filter(({ severity }) => severity === "error");
  const problems = faults.map(({ message, position }) => ({ message, at: position }));
  return {
    root: isJsonObject(document.value) ? document.value : undefined,
    problems: isJsonObject(document.value) || document.value === undefined ? problems : [...problems, NO_OBJECT],
    locate: (path) => document.locate(path, "key"),
    isBroken: (path) => document.isBroken(path),
  };
}

const NO_OBJECT = { message: "expected an object", at: {} };

/** `~/.claude.json` holds what was done in every project: too much for a tree with places. */
function parseLarge(text: string): ForeignText {
  const parsed = parseJson(text);
  if (!parsed.ok) return unreadable(parsed.reason, {});
  return isJsonObject(parsed.value) ? whole(parsed.value, () => ({})) : unreadable(NO_OBJECT.message, {});
}

async function parseToml(text: string): Promise<ForeignText> {
  const { parse, TomlError } = await import("smol-toml"); // a few people's file
  try {
    const value = asJson(parse(text));
    return whole(isJsonObject(value) ? value : {}, (path) => tablePlace(text, path));
  } catch (error) {
    const at = error instanceof TomlError ? { line: error.line, column: error.column } : {};
    return unreadable((messageOf(error).split("\n")[0] ?? "").replace(/^Invalid TOML document: /u, ""), at);
  }
}

function whole(root: JsonObject, locate: ForeignText["locate"]): ForeignText {
  return { root, problems: [], locate, isBroken: () => false };
}

function unreadable(message: string, at: TextPlace): ForeignText {
  return { root: undefined, problems: [{ message, at }], locate: () => ({}), isBroken: () => false };
}

/** Where a table begins: the parser does not say. */
function tablePlace(text: string, path: KeyPath): TextPlace {
  const wanted = path.map(String);
  const lines = text.split("\n");
  const at = lines.findIndex((line) => {
    const keys = /^\s*\[([^[\]]+)\]/u.exec(line)?.[1]?.match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^.\s]+/gu) ?? [];
    return keys.length >= wanted.length && wanted.every((key, index) => unquoted(keys[index] ?? "") === key);
  });
  return at < 0 ? {} : { line: at + 1, column: 1 };
}

function unquoted(key: string): string {
  if (key.startsWith("'")) return key.slice(1, -1);
  const parsed = key.startsWith('"') ? parseJson(key) : undefined;
  return parsed?.ok && typeof parsed.value === "string" ? parsed.value : key;
}

/** Dates and numbers that JSON does not have become texts. Not deep: the parser bounds that. */
function asJson(value: unknown): JsonValue {
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (Array.isArray(value)) return value.map(asJson);
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object") return null;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, asJson(field)]));
}
