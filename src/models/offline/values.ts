// Words and JSON values as values of the kind a parameter wants, or nothing when they do not fit.
import { isJsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import { isList, type Parameter, type ValueShape } from "./parameters.js";
import type { Span } from "./spans.js";
import { isInvocation, isStopWord, likeness, stem, words } from "./words.js";

const YES = new Set(["true", "yes", "on", "y", "1"]);
const NO = new Set(["false", "no", "off", "n", "0"]);

/** A text written as the value of a parameter. */
export function fromText(text: string, parameter: Parameter): JsonValue | undefined {
  if (parameter.kind === "array") return arrayFromText(text, parameter);
  return shapeFromText(text, parameter);
}

function shapeFromText(text: string, shape: ValueShape): JsonValue | undefined {
  if (shape.choices !== undefined) {
    const found = findChoice(text, shape.choices);
    return found !== undefined && text.slice(0, found.start).trim() === "" ? found.value : undefined;
  }
  switch (shape.kind) {
    case "string":
      return text;
    case "number":
    case "integer": {
      const value = text.trim() === "" ? Number.NaN : Number(text.replaceAll(/(\d),(?=\d{3})/g, "$1"));
      return Number.isFinite(value) && (shape.kind === "number" || Number.isInteger(value)) ? value : undefined;
    }
    case "boolean": {
      const word = text.trim().toLowerCase();
      return YES.has(word) ? true : NO.has(word) ? false : undefined;
    }
    case "object":
    case "array":
    case "any": {
      const parsed = parseJson(text);
      if (parsed.ok && fits(parsed.value, shape)) return parsed.value;
      return shape.kind === "any" ? text : undefined;
    }
  }
}

function arrayFromText(text: string, parameter: Parameter): JsonValue | undefined {
  const parsed = parseJson(text);
  if (parsed.ok && isList(parsed.value)) return parsed.value;
  const { item } = parameter;
  if (item === undefined || item.kind === "object" || item.kind === "array") return undefined;
  const values = splitList(text).map((part) => shapeFromText(part, item));
  const usable = values.filter((value) => value !== undefined);
  return usable.length > 0 && usable.length === values.length ? usable : undefined;
}

/** `a, b and c` as its three members. */
function splitList(text: string): string[] {
  return text
    .split(/\s*(?:,|;|\n)\s*(?:and\s+)?|\s+and\s+/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Whether a JSON value can stand for the parameter as it is. */
export function fits(value: JsonValue, shape: ValueShape): boolean {
  const { choices, kind } = shape;
  if (choices !== undefined && !choices.includes(value)) return false;
  if (kind === "integer") return Number.isInteger(value);
  if (kind === "array") return Array.isArray(value);
  if (kind === "object") return isJsonObject(value);
  return kind === "any" || typeof value === kind;
}

/** The first mention of one of the choices, whatever its case and separators; the longest where several begin. */
export function findChoice(text: string, choices: readonly JsonValue[]): (Range & { value: JsonValue }) | undefined {
  const found = choices.flatMap((value) => {
    const parts = words(typeof value === "string" ? value : JSON.stringify(value));
    if (parts.length === 0) return [];
    const form = new RegExp(`(?<![\\p{L}\\p{N}_])${parts.join("[\\s_-]*")}(?![\\p{L}\\p{N}_])`, "iu");
    const match = form.exec(text);
    return match === null ? [] : [{ value, ...rangeOf(match) }];
  });
  return found.toSorted((one, other) => one.start - other.start || other.end - one.end)[0];
}

// Arguments that are written out: `key=value`, `key: value`, `--key value`.

export interface Pair extends Range {
  readonly parameter: Parameter;
  readonly value: JsonValue;
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

// Paths in plain words: "here", "in docs", "the folder src".

const HERE =
  /\b(?:(?:in|of|from|at|for)\s+)?(?:here|cwd|(?:this|the|my|our)?\s*(?:current|present|working)(?:\s+working)?\s+(?:folder|directory|dir)|(?:this|the|my|our)\s+(?:project|repo|repository|workspace)|this\s+(?:folder|directory|dir))\b/iu;
const IN_PLACE =
  /\b(?:in|inside|into|under|within|from|at|of|to)\s+(?:(?:the|my|our)\s+)?(?:(?:folder|directory|dir|file)\s+)?(?:(?:called|named)\s+)?([\p{L}\p{N}_.@-]+)(\s+(?:folder|directory|dir|file)\b)?/giu;
const NAMED = /\b(?:called|named|folder|directory|dir|file)\s+([\p{L}\p{N}_.@-]+)/giu;

/** Words for what is in a place, or for all of it. */
const GENERIC = /^(?:files?|folders?|director(?:y|ies)|contents?|everything|all|stuff|things?|documents?)$/i;

export function isGenericPlace(word: string): boolean {
  return GENERIC.test(word);
}

/** Whether a path is said to be where to work: "in /srv/app", or any absolute one. */
export function isPlaceToWorkIn(text: string, span: Span): boolean {
  if (span.kind !== "path") return false;
  return /^(?:[/~]|[A-Za-z]:)/.test(span.text) || /\b(?:in|at|inside)\s+$/i.test(text.slice(0, span.start));
}

/** The place a text speaks of, with the words that say so. */
export function nearbyPlace(
  text: string,
  toolWords: ReadonlySet<string>,
): (Range & { readonly path: string }) | undefined {
  const here = HERE.exec(text);
  if (here !== null) return { path: ".", ...rangeOf(here) };
  for (const form of [IN_PLACE, NAMED]) {
    // The last one: "a list of the files in docs" is about docs.
    const found = [...text.matchAll(form)].findLast((match) => isName(match[1] ?? "", match[2], toolWords));
    const name = found?.[1]?.replace(/[.,:]+$/, "");
    if (found !== undefined && name !== undefined && name !== "") return { path: name, ...rangeOf(found) };
  }
  return undefined;
}

function isName(word: string, suffix: string | undefined, toolWords: ReadonlySet<string>): boolean {
  const lower = word.toLowerCase();
  if (isStopWord(lower) || isGenericPlace(lower) || lower === "called" || lower === "named") return false;
  return suffix !== undefined || !toolWords.has(stem(lower));
}

// One sentence for several text parameters: "titled Shopping with content buy milk", "Shopping: buy milk".

export interface NamedText {
  readonly parameter: Parameter;
  readonly text: string;
}

/** What people say for a parameter of that name. */
const SAID_FOR = new Map<string, readonly string[]>([
  ["title", ["titled", "called", "named", "entitled"]],
  ["name", ["named", "called"]],
  ["content", ["contents", "saying", "text", "containing"]],
  ["text", ["saying", "content", "containing"]],
  ["body", ["saying", "text", "content", "containing"]],
  ["message", ["saying", "text"]],
]);

/** `text` is the whole sentence, `rest` the same without its command. */
export function splitTexts(text: string, rest: string, parameters: readonly Parameter[]): NamedText[] {
  const named = byName(text, parameters);
  const [only, another] = named;
  if (another !== undefined || (only !== undefined && !only.text.includes(": "))) return named;
  const others = parameters.filter((parameter) => parameter !== only?.parameter);
  const [first, second, third] = only === undefined ? parameters : [only.parameter, ...others];
  const both = only?.text ?? rest;
  const colon = /:\s+/.exec(both);
  if (first === undefined || second === undefined || third !== undefined || colon === null) return [];
  const before = both.slice(0, colon.index).trim();
  const after = both.slice(colon.index + colon[0].length).trim();
  const texts = [first, second].map((parameter, index) => ({ parameter, text: index === 0 ? before : after }));
  return before === "" || after === "" ? [] : texts;
}

/** The text after "with content" and the like, where a sentence says so in as many words. */
export function textAfterName(text: string, parameter: Parameter): string | undefined {
  const name = words(parameter.name).join("[\\s_-]?");
  if (name === "") return undefined;
  return new RegExp(`\\bwith\\s+(?:the\\s+|a\\s+)?${name}(?:\\s+(?:is|of))?[\\s:=]+(\\S.*)$`, "isu").exec(text)?.[1];
}

function byName(text: string, parameters: readonly Parameter[]): NamedText[] {
  const marks = parameters.flatMap((parameter) => {
    const last = words(parameter.name).at(-1) ?? "";
    const said = [words(parameter.name).join("[\\s_-]?"), ...(SAID_FOR.get(last) ?? [])].filter((word) => word !== "");
    if (said.length === 0) return [];
    const form = new RegExp(`(?:\\b(?:with|and|the|a)\\s+)*\\b(?:${said.join("|")})(?:\\s+(?:is|of))?[\\s:=]+`, "iu");
    const match = form.exec(text);
    return match === null ? [] : [{ parameter, ...rangeOf(match) }];
  });
  const ordered = marks.toSorted((one, other) => one.start - other.start);
  return ordered.flatMap((mark, index): NamedText[] => {
    const next = ordered[index + 1]?.start ?? text.length;
    const value = text
      .slice(mark.end, Math.max(mark.end, next))
      .replace(/(?:[\s,;]+(?:and|with))*[\s,;]*$/i, "")
      .trim();
    return value === "" ? [] : [{ parameter: mark.parameter, text: value }];
  });
}

// The words of a request that are neither its command nor a value already taken: what "echo" is to repeat.

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Where a pattern was found. */
export function rangeOf({ index, 0: found }: RegExpExecArray): Range {
  return { start: index, end: index + found.length };
}

/** Words that lead to a value and go with it when it is taken out of the sentence. */
const LEADING = new Set(
  "to into in at from as on onto of for with and the a an file path folder directory url called named inside under is using".split(
    " ",
  ),
);

/** Words of a command that neither name the tool nor are its text. */
const FILLERS = new Set("all every each any back following available".split(" "));

/** Words that may stand before the command and mean nothing to us: "I *think* you should *maybe* search". */
const MAX_UNKNOWN = 3;

/** Words between a command and its text: "search *for* cats". */
const CONNECTORS = /^(?:(?:for|that|about|saying|says|called|named|titled|with|of|on|is|are|into)\s+|[:=,–—>-]+\s*)+/i;
const POLITE_START =
  /^(?:(?:please|kindly|hey|now|then|and|can you|could you|would you|will you|i want(?: you)? to|i'd like(?: you)? to|let's|just)[\s,]+)+/i;
const QUESTION = /^(?:what is|what's|whats|how much is)\s+(.*?)\s*\?*$/is;
const POLITE_END = /[\s,]+(?:please|thanks|thank you)[\s.!]*$/i;

/** What is left of the text when the used ranges, with the words that lead to them, are cut out. */
export function withoutUsed(text: string, used: readonly Range[]): string {
  const ordered = used.toSorted((one, other) => one.start - other.start);
  let kept = "";
  let at = 0;
  for (const { start, end } of ordered) {
    if (start > at) kept += withoutLeading(text.slice(at, start));
    at = Math.max(at, end);
    kept += " ";
  }
  return `${kept}${text.slice(at)}`.replaceAll(/[^\S\n]+/g, " ").trim();
}

function withoutLeading(text: string): string {
  let kept = text;
  for (;;) {
    const last = /(?:^|[\s,])([\p{L}]+)[\s,:]*$/u.exec(kept);
    if (last === null || !LEADING.has((last[1] ?? "").toLowerCase())) return kept;
    kept = kept.slice(0, last.index);
  }
}

export interface Command {
  /** Stems that name the tool. */
  readonly words: ReadonlySet<string>;
  /** The parameter the text is for: its name may be said as well. */
  readonly parameter: Parameter | undefined;
  /** Whether the tool's name was said, and taken out, already. */
  readonly isSaid: boolean;
}

/**
 * Drops the command: the words at the start that name the tool or the parameter, with the small words between them. Only up
 * to the last word that names something, so that "echo the end" keeps its "the". A sentence that names nothing near its
 * start is no text for the tool, and leaves nothing.
 */
export function withoutCommand(text: string, command: Command): string {
  const polite = text.replace(POLITE_START, "").replace(POLITE_END, "").trim().replace(QUESTION, "$1");
  const own = [...command.words, ...(command.parameter?.stems ?? [])];
  let cut = command.isSaid ? 0 : -1;
  let unknown = 0;
  for (const match of polite.matchAll(/[\p{L}\p{N}_'’-]+/gu)) {
    const end = match.index + match[0].length;
    const parts = words(match[0]);
    if (parts.length > 0 && parts.every((part) => own.some((word) => likeness(word, stem(part)) > 0))) cut = end;
    else if (parts.every((part) => isStopWord(part) || isInvocation(part) || FILLERS.has(part))) {
      // "Echo this back to me: …" has its text after the colon.
      if (cut >= 0 && polite[end] === ":") cut = end;
    } else if (cut >= 0 || ++unknown > MAX_UNKNOWN) break;
  }
  if (cut >= 0) return polite.slice(cut).trimStart().replace(CONNECTORS, "").trim();
  return /^\p{L}/u.test(polite) ? "" : polite;
}
