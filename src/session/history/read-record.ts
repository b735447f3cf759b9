// One line of a journal -> one record, or nothing when the line is not what a journal holds.
import {
  isJsonObject,
  isTooDeep,
  type JsonObject,
  type JsonValue,
  mayBeDeep,
  parseJson,
} from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type {
  JournalEntry,
  JournalHeader,
  JournalRecord,
  RecordedChange,
  RecordedCompaction,
} from "../journal-entry.js";
import { SESSION_LIMITS } from "../limits.js";
import {
  isBlock,
  isCount,
  isListOf,
  isLook,
  isMessage,
  isOutcome,
  isPlanEntry,
  isStopCause,
  isStopReason,
  isSubject,
  isTask,
  isText,
  isToolResult,
  isUsage,
} from "./guards.js";

/** A record of a kind this version does not know counts, and says nothing. */
export interface StrangeRecord {
  readonly kind: "strange";
  readonly seq: number;
}

/** What nests too deep in it is replaced by a few words: a session that holds such a record can still be loaded. */
export function readRecord(line: string): JournalRecord | StrangeRecord | undefined {
  const parsed = parseJson(line, Number.POSITIVE_INFINITY);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const isDeep =
    mayBeDeep(line.length, SESSION_LIMITS.journalMaxDepth) && isTooDeep(parsed.value, SESSION_LIMITS.journalMaxDepth);
  const value = isDeep ? cutDeep(parsed.value) : parsed.value;
  const { seq, t, kind } = value;
  if (!isCount(seq) || seq === 0 || !isCount(t) || !isText(kind)) return undefined;
  const isKnown = checks.get(kind);
  if (!isKnown) return { kind: "strange", seq };
  if (isRecord(value, isKnown)) return value;
  return isDeep ? { kind: "strange", seq } : undefined;
}

/** Levels that are kept of a record that nests too deep: its own fields, and what a person can make sense of. */
const KEPT_LEVELS = 12;
const LEFT_OUT = `[left out: nested more than ${LIMITS.jsonMaxDepth} levels deep]`;

function cutDeep(record: JsonObject): JsonObject {
  const fields = Object.entries(record).map(([key, field]): [string, JsonValue | undefined] => {
    const isDeep = field !== undefined && isTooDeep(field, SESSION_LIMITS.journalMaxDepth - 1);
    return [key, isDeep ? cutBelow(field, KEPT_LEVELS) : field];
  });
  return Object.fromEntries(fields);
}

function cutBelow(value: JsonValue, levels: number): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return LEFT_OUT;
  if (!isJsonObject(value)) return value.map((item) => cutBelow(item, levels - 1));
  const fields = Object.entries(value).map(([key, field]): [string, JsonValue | undefined] => {
    return [key, field === undefined ? undefined : cutBelow(field, levels - 1)];
  });
  return Object.fromEntries(fields);
}

/** The header, or the version that wrote it when that is another one. */
export function readHeader(line: string): JournalHeader | { readonly v: unknown } | undefined {
  const parsed = parseJson(line);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const { value } = parsed;
  if (value["v"] === undefined) return undefined;
  return isHeader(value) ? value : { v: value["v"] };
}

export function isHeader(value: object): value is JournalHeader {
  if (!isJsonObject(value) || value["v"] !== 1) return false;
  const { id, cwd, t, additionalDirectories, forkedFrom } = value;
  if (additionalDirectories !== undefined && !isListOf(additionalDirectories, isText)) return false;
  return isText(id) && isText(cwd) && isCount(t) && (forkedFrom === undefined || isText(forkedFrom));
}

type Check = (value: JsonObject) => boolean;

function isRecord(value: JsonObject, isKnown: Check): value is JsonObject & JournalRecord {
  return isKnown(value);
}

const ofText: Check = ({ text }) => isText(text);

const CHECKS: Readonly<Record<JournalEntry["kind"], Check>> = {
  title: ({ title }) => isText(title),
  prompt: ({ turn, content }) => isCount(turn) && isListOf(content, isBlock),
  text: ofText,
  thought: ofText,
  announced: ({ toolCallId, subject }) => isText(toolCallId) && isSubject(subject),
  dropped: ({ toolCallId, reason }) => isText(toolCallId) && isText(reason),
  call: ({ toolCallId, subject, arguments: given, look }) =>
    isText(toolCallId) && isSubject(subject) && isJsonObject(given) && (look === undefined || isLook(look)),
  look: ({ toolCallId, look }) => isText(toolCallId) && isLook(look),
  intent: ({ toolCallId, definitionHash }) => isText(toolCallId) && isText(definitionHash),
  task: (value) => isTask(value),
  note: ({ toolCallId, content }) => isText(toolCallId) && isListOf(content, isBlock),
  outcome: ({ toolCallId, outcome, elapsedMs }) =>
    isText(toolCallId) && isOutcome(outcome) && typeof elapsedMs === "number",
  plan: ({ entries }) => isListOf(entries, isPlanEntry),
  usage: ({ usage, turn, context }) => isUsage(usage) && isUsage(turn) && (context === undefined || isContext(context)),
  stopped: ({ cause, reason }) => isStopCause(cause) && isText(reason),
  compaction: ({ event }) => isCompaction(event),
  transcript: ({ change, notes }) => isChange(change) && (notes === undefined || isListOf(notes, isText)),
  outside: ({ read }) => isOutsideRead(read),
  setting: ({ name, value }) => isText(name) && value !== undefined,
  end: ({ turn, stopReason }) => isCount(turn) && isStopReason(stopReason),
  error: ({ turn, code, message }) => isCount(turn) && isText(code) && isText(message),
  closed: () => true,
  reopened: ({ after }) => isCount(after),
  blob: ({ blob, data }) => isText(blob) && isText(data),
};

/** A map, since a record may call itself `constructor`. */
const checks: ReadonlyMap<string, Check> = new Map(Object.entries(CHECKS));

function isOutsideRead(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { kind, server, origin } = value;
  return kind === "page" || (kind === "server" && isText(server) && (origin === undefined || isText(origin)));
}

function isContext(value: unknown): boolean {
  return isJsonObject(value) && isCount(value["usedTokens"]) && isCount(value["sizeTokens"]);
}

function isCompaction(value: unknown): value is RecordedCompaction {
  if (!isJsonObject(value) || value["kind"] !== "compaction" || !isText(value["compactionId"])) return false;
  const { phase, reason, cause, beforeTokens, afterTokens, means, summary } = value;
  switch (phase) {
    case "started":
      return isText(cause) && isCount(beforeTokens);
    case "done":
      return isCount(beforeTokens) && isCount(afterTokens) && isText(means) && isText(summary);
    case "failed":
    case "cancelled":
      return isText(reason);
    default:
      return false;
  }
}

function isChange(value: unknown): value is RecordedChange {
  if (!isJsonObject(value)) return false;
  const { kind, messages, length } = value;
  switch (kind) {
    case "added":
      return isListOf(messages, isMessage);
    case "cut":
      return isCount(length);
    case "resolved":
      return isToolResult(value["result"]);
    case "replaced":
      return isListOf(messages, isPlaceOrMessage);
    default:
      return false;
  }
}

function isPlaceOrMessage(value: unknown): value is number | object {
  return isCount(value) || isMessage(value);
}
