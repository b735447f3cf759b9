// Reads a journal from the first byte on: whatever its bytes are, what is whole before the first damage is read.
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import {
  isJsonObject,
  isTooDeep,
  type JsonObject,
  type JsonValue,
  mayBeDeep,
  parseJson,
} from "../../base/json/json.js";
import { type Line, LineSplitter } from "../../base/json/ndjson.js";
import { LIMITS } from "../../base/limits.js";
import type { Files } from "../../base/ports/world.js";
import type { ContentBlock } from "../../base/text/content.js";
import type { StopCause, StopReason } from "../../engine/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { QuestionKind } from "../ports.js";
import type { JournalEntry, JournalHeader, JournalRecord } from "./entry.js";
import { type BlobStock, unpack } from "./journal.js";

/** As it is kept: a long text or medium is a `blob` record of its own, and blocks name it by the number of that record. */
export type StoredRecord = JournalRecord | StrangeRecord;

/** Gets every record that counts, in order and without a gap, with the length of its line. */
export type OnStored = (record: StoredRecord, chars: number) => void;

export interface JournalContent {
  /** Missing when the first line is damaged. */
  readonly header?: JournalHeader;
  /** Of the last record that counts. */
  readonly seq: number;
  /** Nothing lies behind that record: a line that is not whole, for one. */
  readonly isClean: boolean;
  /** What could not be read, in words for people. */
  readonly problems: readonly string[];
}

/**
 * Rejects when there is no such file or it cannot be read at all, and for a journal of another version, which is left alone.
 */
export async function readJournal(
  files: Pick<Files, "readBytes">,
  path: string,
  onRecord: OnStored,
): Promise<JournalContent> {
  const lines = new LineSplitter(SESSION_LIMITS.journal.maxLineBytes);
  const reader = new JournalReader(path, onRecord);
  for await (const bytes of chunksOf(files, path)) for (const line of lines.push(bytes)) reader.line(line);
  return reader.end(lines.flush()[0]);
}

export async function* chunksOf(
  files: Pick<Files, "readBytes">,
  path: string,
  { from = 0, length = SESSION_LIMITS.journal.readBytes }: { readonly from?: number; readonly length?: number } = {},
): AsyncGenerator<Uint8Array, void, void> {
  for (let start = from; ; start += length) {
    const bytes = await files.readBytes(path, { start, length });
    yield bytes;
    if (bytes.length < length) return;
  }
}

/** Puts the long parts back into records that are read from the first one on. */
export class Unpacking {
  readonly #data = new Map<string, string>();
  readonly #places: [string, number][] = [];
  #bytes = 0;

