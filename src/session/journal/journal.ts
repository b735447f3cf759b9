// The session's journal: append-only, one file per session, written before the client hears of what it records.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { messageOf, TenonError } from "../../base/errors.js";
import type { SessionId } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { AppendFile, World } from "../../base/ports/world.js";
import { type ContentBlock, plainText, text } from "../../base/text/content.js";
import { markForeign } from "../../base/text/marking.js";
import type { ModelMessage } from "../../models/index.js";
import type { Notify } from "../events.js";
import { SESSION_LIMITS } from "../limits.js";
import type { JournalEntry, JournalHeader } from "./entry.js";

/** Where the writing of an earlier run ended. */
export interface JournalTail {
  /** Of the last record that counts. */
  readonly seq: number;
  /** Nothing lies behind that record: a line that is not whole, for one. */
  readonly isClean: boolean;
  readonly blobs: BlobStock;
  /** Whether the first line was whole: if not, it is written again. */
  readonly hasHeader: boolean;
  /** How what was under way came to its end. Written with the next entry: looking at a session leaves its file alone. */
  readonly repairs: readonly JournalEntry[];
}

interface JournalOptions {
  readonly world: World;
  readonly path: string;
  readonly header: Omit<JournalHeader, "v" | "t">;
  /** For a journal that is there already. */
  readonly tail?: JournalTail;
  /** Its first line is written already, and nothing else. */
  readonly isBegun?: boolean;
  /** Called once when writing begins to fail: prompts fail until it works again. */
  onFailing(reason: string): void;
}

/** The first line of a journal. */
function headerLine(header: JournalOptions["header"], nowMs: number): string {
  return `${JSON.stringify({ v: 1, ...header, t: nowMs })}\n`;
}

