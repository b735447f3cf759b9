// Long texts and media in a journal: each is written once, as a record of its own, and blocks refer to it.
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { type ContentBlock, plainText, text } from "../../base/text/content.js";
import type { ModelMessage } from "../../models/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { JournalEntry } from "./entry.js";

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
      return isRecorded(block) ? recorded({ block: { ...block } }) : block;
    }
    const { field, value: data } = part;
    const blob = createHash("sha256").update(data).digest("hex");
    if (!this.#known.has(blob)) {
      if (this.#bytes + data.length > SESSION_LIMITS.journal.blobsBytes) {
        return text(
          `${plainText([withField(block, field, "")])} [not recorded: the journal has no room for it]`.trim(),
        );
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

function isRecorded(block: ContentBlock): boolean {
  return block.type === "unknown" && block.kind === RECORDED;
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
      return block.text === undefined
        ? { field: "blob", value: block.blob ?? "" }
        : { field: "text", value: block.text };
    case "resource_link":
    case "spilled":
    case "unknown":
      return undefined;
  }
}

function withField(block: ContentBlock, field: Field, value: string): ContentBlock {
  switch (block.type) {
    case "text":
      return field === "text" ? { ...block, text: value } : block;
    case "image":
    case "audio":
      return field === "data" ? { ...block, data: value } : block;
    case "resource":
      if (field === "data") return block;
      return field === "text" ? { ...block, text: value } : { ...block, blob: value };
    case "resource_link":
    case "spilled":
    case "unknown":
      return block;
  }
}

type MapBlock = (block: ContentBlock) => ContentBlock;

function mapBlocks(entry: JournalEntry, map: MapBlock): JournalEntry {
  switch (entry.kind) {
    case "prompt":
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
