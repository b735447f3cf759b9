// Adds, removes, enables and disables servers in a configuration file by the smallest change of its text.

import { createScanner } from "jsonc-parser";
import { messageOf, orFail, TenonError } from "../base/errors.js";
import { withFileLock } from "../base/io/file-lock.js";
import { defined } from "../base/json/defined.js";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import type { FoundPath, World } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import { type Document, type KeyPath, parseDocument, type TextNode } from "./layers/document.js";
import { isInside } from "./layers/paths.js";
import { nameProblem, readEntry } from "./layers/read-entry.js";
import { type Place, placeText, problemText } from "./layers/read-layer.js";
import { CONFIG_LIMITS } from "./limits.js";

/** For editors, in a file that Tenon begins. A published package never changes, so the address is good for ever. */
const SCHEMA_URL: string = `https://unpkg.com/tenon@${VERSION}/schema/config.schema.json`;

export interface ConfigFile {
  readonly world: World;
  readonly path: string;
  readonly layer: "user" | "project";
  /** A project's real path: its file must lie there, links followed. */
  readonly within?: string;
}

export interface Edited {
  readonly change: "added" | "replaced" | "removed" | "enabled" | "disabled" | "unchanged";
  /** The file that was written, links followed. */
  readonly file: string;
  readonly isNewFile: boolean;
  /** The entry before and after, as it is written. */
  readonly before?: JsonObject;
  readonly after?: JsonObject;
  /** What is odd about the new entry without being wrong, one sentence each. */
  readonly warnings: readonly string[];
}

/** Throws `config.invalid` for a bad name or entry, for a name that is taken, and for a file that must be corrected first. */
export async function addServer(
  file: ConfigFile,
  name: string,
  entry: JsonObject,
  options: { readonly mayReplace?: boolean } = {},
): Promise<Edited> {
  const badName = nameProblem(name);
  if (badName !== undefined) throw invalid(`the server ${JSON.stringify(name)} cannot be added: ${badName}`);
  const warnings = await checkEntry(file, name, entry);
  return await edit(file, name, ({ text, before }) => {
    if (before && !options.mayReplace) {
      const message = `there is a server ${JSON.stringify(name)} in ${file.path} already`;
      throw invalid(message, "Add --replace to replace it, or give another name.");
    }
    if (before && canonicalJson(before) === canonicalJson(entry)) return { change: "unchanged", text, warnings };
    const begun = text.trim() === "" ? setValue(text, ["$schema"], SCHEMA_URL) : text;
    return { change: before ? "replaced" : "added", text: setValue(begun, ["mcpServers", name], entry), warnings };
  });
}

export async function removeServer(file: ConfigFile, name: string): Promise<Edited> {
  return await edit(file, name, ({ text, before }) => {
    if (!before) throw notThere(file, name);
    return { change: "removed", text: removeValue(text, ["mcpServers", name]) };
  });
}

/** An enabled entry has no `disabled` at all, so that it is again exactly what it was before, and what was approved. */
export async function setServerEnabled(file: ConfigFile, name: string, isEnabled: boolean): Promise<Edited> {
  const path = ["mcpServers", name, "disabled"];
  return await edit(file, name, ({ text, before }) => {
    if (!before) throw notThere(file, name);
    const isNow = before["disabled"] !== true;
    if (isNow === isEnabled) return { change: "unchanged", text };
    if (isEnabled) return { change: "enabled", text: removeValue(text, path) };
    return { change: "disabled", text: setValue(text, path, true) };
  });
}

/** Values by their place, in one change of the file; undefined takes one out. A key itself is not for a file: `keyring:name`, `{file:path}`. Returns the file. */
export async function setConfigValues(
  file: ConfigFile,
  values: readonly (readonly [path: KeyPath, value: JsonValue | undefined])[],
): Promise<string> {
  const edited = await edit(file, undefined, ({ text }) => {
    const begun = text.trim() === "" ? setValue(text, ["$schema"], SCHEMA_URL) : text;
    return {
      change: "replaced",
      text: values.reduce(
        (changed, [path, value]) => (value === undefined ? removeValue(changed, path) : setValue(changed, path, value)),
        begun,
      ),
    };
  });
  return edited.file;
}

