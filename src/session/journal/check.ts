// The shape of every record of a journal, as tables: a file on the disk may have been damaged or edited.
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { ContentBlock } from "../../base/text/content.js";
import type { StopCause, StopReason } from "../../engine/index.js";
import type { JournalEntry, JournalHeader, JournalRecord } from "./entry.js";

type Check = (value: unknown) => boolean;
type Fields = Readonly<Record<string, Check>>;

const text = (value: unknown): value is string => typeof value === "string";
const count = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const number: Check = (value) => typeof value === "number";
const flag: Check = (value) => typeof value === "boolean";
const present: Check = (value) => value !== undefined;

function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every((one) => check(one));
}

function constant<T extends string | number>(...values: readonly T[]): Check {
  return (value) => values.some((one) => one === value);
}

function object(fields: Fields = {}): Check {
  const entries = Object.entries(fields);
  return (value) => isJsonObject(value) && entries.every(([name, check]) => check(value[name]));
}

/** A map, since a record may call itself `constructor`. */
function objects(shapes: Readonly<Record<string, Fields>>): ReadonlyMap<string, Check> {
  return new Map(Object.entries(shapes).map(([name, fields]) => [name, object(fields)]));
}

/** One of several shapes, told apart by the text in one of their fields. */
function union(key: string, shapes: Readonly<Record<string, Fields>>): Check {
  const known = objects(shapes);
  return (value) => {
    const tag = isJsonObject(value) ? value[key] : undefined;
    return text(tag) && known.get(tag)?.(value) === true;
  };
}

const block: Check = union("type", {
  text: { text },
  image: { data: text, mimeType: text, uri: optional(text) },
  audio: { data: text, mimeType: text },
  resource: { uri: text, mimeType: optional(text), text: optional(text), blob: optional(text) },
  resource_link: {
    uri: text,
    name: text,
    title: optional(text),
    description: optional(text),
    mimeType: optional(text),
  },
  spilled: { kind: text, path: text, preview: text, bytes: count },
  unknown: { kind: text, raw: present },
});
const content = listOf(block);

const finished: Fields = { content, warnings: optional(listOf(text)) };
const outcome = union("kind", {
  done: finished,
  failed: finished,
  refused: { reason: text },
  unknown: { reason: text },
  cancelled: {},
});

const toolResult = object({
  callId: text,
  name: text,
  origin: optional(text),
  isError: flag,
  content,
  found: optional(listOf(text)),
});
const toolCall = object({ callId: text, name: text, argumentsJson: text });
const message = union("role", {
  user: { content },
  assistant: { text, toolCalls: listOf(toolCall), providerData: optional(object()) },
  tool: { results: listOf(toolResult) },
});

const definition = object({ name: text, description: text, inputSchema: object(), annotations: optional(object()) });
const tool = object({ id: text, origin: text, source: text, label: text, definitionHash: text, definition });
const subject = object({ name: text, tool: optional(tool) });
const look = object({
  kind: text,
  title: text,
  terminalId: optional(text),
  locations: listOf(object({ path: text })),
  diff: optional(object({ path: text, newText: text })),
});

const usage = object({ inputTokens: count, outputTokens: count });
const lasting = object({ id: text, startedMs: count, ttlMs: optional(number) });
const stopReason = constant<StopReason>("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled");
const stopCause = constant<StopCause>("output_limit", "request_limit", "repetition", "refusal");
const ended: Fields = { kind: constant("compaction"), compactionId: text, reason: text };
const compaction = union("phase", {
  started: { kind: constant("compaction"), compactionId: text, cause: text, beforeTokens: count },
  done: {
    kind: constant("compaction"),
    compactionId: text,
    beforeTokens: count,
    afterTokens: count,
    means: text,
    summary: text,
  },
  failed: ended,
  cancelled: ended,
});
const change = union("kind", {
  added: { messages: listOf(message) },
  cut: { length: count },
  resolved: { result: toolResult },
  replaced: { messages: listOf((one) => count(one) || message(one)) },
});

const RECORDS: Readonly<Record<JournalEntry["kind"], Fields>> = {
  title: { title: text },
  prompt: { turn: count, content },
  text: { text },
  thought: { text },
  announced: { toolCallId: text, subject },
  dropped: { toolCallId: text, reason: text },
  call: { toolCallId: text, subject, arguments: object(), look: optional(look) },
  look: { toolCallId: text, look },
  intent: { toolCallId: text, definitionHash: text },
  task: { toolCallId: text, server: text, origin: text, mark: text, tool: text, lasting },
  note: { toolCallId: text, content },
  outcome: { toolCallId: text, outcome, elapsedMs: number },
  plan: { entries: listOf(object({ content: text, priority: text, status: text })) },
  usage: { usage, turn: usage, context: optional(object({ usedTokens: count, sizeTokens: count })) },
  stopped: { cause: stopCause, reason: text },
  compaction: { event: compaction },
  transcript: { change, notes: optional(listOf(text)) },
  outside: { read: union("kind", { page: {}, server: { server: text, origin: optional(text) } }) },
  setting: { name: text, value: present },
  end: { turn: count, stopReason },
  error: { turn: count, code: text, message: text },
  closed: {},
  reopened: { after: count },
  blob: { blob: text, data: text },
};

const records = objects(RECORDS);

const header = object({
  v: constant(1),
  id: text,
  cwd: text,
  t: count,
  additionalDirectories: optional(listOf(text)),
  forkedFrom: optional(text),
});

export function isBlock(value: unknown): value is ContentBlock {
  return block(value);
}

export function isHeader(value: object): value is JournalHeader {
  return header(value);
}

export type Numbered = JsonObject & { readonly seq: number; readonly t: number; readonly kind: string };

/** What every record has, whatever its kind. */
export function isNumbered(value: JsonObject): value is Numbered {
  return count(value["seq"]) && value["seq"] !== 0 && count(value["t"]) && text(value["kind"]);
}

export function isKnownKind(kind: string): boolean {
  return records.has(kind);
}

export function isRecord(value: Numbered): value is Numbered & JournalRecord {
  return records.get(value.kind)?.(value) === true;
}
