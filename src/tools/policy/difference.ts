// What changed between two definitions of a tool, for the person who approved the first one.
import { defined } from "../../base/json/defined.js";
import { hashJson, isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { markHidden } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import type { ToolDefinition } from "../tool.js";

/** Exactly what the definition hash covers. */
export function definitionData(definition: ToolDefinition): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  return defined({
    name,
    title,
    description,
    inputSchema,
    outputSchema,
    annotations: annotations && { ...annotations },
  });
}

/** What approvals and locks are bound to. */
export function definitionHash(definition: ToolDefinition): string {
  return hashJson(definitionData(definition));
}

/**
 * One change a line, the words of the server made visible: what hides or reorders text is exactly what is looked for.
 * Bounded, and what is left out is counted. `before` is undefined when the earlier definition was too large to be kept.
 */
export function definitionDifference(before: JsonObject | undefined, after: ToolDefinition): readonly string[] {
  const data = definitionData(after);
  const whole = () => Array.from(leavesOf(data), ([path, value]) => textLines(`${path}: `, show(value))).flat();
  const lines = before ? changeLines(before, data) : [TOO_LARGE, ...whole()];
  const shown = lines.slice(0, TOOL_LIMITS.differenceMaxLines);
  const hidden = lines.length - shown.length;
  return hidden === 0 ? shown : [...shown, `… and ${hidden} more lines`];
}

const TOO_LARGE = "The earlier definition was too large to be kept; this is the one of now.";

function changeLines(before: JsonObject, after: JsonObject): readonly string[] {
  const old = leavesOf(before);
  const now = leavesOf(after);
  const lines: string[] = [];
  for (const path of new Set([...now.keys(), ...old.keys()])) {
    const was = old.get(path);
    const is = now.get(path);
    if (was === is || (was !== undefined && is !== undefined && JSON.stringify(was) === JSON.stringify(is))) continue;
    if (was === undefined) lines.push(...textLines(`added ${path}: `, show(is)));
    else if (is === undefined) lines.push(...textLines(`removed ${path}: `, show(was)));
    else lines.push(`changed ${path}:`, ...replacement(show(was), show(is)));
  }
  // The words differ in nothing that is written: only the order of keys, which no hash sees, or nothing at all.
  return lines.length > 0 ? lines : ["Nothing that can be shown."];
}

/** Around a change, so that one word in a long text is found. */
const CONTEXT_CHARS = 40;

function replacement(was: string, is: string): readonly string[] {
  const old = Array.from(was);
  const now = Array.from(is);
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const from = Math.max(0, head - CONTEXT_CHARS);
  const keep = Math.max(0, tail - CONTEXT_CHARS);
  const piece = (letters: readonly string[]) =>
    `${from > 0 ? "…" : ""}${letters.slice(from, letters.length - keep).join("")}${keep > 0 ? "…" : ""}`;
  return [...textLines("  - ", piece(old)), ...textLines("  + ", piece(now))];
}

function textLines(label: string, text: string): readonly string[] {
  const letters = Array.from(text);
  const cut = letters.slice(0, TOOL_LIMITS.differenceMaxTextChars).join("");
  const hidden = letters.length - TOOL_LIMITS.differenceMaxTextChars;
  const whole = hidden > 0 ? `${cut}… (${hidden} more characters)` : cut;
  const blank = " ".repeat(label.length);
  return markHidden(whole)
    .split("\n")
    .map((line, index) => `${index === 0 ? markHidden(label) : blank}${line}`);
}

/** Texts without their quotes, so that a person reads what a model would; anything else as JSON. */
function show(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}

/** Every value that is no object or list, by its path: `inputSchema.properties.path.type`. Empty ones count as values. */
function leavesOf(definition: JsonObject): ReadonlyMap<string, JsonValue> {
  const leaves = new Map<string, JsonValue>();
  const open: { readonly path: string; readonly value: JsonValue }[] = [{ path: "", value: definition }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, value } = next;
    const parts = partsOf(value);
    if (parts.length === 0) leaves.set(path, value);
    else
      for (const [key, part] of parts.reverse()) open.push({ path: path === "" ? key : `${path}.${key}`, value: part });
  }
  return leaves;
}

function partsOf(value: JsonValue): [string, JsonValue][] {
  if (Array.isArray(value)) return value.map((part: JsonValue, index) => [`[${index}]`, part]);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, part]) => (part === undefined ? [] : [[stepOf(key), part]]));
}

/** In quotes where it could be taken for two steps: no key may hide behind another. */
function stepOf(key: string): string {
  return /^[\w$-]+$/u.test(key) ? key : JSON.stringify(key);
}
