// What a model, and what people, are given of an outcome: every block kind, within the bounds, marked, nothing left silent.
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { type ContentBlock, describeSpilled, type SpilledBlock, text } from "../../base/text/content.js";
import { hostLine, markBlock, markForeign, quoted } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import type { ToolAnswer, ToolOutcome } from "../tool.js";
import { assemble, type Words } from "./assemble.js";
import { MediaAllowance, type ModelMedia, type Part, passOn, toPart } from "./blocks.js";
import { bytesFrom } from "./clip.js";
import { jsonStart } from "./json-pieces.js";
import type { ResultStore } from "./store.js";

export interface ModelResult {
  readonly isError: boolean;
  readonly content: readonly ContentBlock[];
  /** Whose words these are (`server / tool`): data, never instructions. Unset for what Tenon itself says of a call. */
  readonly origin?: string;
}

export interface ResultContext {
  readonly store: ResultStore;
  /** `server / tool`. */
  readonly origin: string;
  readonly media: ModelMedia;
}

export interface Presented {
  readonly model: ModelResult;
  /** The same outcome for the screen and the journal: text marked and clipped, media as they came. */
  readonly outcome: ToolOutcome;
}

/** Never rejects but for a bug: what cannot be kept is said, not thrown. */
export async function presentOutcome(outcome: ToolOutcome, context: ResultContext): Promise<Presented> {
  switch (outcome.kind) {
    case "done":
    case "failed": {
      const { model, person } = await new Presentation(context).present(outcome);
      const shown = { kind: outcome.kind, ...forPeople(outcome, person) };
      return { model: { isError: outcome.kind === "failed", content: model, origin: context.origin }, outcome: shown };
    }
    case "refused": {
      const reason = shortWords(outcome.reason);
      return { model: said(`The call was refused: ${reason}`), outcome: { ...outcome, reason } };
    }
    case "cancelled":
      return { model: said("The call was cancelled by the person."), outcome };
    case "unknown": {
      const reason = shortWords(outcome.reason);
      return { model: said(`Outcome unknown: ${reason}. Do not assume it failed.`), outcome: { ...outcome, reason } };
    }
    default:
      return unreachable(outcome);
  }
}

export async function toModelResult(outcome: ToolOutcome, context: ResultContext): Promise<ModelResult> {
  return (await presentOutcome(outcome, context)).model;
}

function said(words: string): ModelResult {
  return { isError: true, content: [text(words)] };
}

/** Reasons hold words of servers now and then. */
function shortWords(reason: string): string {
  return markForeign(bytesFrom(reason, LIMITS.resultMaxBytes / 8));
}

function forPeople({ structured, warnings }: ToolAnswer, content: readonly ContentBlock[]): ToolAnswer {
  const isShort = structured !== undefined && jsonStart(structured, LIMITS.resultMaxBytes).isWhole;
  return {
    content,
    ...defined({
      structured: isShort ? structured : undefined,
      warnings: warnings ? warnings.map((warning) => markForeign(warning)) : undefined,
    }),
  };
}

/** One block on its way: what is said of it, and what is given as it is. */
interface Placed {
  readonly words?: Words;
  /** For the model. */
  readonly native?: ContentBlock;
  /** For people, instead of the words. */
  readonly person?: ContentBlock;
}

const NOTHING = "(The tool returned nothing.)";

class Presentation {
  readonly #context: ResultContext;
  readonly #media: MediaAllowance;

  constructor(context: ResultContext) {
    this.#context = context;
    this.#media = new MediaAllowance(context.store, context.media, { origin: context.origin });
  }

