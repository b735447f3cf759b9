// The smallest change of a JSON text that sets or removes one property: comments, order and formatting stay as they are.
import { createScanner } from "jsonc-parser";
import type { JsonObject, JsonValue } from "../base/json/json.js";
import { parseDocument } from "./document.js";
import type { KeyPath, TextNode } from "./text-tree.js";

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A byte order mark stays in front: a document's offsets are counted behind it. */
function behindMark(given: string, change: (text: string) => string): string {
  const mark = given.startsWith("\ufeff") ? "\ufeff" : "";
  return mark + change(given.slice(mark.length));
}

/** The text with the value at a path set; objects on the way are made. The text must be faultless, a list never on the way. */
export function setValue(given: string, path: KeyPath, value: JsonValue): string {
  return behindMark(given, (text) => textWith(text, path, value));
}

function textWith(text: string, path: KeyPath, value: JsonValue): string {
  const { node } = parseDocument(text);
  const style = styleOf(text);
  for (let length = path.length; length >= 0; length--) {
    const found = node(path.slice(0, length));
    if (!found) continue;
    if (length === path.length) {
      const written = textOf(value, indentAt(text, found.start), style);
      return applied(text, [{ start: found.start, end: found.end, text: written }]);
    }
    const [key = "", ...rest] = path.slice(length).map(String);
    return applied(text, insertion(text, found, key, nested(rest, value), style));
  }
  const fresh = JSON.stringify(nested(path.map(String), value), undefined, style.unit).replaceAll("\n", style.eol);
  const before = text.trim() === "" ? "" : `${text.trimEnd()}${style.eol}`;
  return `${before}${fresh}${style.eol}`;
}

/** The text without the property at a path; as it was when there is none. */
export function removeValue(given: string, path: KeyPath): string {
  return behindMark(given, (text) => textWithout(text, path));
}

function textWithout(text: string, path: KeyPath): string {
  const { node } = parseDocument(text);
  const parent = node(path.slice(0, -1));
  const child = parent?.children.get(path.at(-1) ?? "");
  if (!parent || !child) return text;
  const before = [...parent.children.values()].filter(({ keyStart }) => keyStart < child.keyStart).at(-1);
  const comma = commaAfter(text, child.node.end, parent.end);
  const edits: Edit[] = [];
  if (comma === undefined && before) {
    const last = commaAfter(text, before.node.end, child.keyStart);
    if (last !== undefined) edits.push({ start: last, end: last + 1, text: "" });
  }
  const blanksBefore = /[ \t]*$/u.exec(text.slice(parent.start, child.keyStart))?.[0].length ?? 0;
  const lineStart = child.keyStart - blanksBefore;
  const isFirstOnLine = /[\r\n]/u.test(text[lineStart - 1] ?? "\n");
  // Between a value and its comma there may be comments, which stay.
  const between = comma === undefined ? "" : text.slice(child.node.end, comma);
  const kept = between.trim() === "" ? "" : between;
  const end = comma === undefined ? child.node.end : comma + 1;
  const blanksAfter = /^[ \t]*(?:\r\n|\r|\n)?/u.exec(text.slice(end))?.[0] ?? "";
  const endsLine = /[\r\n]$/u.test(blanksAfter);
  if (kept !== "") edits.push({ start: child.keyStart, end, text: kept });
  else if (isFirstOnLine && endsLine) edits.push({ start: lineStart, end: end + blanksAfter.length, text: "" });
  else if (comma === undefined) edits.push({ start: isFirstOnLine ? child.keyStart : lineStart, end, text: "" });
  else edits.push({ start: child.keyStart, end: end + (endsLine ? 0 : blanksAfter.length), text: "" });
  return applied(text, edits);
}

function nested(keys: readonly string[], value: JsonValue): JsonValue {
  return keys.reduceRight<JsonValue>((inner, key) => ({ [key]: inner }), value);
}

function insertion(text: string, parent: TextNode, key: string, value: JsonValue, style: Style): readonly Edit[] {
  const last = [...parent.children.values()].at(-1);
  const label = `${JSON.stringify(key)}: `;
  if (!last) {
    // Whatever stands in an empty object is a comment.
    const outer = indentAt(text, parent.start);
    const inner = outer + style.unit;
    const at = parent.end - 1;
    const inside = text.slice(parent.start + 1, at);
    const start = parent.start + 1 + inside.trimEnd().length;
    const line = `${style.eol}${inner}${label}${textOf(value, inner, style)}${style.eol}${outer}`;
    return [{ start, end: at, text: line }];
  }
  const comma = commaAfter(text, last.node.end, parent.end);
  const isOneLine = !/[\r\n]/u.test(text.slice(parent.start, parent.end));
  if (isOneLine) {
    const at = comma === undefined ? last.node.end : comma + 1;
    return [{ start: at, end: at, text: `${comma === undefined ? "," : ""} ${label}${JSON.stringify(value)}` }];
  }
  const isFirstOnLine = text.slice(startOfLine(text, last.keyStart), last.keyStart).trim() === "";
  const indent = isFirstOnLine ? indentAt(text, last.keyStart) : indentAt(text, parent.start) + style.unit;
  const line = `${style.eol}${indent}${label}${textOf(value, indent, style)}`;
  const at = endOfComments(text, comma === undefined ? last.node.end : comma + 1, parent.end - 1);
  if (comma !== undefined) return [{ start: at, end: at, text: `${line},` }];
  return [
    { start: last.node.end, end: last.node.end, text: "," },
    { start: at, end: at, text: line },
  ];
}

function applied(text: string, edits: readonly Edit[]): string {
  // From the back, so that offsets stay true; of two at one place the first given comes first.
  return [...edits]
    .reverse()
    .sort((one, other) => other.start - one.start)
    .reduce((edited, { start, end, text: added }) => edited.slice(0, start) + added + edited.slice(end), text);
}

interface Style {
  readonly unit: string;
  readonly eol: string;
}

function styleOf(text: string): Style {
  const unit = /[\r\n]([ \t]+)\S/u.exec(text)?.[1] ?? "  ";
  return { unit: unit.startsWith("\t") ? "\t" : unit.slice(0, 8), eol: text.includes("\r\n") ? "\r\n" : "\n" };
}

function textOf(value: JsonValue | JsonObject, indent: string, { unit, eol }: Style): string {
  return JSON.stringify(value, undefined, unit).replaceAll("\n", `${eol}${indent}`);
}

function startOfLine(text: string, offset: number): number {
  return Math.max(text.lastIndexOf("\n", offset - 1), text.lastIndexOf("\r", offset - 1)) + 1;
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/u.exec(text.slice(startOfLine(text, offset)))?.[0] ?? "";
}

/** The comma that ends a value, comments skipped; undefined when another sign comes first. */
function commaAfter(text: string, from: number, to: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(from);
  scanner.scan();
  const offset = scanner.getTokenOffset();
  return offset < to && text[offset] === "," ? offset : undefined;
}

/** Behind the comments that follow on the same line: they belong to what stands before them. */
function endOfComments(text: string, from: number, to: number): number {
  const rest = text.slice(from, to);
  const [comments = ""] = /^(?:[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/))*/u.exec(rest) ?? [];
  return from + comments.length;
}
