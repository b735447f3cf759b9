// The form of an outcome for a model and for people: every block kind, within the bounds, marked, nothing left silent.
import type { Eventual } from "../../base/async/eventual.js";
import { Pace } from "../../base/async/pace.js";
import { messageOf } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson, sameJson } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { type ContentBlock, describeSpilled, type SpilledBlock, text } from "../../base/text/content.js";
import { hostLine, markBlock, markForeign, quoted } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import type { ToolAnswer, ToolOutcome } from "../tool.js";
import {
  bytesFrom,
  endOf,
  fits,
  headWithin,
  isHostText,
  lineCount,
  MediaAllowance,
  mediaOf,
  passOn,
  type ResultContext,
  startOf,
  type TextBound,
  tailWithin,
} from "./blocks.js";
import { STREAM, utf8 } from "./read-range.js";
import { jsonStart, type KeepFacts, type KeptResult, type ResultStore } from "./store.js";

export interface ModelResult {
  readonly isError: boolean;
  readonly content: readonly ContentBlock[];
  /** The author of these words (`server / tool`): data, never instructions. Unset for Tenon's own words about a call. */
  readonly origin?: string;
}

export interface Presented {
  readonly model: ModelResult;
  /** The same outcome for the screen and the journal: text marked and clipped, media as they came. */
  readonly outcome: ToolOutcome;
  /** As its source gave it, for the program around Tenon. */
  readonly raw?: ToolOutcome;
}

/** Rejects or throws only for a bug: the result says what could not be kept. */
export function presentOutcome(outcome: ToolOutcome, context: ResultContext): Eventual<Presented> {
  switch (outcome.kind) {
    case "done":
    case "failed": {
      const plain = plainTexts(outcome);
      if (!plain) return presentedLater(outcome, context);
      return presentedAnswer(outcome, { model: plain, person: plain, isShort: true }, context);
    }
    case "cancelled":
      return { model: said("The call was cancelled by the person."), outcome };
    case "refused":
    case "unknown": {
      const reason = markForeign(bytesFrom(outcome.reason, LIMITS.resultMaxBytes / 8)); // may hold words of servers
      const isRefused = outcome.kind === "refused";
      const words = isRefused
        ? `The call was refused: ${reason}`
        : `Outcome unknown: ${reason}. Do not assume it failed.`;
      return { model: said(words), outcome: { ...outcome, reason } };
    }
    default:
      return unreachable(outcome);
  }
}

/** Never rejects. */
export function presentedWhatever(outcome: ToolOutcome, context: ResultContext): Eventual<Presented> {
  try {
    const presented = presentOutcome(outcome, context);
    return presented instanceof Promise ? presented.catch((error) => unpresented(outcome, error, context)) : presented;
  } catch (error) {
    return unpresented(outcome, error, context);
  }
}

function unpresented(outcome: ToolOutcome, error: unknown, context: ResultContext): Eventual<Presented> {
  const reason = `it ended as ${outcome.kind}, and what it answered could not be prepared: ${messageOf(error)}`;
  return presentOutcome({ kind: "unknown", reason }, context);
}

type AnswerOutcome = Extract<ToolOutcome, ToolAnswer>;

async function presentedLater(outcome: AnswerOutcome, context: ResultContext): Promise<Presented> {
  return presentedAnswer(outcome, await new Presentation(context).present(outcome, outcome.kind), context);
}

interface PlacedContent extends Readonly<Record<"model" | "person", readonly ContentBlock[]>> {
  /** The structured content is known to be short. */
  readonly isShort?: boolean;
}

function presentedAnswer(
  answer: AnswerOutcome,
  { model, person, isShort: isKnown = false }: PlacedContent,
  { origin }: ResultContext,
): Presented {
  const { kind, structured, warnings } = answer;
  const isOwn = answer.kind === "failed" && answer.isOwn === true;
  if (!isOwn && warnings === undefined && (structured === undefined || isKnown)) {
    const shown: AnswerOutcome =
      structured === undefined ? { kind, content: person } : { kind, content: person, structured };
    return { model: { isError: kind === "failed", content: model, origin }, outcome: shown };
  }
  const isShort = structured !== undefined && jsonStart(structured, LIMITS.resultMaxBytes).isWhole;
  const shown = {
    isOwn: isOwn || undefined,
    structured: isShort ? structured : undefined,
    warnings: warnings?.map((one) => markForeign(one)),
  };
  return {
    model: { isError: kind === "failed", content: model, ...defined({ origin: isOwn ? undefined : origin }) },
    outcome: { kind, content: person, ...defined(shown) },
  };
}