  async present(
    answer: ToolAnswer,
  ): Promise<{ readonly model: readonly ContentBlock[]; readonly person: readonly ContentBlock[] }> {
    const placed: Placed[] = [];
    for (const block of answer.content) placed.push(await this.#place(toPart(block), block));
    placed.push(...(await this.#structured(answer, placed)));
    const spoken = placed.flatMap(({ words }) => (words ? [words] : []));
    const assembled = await assemble(spoken, this.#context.store, { origin: this.#context.origin });
    const model: ContentBlock[] = [];
    const person: ContentBlock[] = [];
    if (assembled.kind === "clipped") {
      model.push(text(assembled.text), ...placed.flatMap(({ native }) => native ?? []));
      person.push(text(assembled.text), ...placed.flatMap((block) => block.person ?? []));
      return { model, person };
    }
    let next = 0;
    for (const block of placed) {
      const words = block.words ? text(assembled.texts[next++] ?? "") : undefined;
      const forModel = block.native ?? words;
      const forPerson = block.person ?? words;
      if (forModel) model.push(forModel);
      if (forPerson) person.push(forPerson);
    }
    const isEmpty = model.every((block) => block.type === "text" && block.text.trim() === "");
    return isEmpty ? { model: [text(NOTHING)], person } : { model, person };
  }

  async #place(part: Part, block: ContentBlock): Promise<Placed> {
    switch (part.kind) {
      case "words":
        return { words: part };
      case "media": {
        const place = await this.#media.place(part.media);
        const person = markBlock(block);
        return place.kind === "native"
          ? { native: markBlock(place.block), person }
          : { words: { label: place.label }, person };
      }
      case "spilled":
        return { words: await this.#spilled(part.block) };
      default:
        return unreachable(part);
    }
  }

  /** Taken over at once: the file goes with the connection, and the person may want it later. */
  async #spilled(block: SpilledBlock): Promise<Words> {
    const { kind, bytes, mimeType, uri, path, preview } = block;
    const facts = defined({ mimeType, uri });
    const kept = await this.#context.store.keepSpilled(block, { origin: this.#context.origin, ...facts });
    const words = [mimeType, uri].filter((word) => word !== undefined).map((word) => quoted(word, 2_000));
    const what = [kind, ...words].join(" ");
    if (kept.ok) {
      const { handle } = kept.result;
      return { label: hostLine(`${what}, ${bytes} bytes. ${passOn(handle)}`), kept: kept.result };
    }
    const label = hostLine(`${what}, ${bytes} bytes, could not be kept: ${quoted(kept.reason, 500)}`);
    const place = describeSpilled({ type: "spilled", kind, bytes, path, preview: "" });
    return { label, text: preview === "" ? place : `${preview}…\n${place}` };
  }

  /**
   * Sent only when there is no other form of it. When the text is shorter and says something else, the value is kept, so
   * that nothing is lost and nothing is sent twice.
   */
  async #structured({ structured }: ToolAnswer, placed: readonly Placed[]): Promise<readonly Placed[]> {
    if (structured === undefined) return [];
    const texts = placed.flatMap(({ words }) => (words?.text === undefined ? [] : [words.text]));
    if (texts.every((one) => one.trim() === "")) {
      const { text: json, isWhole } = jsonStart(structured, LIMITS.resultMaxBytes);
      return [{ words: isWhole ? { text: json } : await this.#keptValue(structured, "structured content") }];
    }
    if (isSaidBy(texts, structured)) return [];
    const chars = Math.min(
      MAX_COMPARED,
      texts.reduce((sum, one) => sum + one.length, 0),
    );
    if (jsonStart(structured, chars).isWhole) return [];
    const { text: json, isWhole } = jsonStart(structured, TOOL_LIMITS.structuredInlineBytes);
    if (isWhole) return [{ words: { text: json } }];
    const { kept: _, ...label } = await this.#keptValue(structured, "more than the text says, as structured content");
    return [{ words: label }];
  }

  async #keptValue(value: JsonValue, what: string): Promise<Words> {
    const kept = await this.#context.store.keepJson(value, { origin: this.#context.origin });
    if (!kept.ok) return { label: hostLine(`${what}, which could not be kept: ${quoted(kept.reason, 500)}`) };
    const { handle, bytes } = kept.result;
    const parts = `parts of it with "pointer":"/…"`;
    return { label: hostLine(`${what}, ${bytes} bytes of JSON. ${passOn(handle)}, ${parts}`), kept: kept.result };
  }
}

/** Of a value beside a long text no more than this is written down to see which of them says more. */
const MAX_COMPARED = 262_144;

// Whether the text of a result already says what its structured content says, so that no model is sent it twice.
/**
 * True when the texts are the JSON of the value, the value itself, or one JSON for each item of it; also of what stands
 * under its one key: servers wrap what they say in `result`, `content` or whatever they call it. Long texts are taken at their first character's word:
 * parsing them would hold everybody up.
 */
function isSaidBy(texts: readonly string[], structured: JsonValue): boolean {
  const [inner, ...others] = isJsonObject(structured) ? Object.values(structured) : [];
  return isOneOf(texts, structured) || (others.length === 0 && inner !== undefined && isOneOf(texts, inner));
}

function isOneOf(texts: readonly string[], value: JsonValue): boolean {
  if (texts.length === 1) return isJsonOf(texts[0] ?? "", value);
  return Array.isArray(value) && value.length === texts.length && texts.every((text, at) => isJsonOf(text, value[at]));
}

function isJsonOf(text: string, value: JsonValue | undefined): boolean {
  if (text === value) return true;
  const start = text.trimStart()[0];
  if (text.length > LIMITS.resultMaxBytes) return start === (Array.isArray(value) ? "[" : "{");
  const parsed = parseJson(text);
  return parsed.ok && isSame(parsed.value, value, 0);
}

function isSame(one: JsonValue | undefined, other: JsonValue | undefined, depth: number): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (depth > LIMITS.dataMaxDepth) return false;
  if (!isJsonObject(one) || !isJsonObject(other)) {
    if (isJsonObject(one) || isJsonObject(other) || one.length !== other.length) return false;
    return one.every((item, at) => isSame(item, other[at], depth + 1));
  }
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key], depth + 1));
}
