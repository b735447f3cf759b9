// The values in a text that speak for themselves: JSON, quoted strings, URLs, paths and numbers, with where they stand.
import { endOfString, type JsonValue, parseJson } from "../../base/json/json.js";

export type SpanKind = "json" | "quoted" | "url" | "path" | "number";

export interface Span {
  readonly kind: SpanKind;
  readonly start: number;
  readonly end: number;
  readonly value: JsonValue;
  /** The value as it is written, without quotation marks. */
  readonly text: string;
}

const QUOTES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "`": "`",
  "“": "”",
  "‘": "’",
  "«": "»",
  "„": "“",
};

/** Lengths are bounded everywhere: without that, a line of dashes or slashes would cost its square in time. */
const URL_FORM = /[a-z][a-z0-9+.-]{0,30}:\/\/[^\s<>"']{1,2000}/iy;
const PATH_FORMS: readonly RegExp[] = [
  /(?:~|\.{1,2})?\/[^\s,;"'<>|]{0,1000}/y,
  /[A-Za-z]:\\[^\s,;"'<>|]{0,1000}/y,
  /[\p{L}\p{N}_.*@-]{1,200}(?:[/\\][\p{L}\p{N}_.*@+-]{1,200}){1,50}[/\\]?/uy,
  /[\p{L}\p{N}_.*@-]{1,200}[/\\](?=\s|$)/uy,
  /[\p{L}\p{N}_*-][\p{L}\p{N}_.*-]{0,200}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\p{L}\p{N}])/uy,
  /\*{1,2}(?:\.[A-Za-z0-9]{1,8})?/y,
  /\.[A-Za-z][\w.-]{1,200}/y,
  /\.{1,2}(?=\s|$)/y,
];
/** What looks like a path and is none. */
const NO_PATH = /^(?:and\/or|e\.g|i\.e|[.,/\\]*\d[\d.,/\\]*|\/{2,}|\*+)$/i;
/** A slash by itself is the root only after such a word; elsewhere it divides. */
const BEFORE_ROOT = /\b(?:in|of|at|under|from|to|list|ls)\s+$/i;
const NUMBER_FORM = /[-+]?(?:\d{1,3}(?:,\d{3}){1,6}(?!\d)|\d{1,30})(?:\.\d{1,30})?(?:e[+-]?\d{1,3})?/iy;
const AFTER_NUMBER = /x(?=\d)|(?:%|s|ms|sec|secs|min|px|kb|mb)?(?![\p{L}\p{N}_])/iuy;

/** Brackets and quotation marks that are tried, since each may scan to the end; and values that are kept. */
const MAX_OPENINGS = 200;
const MAX_SPANS = 200;

/** The values of a text from left to right; they never overlap. */
export function scan(text: string): Span[] {
  const spans: Span[] = [];
  let openings = 0;
  let at = 0;
  while (at < text.length && spans.length < MAX_SPANS) {
    const char = text[at] ?? "";
    const isOpening = (char === "{" || char === "[" || char in QUOTES) && openings++ < MAX_OPENINGS;
    const span = (isOpening ? (jsonAt(text, at) ?? quotedAt(text, at)) : undefined) ?? tokenAt(text, at);
    if (span !== undefined) spans.push(span);
    at = span?.end ?? at + 1;
  }
  return spans;
}

/** The text with some ranges replaced by spaces, so that positions stay and their words do not count. */
export function blank(text: string, ranges: readonly { readonly start: number; readonly end: number }[]): string {
  let result = "";
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    const from = Math.max(start, result.length);
    if (end <= from) continue;
    result += text.slice(result.length, from);
    result += " ".repeat(end - from);
  }
  return result + text.slice(result.length);
}

function jsonAt(text: string, start: number): Span | undefined {
  if (text[start] !== "{" && text[start] !== "[") return undefined;
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      at = endOfString(text, at);
      if (at === -1) return undefined;
    } else if (char === "{" || char === "[") depth++;
    else if ((char === "}" || char === "]") && --depth === 0) {
      const json = text.slice(start, at + 1);
      const parsed = parseJson(json);
      return parsed.ok ? { kind: "json", start, end: at + 1, value: parsed.value, text: json } : undefined;
    }
  }
  return undefined;
}

function quotedAt(text: string, start: number): Span | undefined {
  const close = QUOTES[text[start] ?? ""];
  // An apostrophe inside a word is no quotation mark.
  if (close === undefined || /[\p{L}\p{N}]/u.test(text[start - 1] ?? "")) return undefined;
  for (let end = text.indexOf(close, start + 1); end > start; end = text.indexOf(close, end + 1)) {
    // Nor is one before a letter the closing one.
    if (/[\p{L}\p{N}]/u.test(text[end + 1] ?? "")) continue;
    const quoted = text.slice(start + 1, end);
    return { kind: "quoted", start, end: end + 1, value: quoted, text: quoted };
  }
  return undefined;
}

function tokenAt(text: string, start: number): Span | undefined {
  // Not in the middle of a word or of a version such as v1.2.
  const before = text.slice(Math.max(0, start - 2), start);
  if (/[\p{L}\p{N}_]$|\d[.,]$/u.test(before) && !isSecondFactor(text, start)) return undefined;
  const url = match(URL_FORM, text, start);
  if (url !== undefined) return { kind: "url", ...trimmed(url, start) };
  for (const form of PATH_FORMS) {
    const found = match(form, text, start);
    if (found === undefined) continue;
    const path = trimmed(found, start);
    const isLoneSlash = path.value === "/" && !BEFORE_ROOT.test(text.slice(Math.max(0, start - 20), start));
    if (path.value !== "" && !NO_PATH.test(path.value) && !isLoneSlash) return { kind: "path", ...path };
  }
  return numberAt(text, start);
}

/** The 600 of `800x600`. */
function isSecondFactor(text: string, start: number): boolean {
  return /\dx$/i.test(text.slice(Math.max(0, start - 2), start)) && /\d/.test(text[start] ?? "");
}

function numberAt(text: string, start: number): Span | undefined {
  const found = match(NUMBER_FORM, text, start);
  if (found === undefined) return undefined;
  // A sign belongs to the number only where no operand stands before it.
  if (/^[-+]/.test(found) && /[\d)]\s*$/.test(text.slice(Math.max(0, start - 2), start))) return undefined;
  const end = start + found.length;
  if (match(AFTER_NUMBER, text, end) === undefined) return undefined;
  const value = Number(found.replaceAll(",", ""));
  return Number.isFinite(value) ? { kind: "number", start, end, value, text: found } : undefined;
}

/** Without the punctuation of the sentence around it. */
function trimmed(found: string, start: number): { start: number; end: number; value: string; text: string } {
  const value = /^\.{1,2}$/.test(found) ? found : found.replace(/[.,;:!?)\]}]+$/, "");
  return { start, end: start + value.length, value, text: value };
}

function match(form: RegExp, text: string, at: number): string | undefined {
  form.lastIndex = at;
  return form.exec(text)?.[0];
}