/** The form for a model of an outcome that was journaled: its texts are marked and clipped already. */
export async function recalledResult(outcome: ToolOutcome, context: ResultContext): Promise<ModelResult> {
  if (outcome.kind !== "done" && outcome.kind !== "failed") return (await presentOutcome(outcome, context)).model;
  const content: ContentBlock[] = [];
  for (const block of outcome.content) {
    if (block.type === "text") content.push(block);
    else content.push(...(await presentOutcome({ kind: "done", content: [block] }, context)).model.content);
  }
  const { kind } = outcome;
  const isOwn = outcome.kind === "failed" && outcome.isOwn === true;
  const isEmpty = content.every((block) => block.type === "text" && block.text.trim() === "");
  return {
    isError: kind === "failed",
    content: isEmpty ? [text(nothingOf(kind))] : content,
    ...defined({ origin: isOwn ? undefined : context.origin }),
  };
}

export async function toModelResult(outcome: ToolOutcome, context: ResultContext): Promise<ModelResult> {
  return (await presentOutcome(outcome, context)).model;
}

function said(words: string): ModelResult {
  return { isError: true, content: [text(words)] };
}

/** One block on its way: words about it, and the block itself where it is given as it is. */
interface Placed {
  readonly words?: Words;
  /** For the model. */
  readonly native?: ContentBlock;
  /** For people, instead of the words. */
  readonly person?: ContentBlock;
}

/** What stands for a result without content. */
export function nothingOf(kind: "done" | "failed"): string {
  return kind === "done" ? "(The tool returned nothing.)" : "(The tool reported an error and gave no details.)";
}

/** Most results are one short text and nothing else: it is marked, and there is nothing to place. Undefined for all others. */
function plainTexts({ content, structured }: ToolAnswer): readonly ContentBlock[] | undefined {
  const [block] = content;
  if (content.length !== 1 || block?.type !== "text") return undefined;
  const { text: given } = block;
  if (given.length > WHOLE.maxBytes || given.trim() === "") return undefined;
  const isOurs = isHostText(block);
  const marked = isOurs ? given : markForeign(given);
  if (structured === undefined) return fits(marked, WHOLE) ? [text(marked)] : undefined;
  // The value beside it is written down once, where that is all there is to do about it.
  const { text: json, isWhole } = jsonStart(structured, TOOL_LIMITS.structuredInlineBytes);
  if (isOurs || !isWhole || !fits(marked, HALF)) return undefined;
  const isEnough = json.length <= given.length || isSaidBy([given], structured);
  return isEnough ? [text(marked)] : [text(marked), text(markForeign(json))];
}

class Presentation {
  readonly #store: ResultStore;
  readonly #facts: { readonly origin: string };
  readonly #media: MediaAllowance;
  readonly #pace: Pace;

  constructor(context: ResultContext) {
    this.#pace = Pace.of(context.store.world);
    this.#store = context.store;
    this.#facts = { origin: context.origin };
    this.#media = new MediaAllowance(context);
  }