  /** Undefined for records that only serve the journal itself. */
  add(record: StoredRecord): JournalRecord | undefined {
    switch (record.kind) {
      case "strange":
      case "reopened":
        return undefined;
      case "blob":
        this.#data.set(record.blob, record.data);
        this.#places.push([record.blob, record.seq]);
        this.#bytes += record.data.length;
        return undefined;
      default:
        return { ...unpack(record, this.#data, isBlock), seq: record.seq, t: record.t };
    }
  }

  get stock(): BlobStock {
    return { known: this.#places, bytes: this.#bytes };
  }
}

export class JournalReader {
  readonly #path: string;
  readonly #onRecord: OnStored;
  #header: JournalHeader | undefined;
  #seq: number;
  #lineCount = 0;
  readonly #beginsInside: boolean;
  /** Lines since the first that is no record, or not the next one. */
  #skipped = 0;
  /** Records come that were written before, as far as the disk took them. */
  #isAgain = false;

  /** `from`: reading begins behind this record, at a line where `isSettled` was true. */
  constructor(path: string, onRecord: OnStored, from = 0) {
    this.#path = path;
    this.#onRecord = onRecord;
    this.#seq = from;
    this.#beginsInside = from > 0;
  }

  /** Of the last record that counts. */
  get seq(): number {
    return this.#seq;
  }

  /** All lines so far count: another reader may begin behind them. */
  get isSettled(): boolean {
    return this.#skipped === 0 && !this.#isAgain && this.#seq > 0;
  }

  line(line: Line): void {
    const text = line.kind === "line" ? line.text : "";
    this.#lineCount += 1;
    if (!this.#header && !this.#beginsInside && this.#readHeader(text)) return;
    if (this.#goesOnAgain(text)) return;
    const record = readRecord(text);
    if (this.#isAgain && (record ? record.seq <= this.#seq : readHeader(text))) return; // read already
    if (!record && this.#lineCount === 1 && !this.#beginsInside) return; // the header is damaged: the records need none
    const isNext = record?.seq === this.#seq + 1;
    const goesOn = record?.kind === "reopened" && record.after === this.#seq;
    if (!record || !isNext || (this.#skipped > 0 && !goesOn)) {
      this.#skipped += 1;
      return;
    }
    this.#skipped = 0;
    this.#isAgain = false;
    this.#seq = record.seq;
    this.#onRecord(record, text.length);
  }

  /** `torn`: a line without its end, of which nobody was told: lines are written before anybody hears of them. */
  end(torn: Line | undefined): JournalContent {
    const skipped = this.#skipped;
    // All of it may be there but its end: it counts as soon as there is something behind it, so it counts now.
    if (torn) this.line(torn);
    if (skipped === 0) this.#skipped = 0;
    const isClean = this.#skipped === 0 && !torn;
    return {
      ...defined({ header: this.#header }),
      seq: this.#seq,
      isClean,
      problems: this.#skipped === 0 ? [] : [this.#loss()],
    };
  }

  /** After a write that failed: the same records follow once more, none of which may be missing. */
  #goesOnAgain(text: string): boolean {
    if (!text.startsWith('{"again":')) return false;
    const from = Number(/^\{"again":(\d{1,15})\}$/u.exec(text)?.[1] ?? Number.NaN);
    if (!(from <= this.#seq + 1)) return false;
    this.#skipped = 0;
    this.#isAgain = true;
    return true;
  }

  #loss(): string {
    const lines = this.#skipped === 1 ? "1 line" : `${this.#skipped} lines`;
    const place = `after record ${this.#seq} of ${this.#path}`;
    return `The journal of this session is damaged: ${lines} ${place} cannot be read and are not shown.`;
  }

  #readHeader(line: string): boolean {
    const header = readHeader(line);
    if (header && isHeader(header)) {
      this.#header = header;
      return true;
    }
    if (this.#lineCount === 1 && typeof header?.v === "number" && header.v !== 1) {
      throw new TenonError(
        "session.invalid_request",
        `${this.#path} is a journal of version ${header.v}, which this Tenon cannot read`,
        { hint: "Use the version that wrote it, or a newer one." },
      );
    }
    return false;
  }
}

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
  if (!isNumbered(value)) return undefined;
  if (isRecord(value)) return value;
  return isDeep || !isKnownKind(value.kind) ? { kind: "strange", seq: value.seq } : undefined;
}

/** Levels that are kept of a record that nests too deep: its own fields, and what a person can make sense of. */
const KEPT_LEVELS = 12;
const LEFT_OUT = `[left out: nested more than ${LIMITS.jsonMaxDepth} levels deep]`;

function cutDeep(record: JsonObject): JsonObject {
  const isDeep = (field: JsonValue) => isTooDeep(field, SESSION_LIMITS.journalMaxDepth - 1);
  return mapFields(record, (field) => (isDeep(field) ? cutBelow(field, KEPT_LEVELS) : field));
}

function cutBelow(value: JsonValue, levels: number): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return LEFT_OUT;
  if (!isJsonObject(value)) return value.map((item) => cutBelow(item, levels - 1));
  return mapFields(value, (field) => cutBelow(field, levels - 1));
}

function mapFields(record: JsonObject, map: (field: JsonValue) => JsonValue): JsonObject {
  return Object.fromEntries(
    Object.entries(record).map(([key, field]) => [key, field === undefined ? field : map(field)]),
  );
}

/** The header, or the version that wrote it when that is another one. */
export function readHeader(line: string): JournalHeader | { readonly v: unknown } | undefined {
  const parsed = parseJson(line);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const { value } = parsed;
  if (value["v"] === undefined) return undefined;
  return isHeader(value) ? value : { v: value["v"] };
}

// The shape of every record, as tables: a file on the disk may have been damaged or edited.

type Check = (value: unknown) => boolean;
type Fields = Readonly<Record<string, Check>>;

const text = (value: unknown): value is string => typeof value === "string";
const count = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const number: Check = (value) => typeof value === "number";
const flag: Check = (value) => typeof value === "boolean";
const present: Check = (value) => value !== undefined;
const textByName: Check = (value) => isJsonObject(value) && Object.values(value).every(text);

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
  failed: { ...finished, isOwn: optional(flag) },
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

const by = optional(object({ client: text, name: text }));
const environment = optional(object({ model: text }));
const questionKind = constant<QuestionKind>("permission", "trust", "sampling", "elicitation", "person");

const RECORDS: Readonly<Record<JournalEntry["kind"], Fields>> = {
  title: { title: text },
  prompt: { turn: count, content, promptId: optional(text), by, environment },
  queued: { promptId: text, by, content, environment },
  unqueued: { promptId: text },
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
  answer: {
    turn: count,
    text,
    toolCalls: listOf(toolCall),
    providerData: optional(object()),
    announced: optional(textByName),
    isTruncated: optional(flag),
  },
  question: { id: text, of: questionKind, turn: optional(count), toolCallId: optional(text), shown: present },
  answered: { id: text, answer: present, by },
  continued: { turn: count, attempt: count, reason: text, notice: optional(text) },
  drained: { turn: count },
  plan: { entries: listOf(object({ content: text, priority: text, status: text })) },
  usage: {
    usage,
    turn: usage,
    session: optional(usage),
    context: optional(object({ usedTokens: count, sizeTokens: count })),
  },
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
  label: optional(text),
});

export function isBlock(value: unknown): value is ContentBlock {
  return block(value);
}

export function isHeader(value: object): value is JournalHeader {
  return header(value);
}

type Numbered = JsonObject & { readonly seq: number; readonly t: number; readonly kind: string };

/** What every record has, whatever its kind. */
function isNumbered(value: JsonObject): value is Numbered {
  return count(value["seq"]) && value["seq"] !== 0 && count(value["t"]) && text(value["kind"]);
}

function isKnownKind(kind: string): boolean {
  return records.has(kind);
}

function isRecord(value: Numbered): value is Numbered & JournalRecord {
  return records.get(value.kind)?.(value) === true;
}