/**
 * Records that cannot be written are kept and written again with the next ones, so that a disk that was full for a while costs
 * nothing. Until then `assertWritten` fails: nobody is told that a turn is over which a crash would lose.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #blobs: BlobWriter;
  #file: AppendFile | undefined;
  #seq: number;
  /** To be written before the next record. */
  #start: string;
  #pending: readonly JournalEntry[];
  /** Lines that are not on the disk, and the number of the first record in them. */
  #unwritten = "";
  #unwrittenSeq: number;
  /** A part of `#unwritten` may be in the file. */
  #isTorn = false;
  #failure: string | undefined;
  #isSealed = false;

  constructor(options: JournalOptions) {
    const { world, header, tail, isBegun = false } = options;
    this.#options = options;
    this.#seq = tail?.seq ?? 0;
    this.#unwrittenSeq = this.#seq + 1;
    this.#blobs = new BlobWriter(tail?.blobs);
    // What is left of a line that was never finished must not become the beginning of the next one.
    const end = tail && !tail.isClean ? "\n" : "";
    this.#start = end + (isBegun || tail?.hasHeader ? "" : headerLine(header, world.now()));
    const reopened: readonly JournalEntry[] = end === "" ? [] : [{ kind: "reopened", after: this.#seq }];
    this.#pending = [...reopened, ...(tail?.repairs ?? [])];
    if (!tail && !isBegun) this.append();
  }

  /** One write for all of them, done when this returns unless the disk fails. */
  append(...entries: readonly JournalEntry[]): void {
    if (this.#isSealed) return;
    if (this.#unwritten === "") this.#unwrittenSeq = this.#seq + 1;
    this.#unwritten += this.#start + [...this.#pending, ...entries].map((entry) => this.#lines(entry)).join("");
    this.#start = "";
    this.#pending = [];
    // Listings show the time of the file, which is to be that of the last turn.
    this.#write({ keepsTime: entries.every(({ kind }) => kind === "closed" || kind === "setting") });
  }

  /** At the end of a turn: what was acknowledged must survive the machine, not only the process. */
  sync(): void {
    if (this.#isSealed || !this.#file) return;
    try {
      this.#file.sync();
    } catch {
      this.#closeFile(); // a handle whose sync has failed once may report success for what it lost
      this.#attempt(() => this.#open().sync());
    }
  }

  /** Throws `session.not_recorded` when something is not on the disk, after one more attempt to write it. */
  assertWritten(): void {
    if (this.#isSealed || this.#failure === undefined) return;
    if (this.#unwritten === "") this.#attempt(() => this.#open().sync());
    else this.#write();
    if (this.#failure === undefined) return;
    const { path } = this.#options;
    throw new TenonError("session.not_recorded", `the journal of this session cannot be written: ${this.#failure}`, {
      hint: `Free space on the disk or make ${path} writable, then send the prompt again.`,
    });
  }

  close(): void {
    if (this.#file || this.#failure !== undefined) this.append({ kind: "closed" });
    this.sync();
    this.#closeFile();
  }

  /** Stops recording: the next load finds the running turn as it is now. */
  seal(): void {
    this.sync();
    this.#closeFile();
    this.#isSealed = true;
  }

  /** Nothing an entry holds may cost more than its own record, and the count goes on. */
  #lines(entry: JournalEntry): string {
    const first = this.#seq;
    try {
      return this.#blobs
        .pack(entry)
        .map((packed) => this.#line(packed))
        .join("");
    } catch (error) {
      const { path, world } = this.#options;
      world.log.error("journal.unwritable", { path, kind: entry.kind, error: messageOf(error) });
      this.#seq = first;
      return this.#line({ kind: "unwritable" });
    }
  }

  #line(entry: JournalEntry | { readonly kind: "unwritable" }): string {
    this.#seq += 1;
    return `${JSON.stringify({ seq: this.#seq, t: this.#options.world.now(), ...entry })}\n`;
  }

  #write(options: { readonly keepsTime?: boolean } = {}): void {
    this.#attempt(() => {
      const file = this.#open();
      // Records are written a second time where the first attempt may have left a part of them. The reader skips what it
      // has already: these are the same records under the same numbers.
      const again = this.#isTorn ? `\n${JSON.stringify({ again: this.#unwrittenSeq })}\n` : "";
      this.#isTorn = true;
      file.write(again + this.#unwritten, options);
      this.#isTorn = false;
      this.#unwritten = "";
    });
  }

  #open(): AppendFile {
    this.#file ??= this.#options.world.files.openAppend(this.#options.path);
    return this.#file;
  }

  #closeFile(): void {
    const file = this.#file;
    this.#file = undefined;
    try {
      file?.close();
    } catch (error) {
      // What was synced is on the disk, and what was not has been reported as such.
      this.#options.world.log.warn("journal.close_failed", { path: this.#options.path, error: messageOf(error) });
    }
  }

  #attempt(write: () => void): void {
    try {
      write();
      this.#failure = undefined;
    } catch (error) {
      const { path, world } = this.#options;
      const isNew = this.#failure === undefined;
      this.#failure = messageOf(error);
      this.#closeFile();
      if (!isNew) return;
      world.log.error("journal.failing", { path, error: this.#failure });
      this.#options.onFailing(this.#failure);
    }
  }
}

export function openJournal(
  options: Beginning & {
    readonly world: World;
    readonly stateDir: string;
    /** For a session that is loaded again. */
    readonly history?: { readonly tail: JournalTail };
  },
  onNotice: Notify,
): Journal {
  const { world, history } = options;
  const path = journalFile(options.stateDir, options.id);
  return new Journal({
    world,
    path,
    header: headerOf(options),
    ...(history ? { tail: history.tail } : { isBegun: world.files.isFile(path) }),
    onFailing: (reason) =>
      onNotice("warning", `The journal of this session cannot be written (${reason}): prompts fail until it can`),
  });
}

type Beginning = Pick<JournalHeader, "cwd" | "additionalDirectories"> & { readonly id: SessionId };

/** A journal's path and first line, for a session whose id is given out before it can be opened. */
export function journalStart(stateDir: string, beginning: Beginning, nowMs: number): { path: string; line: string } {
  return { path: journalFile(stateDir, beginning.id), line: headerLine(headerOf(beginning), nowMs) };
}

export function headerOf({ id, cwd, additionalDirectories = [] }: Beginning): Beginning {
  const more = additionalDirectories.length > 0 ? additionalDirectories : undefined;
  return { id, cwd, ...defined({ additionalDirectories: more }) };
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

export function journalFile(stateDir: string, id: SessionId): string {
  return join(stateDir, "sessions", `${id}.ndjson`);
}

/** The kind of an unknown block that stands for another one. What servers send under this name is wrapped as well. */
const RECORDED = "tenon:recorded";

/** The part of a block that may be long. */
type Field = "data" | "text" | "blob";

export interface BlobStock {
  /** Those that are in the journal already. */
  readonly known: Iterable<string>;
  readonly bytes: number;
}

export class BlobWriter {
  readonly #known: Set<string>;
  #bytes: number;

  constructor(stock: BlobStock = { known: [], bytes: 0 }) {
    this.#known = new Set(stock.known);
    this.#bytes = stock.bytes;
  }

  /** The records to write for an entry: what it refers to comes first. */
  pack(entry: JournalEntry): readonly JournalEntry[] {
    const blobs: JournalEntry[] = [];
    const packed = mapBlocks(entry, (block) => this.#packBlock(block, blobs));
    return [...blobs, packed];
  }

  #packBlock(block: ContentBlock, blobs: JournalEntry[]): ContentBlock {
    const part = partOf(block);
    if (part === undefined || part.value.length < SESSION_LIMITS.journal.blobChars) {
      return block.type === "unknown" && block.kind === RECORDED ? recorded({ block: { ...block } }) : block;
    }
    const { field, value: data } = part;
    const blob = createHash("sha256").update(data).digest("hex");
    if (!this.#known.has(blob)) {
      if (this.#bytes + data.length > SESSION_LIMITS.journal.blobsBytes) {
        const label = plainText([withField(block, field, "")]);
        return text(`${label} [not recorded: the journal has no room for it]`.trim());
      }
      this.#known.add(blob);
      this.#bytes += data.length;
      blobs.push({ kind: "blob", blob, data });
    }
    return recorded({ block: { ...withField(block, field, "") }, blob });
  }
}

/** The entry as it was before it was packed. A blob that is not there leaves a word in its place. */
export function unpack(
  entry: JournalEntry,
  blobs: ReadonlyMap<string, string>,
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
