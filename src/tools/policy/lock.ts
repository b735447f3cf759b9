// The lock of tool definitions: each tool of each server as it was reviewed, in a text that teams commit and compare.
import { defined } from "../../base/json/defined.js";
import {
  canonicalJson,
  hashJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../base/json/json.js";
import { FOREIGN_LIMITS } from "../../base/limits.js";
import { markHidden } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import type { ToolDefinition } from "../tool.js";
import type { ApprovalSubject } from "./stored-approvals.js";

interface LockedTool {
  readonly hash: string;
  /** Left out where it is too large: then a difference shows the new definition only. */
  readonly definition?: JsonObject;
}

/** By the server's own names for its tools. Plain data, as all of a configuration: recordings hold it. */
export type LockedTools = Readonly<Record<string, LockedTool>>;

export interface ToolsLock {
  /** The path people know it by. */
  readonly file: string;
  /** Why it cannot be read. Then every server counts as locked, and no tool as unchanged. */
  readonly problem?: string;
  /** Reading it failed: it may be as it was. */
  readonly isUnread?: true;
  /** By name; null for a server whose entry cannot be read: nothing of it counts as it was locked. */
  readonly servers: Readonly<Record<string, LockedTools | null>>;
}

const VERSION = 1;
const HASH = /^[0-9a-f]{64}$/u;

/** Never throws. */
export function parseLock(text: string, file: string): ToolsLock {
  const broken = (problem: string): ToolsLock => ({ file, problem, servers: {} });
  const parsed = parseJson(text);
  if (!parsed.ok) return broken(`it is no JSON: ${parsed.reason}`);
  const root = parsed.value;
  if (!isJsonObject(root) || !isJsonObject(root["servers"])) return broken("it is no lock of tool definitions");
  if (root["version"] !== VERSION) return broken(`it is of a version that this Tenon does not know`);
  const servers = Object.entries(root["servers"]).map(([name, value]) => [name, toolsOf(value)] as const);
  return { file, servers: Object.fromEntries(servers) };
}

/** One tool that cannot be read spoils its server: what is not read must not count as not locked. */
function toolsOf(value: unknown): LockedTools | null {
  const tools = isJsonObject(value) ? value["tools"] : undefined;
  if (!isJsonObject(tools)) return null;
  const locked: [string, LockedTool][] = [];
  for (const [name, tool] of Object.entries(tools)) {
    const { hash, definition } = isJsonObject(tool) ? tool : {};
    if (typeof hash !== "string" || !HASH.test(hash)) return null;
    // A definition that is not the one of the hash would show people another difference than the one there is.
    const isOfHash = isJsonObject(definition) && hashJson(definition) === hash;
    if (definition !== undefined && !isOfHash) return null;
    locked.push([name, { hash, ...defined({ definition: isOfHash ? definition : undefined }) }]);
  }
  return Object.fromEntries(locked);
}

export function lockTools(definitions: readonly ToolDefinition[]): LockedTools {
  const locked = definitions.map((tool): [string, LockedTool] => {
    const data = definitionData(tool);
    const isKept = canonicalJson(data).length <= FOREIGN_LIMITS.lockedDefinitionMaxBytes;
    return [tool.name, { hash: hashJson(data), ...defined({ definition: isKept ? data : undefined }) }];
  });
  return Object.fromEntries(locked);
}

/** Sorted by name and key, a value a line: a comparison of two versions shows the changes and nothing else. */
export function lockText(servers: Readonly<Record<string, LockedTools>>): string {
  const entries = Object.entries(servers).map(([name, tools]): [string, JsonObject] => {
    return [name, { tools: Object.fromEntries(Object.entries(tools).map(([tool, locked]) => [tool, { ...locked }])) }];
  });
  const content: JsonObject = { version: VERSION, servers: Object.fromEntries(entries) };
  return `${JSON.stringify(JSON.parse(canonicalJson(content)), undefined, 2)}\n`;
}

/** What the lock says of a server: undefined where it says nothing, null where that cannot be read. */
export function lockedServer({ servers }: ToolsLock, name: string): LockedTools | null | undefined {
  return Object.hasOwn(servers, name) ? servers[name] : undefined;
}

function lockedTool(tools: LockedTools, name: string): LockedTool | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}

// How tools of now stand against the lock: one of them, before it is offered, or all of a server's, for people.
/** Why a tool is held back by the lock. */
export interface LockHold {
  /** After "it": one clause. */
  readonly reason: string;
  /** The changes, a line each, for people. */
  readonly difference: () => readonly string[];
  /** A review of this very definition frees it; if not, only a readable lock does. */
  readonly isReviewable: boolean;
}

/** Undefined when the lock has nothing against it: a server that is not in it is not locked. */
export function lockHold(
  lock: ToolsLock,
  subject: Pick<ApprovalSubject, "source" | "definition" | "definitionHash">,
): LockHold | undefined {
  const { file, problem } = lock;
  const { source, definition } = subject;
  const unreadable = (reason: string): LockHold => ({ reason, difference: () => [], isReviewable: false });
  if (problem !== undefined) return unreadable(`cannot be compared with ${file}: ${problem}`);
  const tools = lockedServer(lock, source);
  if (tools === undefined) return undefined;
  if (tools === null)
    return unreadable(
      `cannot be compared with ${file}: what it says of its server is not as Tenon wrote it (edited by hand, or merged badly)`,
    );
  const locked = lockedTool(tools, definition.name);
  if (locked?.hash === subject.definitionHash) return undefined;
  return {
    reason: `differs from ${file}${locked ? "" : ": it is not in it"}`,
    difference: () => definitionDifference(locked ? locked.definition : {}, definition),
    isReviewable: true,
  };
}

export interface ToolChange {
  readonly tool: string;
  readonly change: "added" | "removed" | "changed";
  /** For people, a line each. */
  readonly difference: readonly string[];
}

/** Sorted by name; empty when all is as it was locked. */
export function compareTools(locked: LockedTools, now: readonly ToolDefinition[]): readonly ToolChange[] {
  const current = new Map(now.map((definition) => [definition.name, definition]));
  const changes: ToolChange[] = [];
  for (const [tool, definition] of current) {
    const before = lockedTool(locked, tool);
    if (before?.hash === definitionHash(definition)) continue;
    const difference = definitionDifference(before ? before.definition : {}, definition);
    changes.push({ tool, change: before ? "changed" : "added", difference });
  }
  for (const tool of Object.keys(locked))
    if (!current.has(tool)) changes.push({ tool, change: "removed", difference: [] });
  return changes.sort((one, other) => (one.tool < other.tool ? -1 : 1));
}

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