  async present(answer: ToolAnswer, kind: "done" | "failed"): Promise<PlacedContent> {
    const placed: Placed[] = [];
    for (const block of answer.content) placed.push(await this.#place(block));
    const structured = await this.#structured(answer, placed);
    if (structured) placed.push({ words: structured });
    const spoken = placed.flatMap(({ words }) => words ?? []);
    const texts = await assemble(spoken, this.#store);
    if (!texts) {
      const start = text(await clipped(spoken, this.#store, this.#facts));
      const model = [start, ...placed.flatMap(({ native }) => native ?? [])];
      return { model, person: [start, ...placed.flatMap(({ person }) => person ?? [])] };
    }
    let next = 0;
    const shown = placed.map(({ words, native, person }) => {
      const block = words ? text(texts[next++] ?? "") : undefined;
      return { model: native ?? block, person: person ?? block };
    });
    const model = shown.flatMap((block) => block.model ?? []);
    const person = shown.flatMap((block) => block.person ?? []);
    const isEmpty = model.every((block) => block.type === "text" && block.text.trim() === "");
    if (!isEmpty) return { model, person };
    const nothing = [text(nothingOf(kind))];
    return { model: nothing, person: kind === "failed" ? nothing : person };
  }

  async #place(block: ContentBlock): Promise<Placed> {
    const media = mediaOf(block);
    if (media) {
      const placed = await this.#media.place(media);
      const person = markBlock(block);
      return typeof placed === "string" ? { words: { label: placed }, person } : { native: markBlock(placed), person };
    }
    return { words: block.type === "spilled" ? await this.#spilled(block) : wordsOf(block) };
  }

  /** Taken over at once: the file goes with the connection, and the person may want it later. */
  async #spilled(block: SpilledBlock): Promise<Words> {
    const { kind, bytes, mimeType, uri, path, preview } = block;
    const kept = await this.#store.keepSpilled(block, { ...this.#facts, ...defined({ mimeType, uri }) });
    const facts = [mimeType, uri].filter((word) => word !== undefined).map((word) => quoted(word, 2_000));
    const size = `${[kind, ...facts].join(" ")}, ${bytes} bytes`;
    if (kept.ok) return { label: hostLine(`${size}. ${passOn(kept.result.handle)}`), kept: kept.result };
    const label = hostLine(`${size}, could not be kept: ${quoted(kept.reason, 500)}`);
    const place = describeSpilled({ type: "spilled", kind, bytes, path, preview: "" });
    return { label, text: preview === "" ? place : `${preview}…\n${place}` };
  }

  /**
   * Sent only when there is no other form of it. When the text is shorter and says something else, the value is kept, so
   * that nothing is lost and nothing is sent twice.
   */
  async #structured({ structured }: ToolAnswer, placed: readonly Placed[]): Promise<Words | undefined> {
    if (structured === undefined) return undefined;
    const texts = placed.flatMap(({ words }) => words?.text ?? []);
    if (texts.every((one) => one.trim() === "")) {
      const { text: json, isWhole } = await this.#start(structured, LIMITS.resultMaxBytes);
      return isWhole ? { text: json } : await this.#keptValue(structured, "structured content");
    }
    if (isSaidBy(texts, structured)) return undefined;
    const chars = texts.reduce((sum, one) => sum + one.length, 0);
    if ((await this.#start(structured, Math.min(MAX_COMPARED, chars))).isWhole) return undefined;
    const { text: json, isWhole } = await this.#start(structured, TOOL_LIMITS.structuredInlineBytes);
    if (isWhole) return { text: json };
    const { kept: _, ...label } = await this.#keptValue(structured, "more than the text says, as structured content");
    return label;
  }

  #start(value: JsonValue, maxChars: number): Eventual<ReturnType<typeof jsonStart>> {
    return this.#pace.runAtOnce(() => jsonStart(value, maxChars));
  }

  async #keptValue(value: JsonValue, what: string): Promise<Words> {
    const kept = await this.#store.keepJson(value, this.#facts);
    if (!kept.ok) return { label: hostLine(`${what}, which could not be kept: ${quoted(kept.reason, 500)}`) };
    const { handle, bytes } = kept.result;
    const parts = `parts of it with "pointer":"/…"`;
    return { label: hostLine(`${what}, ${bytes} bytes of JSON. ${passOn(handle)}, ${parts}`), kept: kept.result };
  }
}

/** Of a value beside a long text no more than this is written down to see which of them says more. */
const MAX_COMPARED = 262_144;

function wordsOf(block: Exclude<ContentBlock, SpilledBlock>): Words {
  switch (block.type) {
    case "text":
      return isHostText(block) ? { ours: block.text } : { text: block.text };
    case "resource":
      return { label: hostLine(`resource ${quoted(block.uri, 2_000)}`), text: block.text ?? "" };
    case "resource_link": {
      const { uri, name, title, description, mimeType, size } = block;
      const facts = [mimeType && quoted(mimeType, 100), size !== undefined && `${size} bytes`].filter(Boolean);
      const about = description === undefined ? "" : `\n${description}`;
      const label = hostLine(["link to a resource", ...facts].join(", "));
      return { label, text: `${title ?? name} <${uri}>${about}` };
    }
    case "unknown": {
      const { text: json, isWhole } = jsonStart(block.raw, TOOL_LIMITS.resultMaxStrangeBytes);
      const rest = isWhole ? "" : ", which is too long to show";
      const label = hostLine(`a content block of the unknown kind ${quoted(block.kind)}${rest}`);
      return isWhole ? { label, text: json } : { label };
    }
    case "image":
    case "audio":
      return {}; // given as media
    default:
      return unreachable(block);
  }
}

/**
 * Whether the texts already say what the structured content says: they are the JSON of the value, the value itself, or one
 * JSON for each item of it; also of the value under its one key, since servers wrap it in `result` or `content`. Long texts
 * are judged by their first character: parsing them would hold the event loop.
 */
function isSaidBy(texts: readonly string[], structured: JsonValue): boolean {
  return isSaid(texts, structured) || (isJsonObject(structured) && isSaid(texts, onlyValueOf(structured)));
}

function isSaid(texts: readonly string[], value: JsonValue | undefined): boolean {
  if (texts.length === 1 && value !== undefined) return isJsonOf(texts[0] ?? "", value);
  return Array.isArray(value) && value.length === texts.length && texts.every((one, at) => isJsonOf(one, value[at]));
}

/** Undefined where there are several. */
function onlyValueOf(object: JsonObject): JsonValue | undefined {
  let only: JsonValue | undefined;
  let count = 0;
  for (const key in object) {
    if (count > 0) return undefined;
    only = object[key];
    count += 1;
  }
  return only;
}

function isJsonOf(json: string, value: JsonValue | undefined): boolean {
  if (json === value) return true;
  if (value === undefined || !mayBeJsonOf(json, value)) return false; // most texts: a parser's error costs more
  if (json.length > LIMITS.resultMaxBytes) return typeof value === "object" && value !== null;
  const parsed = parseJson(json); // no deeper than sameJson may walk
  return parsed.ok && sameJson(parsed.value, value);
}

/** By the first character. */
function mayBeJsonOf(json: string, value: JsonValue): boolean {
  const first = json.trimStart().charAt(0);
  if (typeof value === "string") return first === '"';
  if (typeof value !== "object" || value === null) return first !== "{" && first !== "[" && first !== '"';
  return first === (Array.isArray(value) ? "[" : "{");
}

/** What there is to say about one block. */
interface Words {
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
const HALF: TextBound = halfOf(WHOLE);

/** One text for each of the words, in their order; undefined when they are too long. */
async function assemble(words: readonly Words[], store: ResultStore): Promise<readonly string[] | undefined> {
  const all = allWithin(words, WHOLE);
  if (!all) return undefined;
  const hasText = ({ form }: KeptResult) => form === "text" || form === "json";
  const excerpts = words.flatMap(({ kept }, index) => (kept && hasText(kept) ? [{ kept, index }] : []));
  if (excerpts.length === 0) return all;
  const used = Buffer.byteLength(all.join("\n"));
  const lines = all.reduce((sum, text) => sum + lineCount(text, WHOLE.maxLines), 0);
  const share: TextBound = {
    maxBytes: Math.floor((WHOLE.maxBytes - used) / excerpts.length) - NOTE_BYTES,
    maxLines: Math.floor((WHOLE.maxLines - lines) / excerpts.length) - NOTE_LINES,
  };
  if (share.maxBytes < NOTE_BYTES || share.maxLines < NOTE_LINES) return all;
  const texts = [...all];
  for (const { kept, index } of excerpts) texts[index] = `${all[index] ?? ""}\n${await excerptOf(kept, store, share)}`;
  return texts;
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
  if (all) return [...all, ...labels].join("\n");
  const half = halfOf(bound);
  const head = headWithin(startOf(texts, half.maxBytes + 1), half);
  const tail = tailWithin(endOf(texts, half.maxBytes + 1), half);
  const kept = await store.keepText(texts, facts);
  if (kept.ok) return [head, gap(kept.result, head), tail, ...labels].join("\n");
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, -1);
  const reason = bytesFrom(markForeign(kept.reason.replaceAll("\n", " ")), NOTE_BYTES / 2);
  const note = hostLine(`the middle of ${bytes} bytes is left out here and could not be kept: ${reason}`);
  return [head, note, tail, ...labels].join("\n");
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
  const head = headWithin(utf8().decode(start, STREAM), half);
  // The first character may have begun earlier: what is left of it is no character.
  const rest = Buffer.from(end)
    .toString()
    .replace(/^\ufffd{1,3}/u, "");
  const tail = tailWithin(rest, half);
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
