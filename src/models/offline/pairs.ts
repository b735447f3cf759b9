// Arguments that are written out: `key=value`, `key: value`, `--key value`.
import type { JsonValue } from "../../base/json/json.js";
import { fits, fromText } from "./convert.js";
import type { Parameter } from "./parameters.js";
import type { Span } from "./spans.js";
import { words } from "./words.js";

export interface Pair {
  readonly parameter: Parameter;
  readonly value: JsonValue;
  readonly start: number;
  readonly end: number;
}

interface Key {
  readonly parameter: Parameter;
  readonly start: number;
  readonly valueStart: number;
  readonly isFlag: boolean;
}

export function findPairs(text: string, parameters: readonly Parameter[], spans: readonly Span[]): Pair[] {
  const keys = findKeys(text, parameters, spans);
  return keys.flatMap((key, index): Pair[] => {
    const limit = keys[index + 1]?.start ?? text.length;
    const found = valueOf(text, key, limit, spans);
    return found === undefined ? [] : [{ parameter: key.parameter, start: key.start, ...found }];
  });
}

/** Each parameter once, where it is first written as a key; never inside a quoted text or JSON. */
function findKeys(text: string, parameters: readonly Parameter[], spans: readonly Span[]): Key[] {
  const keys: Key[] = [];
  for (const parameter of parameters) {
    const parts = words(parameter.name);
    if (parts.length === 0) continue;
    const name = parts.join("[\\s_-]?");
    const form = new RegExp(
      `(?<![\\p{L}\\p{N}_/.-])(--)?${name}(?:\\s*=\\s*|:(?!//)\\s*|(?<=--${name})(?:\\s+|$))`,
      "giu",
    );
    for (const found of text.matchAll(form)) {
      const start = found.index;
      if (spans.some((span) => isOpaque(span) && start >= span.start && start < span.end)) continue;
      keys.push({ parameter, start, valueStart: start + found[0].length, isFlag: found[1] !== undefined });
      break;
    }
  }
  return keys
    .toSorted((one, other) => one.start - other.start || other.valueStart - one.valueStart)
    .filter((key, index, all) => index === 0 || key.start >= (all[index - 1]?.valueStart ?? 0));
}

function isOpaque(span: Span): boolean {
  return span.kind === "quoted" || span.kind === "json" || span.kind === "url";
}

function valueOf(
  text: string,
  key: Key,
  limit: number,
  spans: readonly Span[],
): { value: JsonValue; end: number } | undefined {
  const { parameter, valueStart } = key;
  const span = spans.find((one) => one.start === valueStart && (one.kind === "quoted" || one.kind === "json"));
  if (span !== undefined) {
    const value = fits(span.value, parameter) ? span.value : fromText(text.slice(span.start, span.end), parameter);
    const unquoted = typeof span.value === "string" ? fromText(span.value, parameter) : undefined;
    const found = span.kind === "quoted" ? (unquoted ?? value) : value;
    return found === undefined ? undefined : { value: found, end: span.end };
  }
  const rest = text.slice(valueStart, limit);
  if (key.isFlag && parameter.kind === "boolean" && !/^(?:true|false|yes|no|on|off)\b/i.test(rest)) {
    return { value: true, end: valueStart };
  }
  const written = isOneToken(parameter) ? (/^\S+/.exec(rest)?.[0] ?? "") : rest;
  const isLast = limit === text.length;
  const raw = (isLast ? written : written.replace(/\s(?:and|with)\s*$/i, "")).trimEnd().replace(/[,;]+$/, "");
  const value = raw.trim() === "" ? undefined : fromText(raw.trim(), parameter);
  return value === undefined ? undefined : { value, end: valueStart + raw.length };
}

/** Running text goes on to the next key; everything else ends at the next space. */
function isOneToken(parameter: Parameter): boolean {
  if (parameter.choices !== undefined) return false;
  if (parameter.kind === "string" || parameter.kind === "any") return parameter.role !== "plain";
  return parameter.kind !== "array" && parameter.kind !== "object";
}
