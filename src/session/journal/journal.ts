// The session's journal: records in order, each with its number, durable before the client hears of what it records.

import { createHash } from "node:crypto";
import { messageOf, type TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { type ContentBlock, plainText, text } from "../../base/text/content.js";
import { markForeign } from "../../base/text/marking.js";
import type { ModelMessage } from "../../models/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { JournalEntry } from "./entry.js";

/** One line of the log as it is kept, without its end. Numbers count from 1 without a gap. */
export interface StoredLine {
  readonly seq: number;
  readonly line: string;
  /** What the line says, with long parts by reference. */
  readonly entry: JournalEntry | Unwritable;
}

/** In place of an entry that cannot be written as JSON. */
export interface Unwritable {
  readonly kind: "unwritable";
}

export interface AppendOptions {
  /** Listings show when something was last said: these lines are no such thing. */
  readonly keepsTime?: boolean;
}

/** Where the lines go: a store's session, which is owned. */
export interface RecordSink {
  /** Of the last line that is durable. */
  readonly lastSeq: number;
  /** Something was written, or should have been. */
  readonly isTouched: boolean;
  /**
   * In order, in one step. Undefined: done. A promise rejects with `session.superseded`, for good, and waits while the store
   * cannot be reached. Lines that a disk did not take are kept and written with the next ones: `assertWritten` tells.
   */
  append(lines: readonly StoredLine[], options?: AppendOptions): Promise<void> | undefined;
  /** What was appended survives the machine, not only the process. */
  sync(): Promise<void> | undefined;
  /** Throws `session.not_recorded` when something is not written, after one more attempt, and `session.superseded`. */
  assertWritten(): void;
  /** `listener` is called each time writing begins to fail. */
  onFailing(listener: (reason: string) => void): void;
}

/** Hears of every record in order, before it is durable. */
interface RecordListener {
  add(entry: JournalEntry, seq: number, bytes: number): void;
  /** More records are durable. */
  wake(): void;
}

/** What is known of the records so far, for a session that is loaded again. */
export interface JournalTail {
  readonly blobs: BlobStock;
  /** How what was under way came to its end. Written with the next entry: looking at a session leaves its file alone. */
  readonly repairs: readonly JournalEntry[];
}

interface JournalOptions {
  readonly world: Pick<World, "now" | "log">;
  readonly sink: RecordSink;
  readonly tail?: JournalTail;
  readonly listener?: RecordListener;
}

/**
 * Numbers records and keeps them in order, at once; the sink makes them durable. `durable` is awaited before a call is sent,
 * before events are published, at the end of a turn, and at close.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #blobs: BlobWriter;
  #seq: number;
  #pending: readonly JournalEntry[];
  #sealed: { readonly reason: TenonError | undefined } | undefined;
  /** Resolves once what was appended so far is durable. */
  #held: Promise<void> | undefined;

  constructor(options: JournalOptions) {
    const { sink, tail } = options;
    this.#options = options;
    this.#seq = sink.lastSeq;
    this.#blobs = new BlobWriter(tail?.blobs);
    this.#pending = tail?.repairs ?? [];
  }

  /** Of the last record. */
  get seq(): number {
    return this.#seq;
  }

  /** One write for all of them. */
  append(...entries: readonly JournalEntry[]): void {
    if (this.#sealed) return;
    const { sink, listener } = this.#options;
    const lines: StoredLine[] = [];
    for (const entry of this.#pending.length === 0 ? entries : [...this.#pending, ...entries]) {
      const from = lines.length;
      this.#addLines(entry, lines);
      let bytes = 0;
      for (let at = from; at < lines.length; at += 1) bytes += lines[at]?.line.length ?? 0;
      listener?.add(entry, this.#seq, bytes);
    }
    this.#pending = [];
    this.#hold(sink.append(lines, { keepsTime: entries.every(({ kind }) => kind === "closed" || kind === "setting") }));
  }

  /** At the end of a turn: what was acknowledged must survive the machine, not only the process. */
  sync(): void {
    if (!this.#sealed) this.#hold(this.#options.sink.sync());
  }

  /** Undefined when all so far is durable, as it always is with files. Rejects with `session.superseded`. */
  durable(): Promise<void> | undefined {
    return this.#held;
  }

  /** Throws `session.not_recorded` when something is not written, after one more attempt, and `session.superseded`. */
  assertWritten(): void {
    if (this.#sealed?.reason) throw this.#sealed.reason;
    if (this.#sealed) return;
    this.#options.sink.assertWritten();
    this.#options.listener?.wake();
  }

  /** Never rejects: of a session that another owner has, nothing is left to be recorded here. */
  close(): Promise<void> | undefined {
    if (this.#options.sink.isTouched) this.append({ kind: "closed" });
    this.sync();
    return this.#held?.catch((error: unknown) => {
      this.#options.world.log.warn("journal.not_closed", { error: messageOf(error) });
    });
  }

  /** Stops recording: the next load finds the running turn as it is now. `reason`: what `assertWritten` throws from now on. */
  seal(reason?: TenonError): void {
    this.sync();
    this.#sealed = { reason };
  }

  #hold(held: Promise<void> | undefined): void {
    const { listener } = this.#options;
    if (!held) {
      listener?.wake();
      return;
    }
    const all = Promise.all([this.#held, held]).then(() => {
      if (this.#held === all) this.#held = undefined;
      listener?.wake();
    });
    all.catch(() => undefined); // who awaits `durable` hears of it
    this.#held = all;
  }

  /** Nothing an entry holds may cost more than its own record, and the count goes on. */
  #addLines(entry: JournalEntry, lines: StoredLine[]): void {
    const [seq, count] = [this.#seq, lines.length];
    try {
      for (const packed of this.#blobs.pack(entry, seq)) lines.push(this.#line(packed));
    } catch (error) {
      this.#options.world.log.error("journal.unwritable", { kind: entry.kind, error: messageOf(error) });
      this.#seq = seq;
      lines.length = count;
      this.#blobs.forgetAfter(seq);
      lines.push(this.#line({ kind: "unwritable" }));
    }
  }

  #line(entry: StoredLine["entry"]): StoredLine {
    this.#seq += 1;
    return { seq: this.#seq, entry, line: JSON.stringify({ seq: this.#seq, t: this.#options.world.now(), ...entry }) };
  }
}

/** In place of a title, for a session that was only given commands of Tenon's so far. */
export const ONLY_COMMANDS = "(only commands)";

/** The beginning of what the person wrote first, on one line. */
export function titleOf(prompt: readonly ContentBlock[]): string {
  const words = typedWords(plainText(prompt.filter(({ type }) => type !== "resource")));
  const line = markForeign(words === "" ? plainText(prompt) : words)
    .replaceAll(/\s+/gu, " ")
    .trim();
  if (line === "") return "(no words)";
  if (line.length <= SESSION_LIMITS.journal.titleChars) return line;
  const start = line.slice(0, SESSION_LIMITS.journal.titleChars).replace(/[\ud800-\udbff]$/u, ""); // half a character
  return `${start.trimEnd()}…`;
}

/** Tags that clients put around what they add, such as `<previous_user_message>`: no words of HTML. */
const CLIENT_TAG = /<([a-z]{1,40}[_-][a-z_-]{1,60}|context|environment|memory|task)(?:\s[^<>]{0,500})?>/iu;
const MAX_CLIENT_TAGS = 100;

/** Without what clients put before and after it; of a prompt that is nothing else, the words of the last tag. */
function typedWords(prompt: string): string {
  let rest = prompt.trim();
  let inside = "";
  for (let tags = 0; tags < MAX_CLIENT_TAGS; tags += 1) {
    const found = CLIENT_TAG.exec(rest);
    const [tag = "", name = ""] = found ?? [];
    const end = found ? rest.indexOf(`</${name}>`, found.index) : -1;
    if (!found || end < 0) break;
    if (found.index > 0) return rest.slice(0, found.index).trim();
    inside = rest.slice(tag.length, end).trim();
    rest = rest.slice(end + name.length + 3).trim();
  }
  return rest === "" ? inside : rest;
}

/** The kind of an unknown block that stands for another one. What servers send under this name is wrapped as well. */
const RECORDED = "tenon:recorded";

/** The part of a block that may be long. */
type Field = "data" | "text" | "blob";

export interface BlobStock {
  /** Those that are in the journal already, by the hash of their data, with the numbers of their records. */
  readonly known: Iterable<readonly [string, number]>;
  readonly bytes: number;
}

export class BlobWriter {
  readonly #known: Map<string, number>;
  #bytes: number;

  constructor(stock: BlobStock = { known: [], bytes: 0 }) {
    this.#known = new Map(stock.known);
    this.#bytes = stock.bytes;
  }

  /** The records to write for an entry after record `seq`: what it refers to comes first. */
  pack(entry: JournalEntry, seq: number): readonly JournalEntry[] {
    const blobs: Blob[] = [];
    const packed = mapBlocks(entry, (block) => this.#packBlock(block, seq, blobs));
    return [...blobs, packed];
  }

  /** Their records were not written. */
  forgetAfter(seq: number): void {
    for (const [blob, place] of this.#known) if (place > seq) this.#known.delete(blob);
  }

  #packBlock(block: ContentBlock, seq: number, blobs: Blob[]): ContentBlock {
    const part = partOf(block);
    if (part === undefined || part.value.length < SESSION_LIMITS.journal.blobChars) {
      return block.type === "unknown" && block.kind === RECORDED ? recorded({ block: { ...block } }) : block;
    }
    const { field, value: data } = part;
    const blob = createHash("sha256").update(data).digest("hex");
    let place = this.#known.get(blob);
    if (place === undefined) {
      if (this.#bytes + data.length > SESSION_LIMITS.journal.blobsBytes) {
        const label = plainText([withField(block, field, "")]);
        return text(`${label} [not recorded: the journal has no room for it]`.trim());
      }
      blobs.push({ kind: "blob", blob, data });
      place = seq + blobs.length;
      this.#known.set(blob, place);
      this.#bytes += data.length;
    }
    return recorded({ block: { ...withField(block, field, "") }, blob, seq: place });
  }
}

type Blob = Extract<JournalEntry, { readonly kind: "blob" }>;

/** A long part that a record names: by its hash, and by the number of its record unless an older version wrote it. */
export interface BlobReference {
  readonly blob: string;
  readonly seq?: number;
}

/** The long parts a packed entry refers to. */
export function blobsOf(entry: JournalEntry): readonly BlobReference[] {
  const found: BlobReference[] = [];
  mapBlocks(entry, (block) => {
    if (block.type === "unknown" && block.kind === RECORDED && isJsonObject(block.raw)) {
      const { blob, seq } = block.raw;
      if (typeof blob === "string")
        found.push({ blob, ...defined({ seq: typeof seq === "number" ? seq : undefined }) });
    }
    return block;
  });
  return found;
}

/** The entry as it was before it was packed. A blob that is not there leaves a word in its place. */
export function unpack(
  entry: JournalEntry,
  blobs: Pick<ReadonlyMap<string, string>, "get">,
  isBlock: (value: unknown) => value is ContentBlock,
): JournalEntry {
  return mapBlocks(entry, (block) => {
    if (block.type !== "unknown" || block.kind !== RECORDED || !isJsonObject(block.raw)) return block;
    const { block: inner, blob } = block.raw;
    if (!isBlock(inner)) return block;
    if (typeof blob !== "string") return inner;
    const data = blobs.get(blob);
    const field = partOf(inner)?.field;
    if (data === undefined || field === undefined) return text("[content that is missing from the journal]");
    return withField(inner, field, data);
  });
}

function recorded(raw: JsonObject): ContentBlock {
  return { type: "unknown", kind: RECORDED, raw };
}

function partOf(block: ContentBlock): { readonly field: Field; readonly value: string } | undefined {
  switch (block.type) {
    case "text":
      return { field: "text", value: block.text };
    case "image":
    case "audio":
      return { field: "data", value: block.data };
    case "resource":
      if (block.text !== undefined) return { field: "text", value: block.text };
      return { field: "blob", value: block.blob ?? "" };
    default:
      return undefined;
  }
}

function withField(block: ContentBlock, field: Field, value: string): ContentBlock {
  return { ...block, [field]: value };
}

type MapBlock = (block: ContentBlock) => ContentBlock;

function mapBlocks(entry: JournalEntry, map: MapBlock): JournalEntry {
  switch (entry.kind) {
    case "prompt":
    case "queued":
    case "note":
      return { ...entry, content: entry.content.map(map) };
    case "outcome": {
      const { outcome } = entry;
      return "content" in outcome ? { ...entry, outcome: { ...outcome, content: outcome.content.map(map) } } : entry;
    }
    case "transcript": {
      const { change } = entry;
      switch (change.kind) {
        case "cut":
          return entry;
        case "resolved": {
          const { result } = change;
          return { ...entry, change: { ...change, result: { ...result, content: result.content.map(map) } } };
        }
        case "added":
          return { ...entry, change: { ...change, messages: change.messages.map((one) => mapMessage(one, map)) } };
        case "replaced": {
          const messages = change.messages.map((one) => (typeof one === "number" ? one : mapMessage(one, map)));
          return { ...entry, change: { ...change, messages } };
        }
      }
      break;
    }
    default:
      return entry;
  }
}

function mapMessage(message: ModelMessage, map: MapBlock): ModelMessage {
  switch (message.role) {
    case "assistant":
      return message;
    case "user":
      return { ...message, content: message.content.map(map) };
    case "tool":
      return {
        ...message,
        results: message.results.map((result) => ({ ...result, content: result.content.map(map) })),
      };
  }
}
