// The words of a result within the bounds: all of them in their order, or their start and end with a handle for the whole.
import { LIMITS } from "../../base/limits.js";
import { hostLine, markForeign } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import { bytesFrom, endOf, fits, headWithin, lineCount, startOf, type TextBound, tailWithin } from "./clip.js";
import { Utf8 } from "./reading.js";
import type { KeepFacts, KeptResult, ResultStore } from "./store.js";

/** What there is to say about one block. */
export interface Words {
  readonly label?: string;
  /** The tool's own, unmarked. */
  readonly text?: string;
  /** Written by Tenon and marked already. */
  readonly ours?: string;
  /** Kept whole already; as much of its start and end as there is room for goes with the label. */
  readonly kept?: KeptResult;
}

/** What the lines of our own may take of a clipped result. */
const LABEL_BYTES = 8_192;
const NOTE_BYTES = 1_024;
const NOTE_LINES = 8;

const WHOLE: TextBound = { maxBytes: LIMITS.resultMaxBytes, maxLines: LIMITS.resultMaxLines };

export type Assembled =
  /** One text for each of the words, in their order. */
  { readonly kind: "all"; readonly texts: readonly string[] } | { readonly kind: "clipped"; readonly text: string };

export async function assemble(words: readonly Words[], store: ResultStore, facts: KeepFacts): Promise<Assembled> {
  const all = allWithin(words, WHOLE);
  if (!all) return { kind: "clipped", text: await clipped(words, store, facts) };
  const excerpts = words.flatMap(({ kept }, index) => (kept && hasText(kept) ? [{ kept, index }] : []));
  if (excerpts.length === 0) return { kind: "all", texts: all };
  const used = Buffer.byteLength(all.join("\n"));
  const lines = all.reduce((sum, text) => sum + lineCount(text, WHOLE.maxLines), 0);
  const share: TextBound = {
    maxBytes: Math.floor((WHOLE.maxBytes - used) / excerpts.length) - NOTE_BYTES,
    maxLines: Math.floor((WHOLE.maxLines - lines) / excerpts.length) - NOTE_LINES,
  };
  if (share.maxBytes < NOTE_BYTES || share.maxLines < NOTE_LINES) return { kind: "all", texts: all };
  const texts = [...all];
  for (const { kept, index } of excerpts) texts[index] = `${all[index] ?? ""}\n${await excerptOf(kept, store, share)}`;
  return { kind: "all", texts };
}

function hasText({ form }: KeptResult): boolean {
  return form === "text" || form === "json";
}

function allWithin(words: readonly Words[], bound: TextBound): readonly string[] | undefined {
  let chars = 0;
  for (const { label, text, ours } of words) {
    chars += (label?.length ?? 0) + (text?.length ?? 0) + (ours?.length ?? 0);
    if (chars > bound.maxBytes) return undefined;
  }
  const texts = words.map(({ label, text, ours }) => {
    return [label, text === undefined ? undefined : markForeign(text), ours]
      .filter((piece) => piece !== undefined)
      .join("\n");
  });
  return fits(texts.join("\n"), bound) ? texts : undefined;
}

async function clipped(words: readonly Words[], store: ResultStore, facts: KeepFacts): Promise<string> {
  const labels = boundedLabels(words.flatMap(({ label, ours }) => [label, ours].filter((line) => line !== undefined)));
  const texts = words.flatMap(({ text }) => (text === undefined ? [] : [text]));
  const bound: TextBound = {
    maxBytes: WHOLE.maxBytes - Buffer.byteLength(labels.join("\n")) - NOTE_BYTES,
    maxLines: WHOLE.maxLines - labels.length - NOTE_LINES,
  };
  const all = allWithin(
    texts.map((text) => ({ text })),
    bound,
  );
  const body = all ?? [await startAndEnd(texts, store, { facts, bound })];
  return [...body, ...labels].join("\n");
}

async function startAndEnd(
  texts: readonly string[],
  store: ResultStore,
  { facts, bound }: { readonly facts: KeepFacts; readonly bound: TextBound },
): Promise<string> {
  const half = halfOf(bound);
  const head = headWithin(startOf(texts, half.maxBytes + 1), half);
  const tail = tailWithin(endOf(texts, half.maxBytes + 1), half);
  const kept = await store.keepText(texts, facts);
  if (kept.ok) return [head, gap(kept.result, head), tail].join("\n");
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, -1);
  const reason = bytesFrom(markForeign(kept.reason.replaceAll("\n", " ")), NOTE_BYTES / 2);
  return [head, hostLine(`the middle of ${bytes} bytes is left out here and could not be kept: ${reason}`), tail].join(
    "\n",
  );
}

function halfOf({ maxBytes, maxLines }: TextBound): TextBound {
  return { maxBytes: Math.floor(maxBytes / 2), maxLines: Math.floor(maxLines / 2) };
}

async function excerptOf(kept: KeptResult, store: ResultStore, bound: TextBound): Promise<string> {
  const half = halfOf(bound);
  const start = await store.read(kept.handle, { start: 0, length: half.maxBytes + 1 }).catch(() => undefined);
  const from = Math.max(0, kept.bytes - half.maxBytes - 1);
  const end = await store.read(kept.handle, { start: from, length: half.maxBytes + 1 }).catch(() => undefined);
  if (!start || !end) return "";
  const head = headWithin(new Utf8().decode(start), half);
  // The first character may have begun earlier: what is left of it is no character.
  const tail = tailWithin(
    Buffer.from(end)
      .toString()
      .replace(/^\ufffd{1,3}/u, ""),
    half,
  );
  return [head, gap(kept, head), tail].join("\n");
}

/** The tool's name is the catalog's to give; models find it by this one. */
export const READ_RESULT = "tenon_read_result";

function gap({ handle, bytes, lines }: KeptResult, head: string): string {
  const size = lines === undefined ? `${bytes} bytes` : `${bytes} bytes, ${lines} lines`;
  const next = JSON.stringify({ handle, line: lineCount(head, WHOLE.maxLines) });
  const grep = `{"handle":"${handle}","grep":"…"}`;
  return hostLine(
    `the middle is left out here. The whole text (${size}) is kept as ${handle}: go on with ${READ_RESULT} ${next}, ` +
      `search it with ${grep}, or pass it to a tool as {"$result":"${handle}"}`,
  );
}

function boundedLabels(labels: readonly string[]): readonly string[] {
  const shown: string[] = [];
  let bytes = 0;
  for (const label of labels) {
    bytes += Buffer.byteLength(label) + 1;
    if (shown.length >= TOOL_LIMITS.resultMaxLabels || bytes > LABEL_BYTES) break;
    shown.push(label);
  }
  const rest = labels.length - shown.length;
  return rest > 0 ? [...shown, hostLine(`and ${rest} more blocks besides text`)] : shown;
}