/** One editor of a file at a time, across processes; the lock file lies beside it. */
export async function withConfigLock<T>(world: World, path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  const unlocked = (what: string, options: { readonly cause?: unknown; readonly hint?: string }) =>
    new TenonError("config.unreadable", what, options);
  const heldTooLong = (heldBy: number) =>
    unlocked(`another process (${heldBy}) is editing the file: ${lock} is there`, {
      hint: "Wait for it; if that is no Tenon, delete the lock file.",
    });
  let hasLock = false;
  try {
    return await withFileLock(world, lock, { ...CONFIG_LIMITS.configLock, heldTooLong }, async () => {
      hasLock = true;
      return await work();
    });
  } catch (error) {
    if (hasLock || error instanceof TenonError) throw error;
    const words = messageOf(error);
    const hint = words.startsWith("ENOSPC") ? { hint: "Free space on the disk." } : {};
    throw unlocked(`${lock} cannot be made: ${words}`, { cause: error, ...hint });
  }
}

interface Change extends Pick<Edited, "change">, Partial<Pick<Edited, "warnings">> {
  readonly text: string;
}

async function edit(
  file: ConfigFile,
  name: string | undefined,
  make: (current: { readonly text: string; readonly before: JsonObject | undefined }) => Change,
): Promise<Edited> {
  const { files } = file.world;
  const path = (await locate(file))?.realPath ?? file.path;
  return await withConfigLock(file.world, path, async () => {
    const found = await locate(file);
    const text = found
      ? await orFail("config.unreadable", `${file.path} cannot be read`, files.readText(found.realPath))
      : "";
    const before = entryOf(faultless(text, file), name, file);
    const { change, text: edited, warnings = [] } = make({ text, before });
    const after = entryOf(faultless(edited, file), name, file);
    const target = found?.realPath ?? path;
    if (change !== "unchanged") {
      const writing = files.writeAtomic(target, edited, found?.mode);
      await orFail("config.unreadable", `${target} cannot be written`, writing);
    }
    return { change, file: target, isNewFile: !found, warnings, ...defined({ before, after }) };
  });
}

async function locate({ world, path, within }: ConfigFile): Promise<FoundPath | undefined> {
  const found = await orFail("config.unreadable", `${path} cannot be read`, world.files.find(path));
  if (!found) return undefined;
  if (found.kind !== "file") throw new TenonError("config.unreadable", `${path} is no file`);
  if (within !== undefined && !isInside(found.realPath, within)) {
    throw invalid(`${path} is a link that leads out of the project, to ${found.realPath}; it is not changed`);
  }
  return found;
}

/** A text with faults is not edited: what is meant by it is a guess. */
function faultless(text: string, file: ConfigFile): Document {
  const document = parseDocument(text);
  const [first] = document.problems;
  if (!first) return document;
  const place: Place = { layer: file.layer, file: file.path, ...first.position };
  throw invalid(`${placeText(place)}: ${first.message}`, "Correct the file by hand first.");
}

function entryOf({ value }: Document, name: string | undefined, file: ConfigFile): JsonObject | undefined {
  if (value === undefined || name === undefined) return undefined;
  if (!isJsonObject(value)) throw invalid(`${file.path} must hold one object`);
  const servers = value["mcpServers"];
  if (servers === undefined) return undefined;
  if (!isJsonObject(servers)) throw invalid(`mcpServers in ${file.path} must be an object`);
  if (!Object.hasOwn(servers, name)) return undefined;
  const entry = servers[name];
  // A malformed entry can be removed and replaced like any other.
  return isJsonObject(entry) ? entry : {};
}

async function checkEntry(file: ConfigFile, name: string, entry: JsonObject): Promise<readonly string[]> {
  const { value, findings } = readEntry(entry, file.layer, await import("./layers/schema.js"));
  const place = { layer: file.layer, name: `server ${JSON.stringify(name)}` };
  const texts = findings.map(({ severity, message, suggestion }) => {
    return problemText({ severity, place, message, ...defined({ suggestion }) });
  });
  if (!value) throw invalid(texts.join("; "));
  return texts;
}

function notThere(file: ConfigFile, name: string): TenonError {
  return invalid(`there is no server ${JSON.stringify(name)} in ${file.path}`, "See tenon mcp list.");
}

function invalid(message: string, hint?: string): TenonError {
  return new TenonError("config.invalid", message, hint === undefined ? {} : { hint });
}

// The smallest change of a JSON text that sets or removes one property: comments, order and formatting stay as they are.

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
