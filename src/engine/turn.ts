// What a turn is given, what it comes to, and what it keeps while it runs.
import type { ErrorCode } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import { type ContentBlock, plainText } from "../base/text/content.js";
import {
  compileTools,
  type Model,
  type ModelMessage,
  type ModelRequest,
  type ModelTool,
  type ModelToolCall,
  type ModelToolResult,
  type ModelUsage,
} from "../models/index.js";
import {
  type CatalogTool,
  type ModelResult,
  type Offer,
  type RunPorts,
  SEARCH_TOOLS,
  type SentBefore,
  type ToolOutcome,
  type ToolProgress,
} from "../tools/index.js";
import { ENGINE_LIMITS } from "./limits.js";
import type { Transcript } from "./transcript.js";

export interface Turn {
  /** Counts from 1 within the session. */
  readonly number: number;
  /** May become another with a call of `offer`; so may `thinking`. */
  readonly model: Model;
  readonly system: string;
  readonly transcript: Transcript;
  /** One for each session: it learns how the session's models count. */
  readonly meter: TokenMeter;
  readonly ports: Omit<RunPorts, "media">;
  readonly thinking?: ModelRequest["thinking"] | undefined;
  readonly maxOutputTokens?: number;
  /** The same for all requests of the session, so that the provider finds what it has cached. */
  readonly cacheKey?: string;
  /** Asked before every model call, so that tools of late servers join in the middle of a turn. */
  offer(): Offer;
  /** This model's provider does not take the tool: it should not be offered again until its definition changes. */
  quarantine?(tool: CatalogTool, reason: string): void;
  /** What stays in sight of the model word for word, whatever is compacted. Asked when that happens. */
  pinned?(): readonly ContentBlock[];
  /** The answer is whole, and its calls are about to be run: none is before the promise resolves. */
  onAnswer?(answer: WholeAnswer): Promise<void> | undefined;
  /** For a turn that another process began. Its prompt is in the transcript. */
  readonly begun?: BegunTurn;
}

/** An answer of the model that has calls. */
export interface WholeAnswer {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  readonly providerData?: JsonObject;
  /** The ids under which people saw calls being written, by the provider's. */
  readonly announced: ReadonlyMap<string, string>;
  /** The output limit fell into its last call. */
  readonly isTruncated: boolean;
}

/** As far as a turn came in the process that began it. */
export interface BegunTurn {
  /** Calls that have an id. */
  readonly callCount: number;
  /** Answers whose calls are all in the transcript. */
  readonly modelCalls: number;
  readonly usage: ModelUsage;
  /** The answer whose calls are not, and of each call how far it came. */
  readonly answer?: WholeAnswer & { readonly calls: readonly BegunCall[] };
  /** For the model, before the first result from here on. */
  readonly note: string;
}

export type BegunCall =
  | { readonly state: "ended"; readonly result: ModelResult }
  /** Nobody knows its outcome; `lasting` for one that can be asked for. */
  | { readonly state: "sent"; readonly toolCallId: string; readonly lasting?: SentBefore }
  /** It has done nothing yet. Without an id, people have not heard of it. */
  | { readonly state: "open"; readonly toolCallId?: string };

export interface TurnEnd {
  readonly stopReason: StopReason;
  /** Why it ended before the model was done; left out when the model was, and when the person cancelled. */
  readonly cause?: StopCause;
  readonly usage: ModelUsage;
}

/** What one turn, or one compaction between turns, knows of itself. */
export class TurnState {
  readonly turn: Turn;
  readonly signal: AbortSignal;
  usage: ModelUsage;
  /** Requests left for finding tools that the provider refuses. */
  probesLeft: number = ENGINE_LIMITS.toolProbes.max;
  /** The provider refused a tool in this turn. */
  hasRefusedTools = false;
  readonly #setAside = new Map<string, string>();
  #callCount: number;

  constructor(turn: Turn, signal: AbortSignal) {
    this.turn = turn;
    this.signal = signal;
    this.usage = turn.begun?.usage ?? NO_USAGE;
    this.#callCount = turn.begun?.callCount ?? 0;
  }

  nextCallId(): string {
    this.#callCount += 1;
    return `${this.turn.number}-${this.#callCount}`;
  }

  /** Each tool is reported once a turn, also when it is offered again. */
  *setAside(tool: CatalogTool, reason: string): Generator<TurnEvent, void, void> {
    this.turn.quarantine?.(tool, reason);
    if (this.isSetAside(tool)) return;
    this.#setAside.set(tool.id, tool.definitionHash);
    yield { kind: "tool_quarantined", tool, reason };
  }

  isSetAside(tool: CatalogTool): boolean {
    return this.#setAside.size > 0 && this.#setAside.get(tool.id) === tool.definitionHash;
  }

  /** `contextTokens`: how much of the window the conversation takes now, where the request was about the conversation. */
  *used(usage: ModelUsage | undefined, contextTokens?: number): Generator<TurnEvent, void, void> {
    if (usage === undefined) return;
    this.usage = addUsage(this.usage, usage);
    const { model, meter } = this.turn;
    const sizeTokens = meter.windowOf(model);
    // The offline model has no window that could fill up.
    const isKnown = contextTokens !== undefined && Number.isFinite(sizeTokens);
    const context = isKnown ? { usedTokens: contextTokens, sizeTokens } : undefined;
    yield { kind: "usage", usage, turn: this.usage, ...defined({ context }) };
  }
}

/** Why a turn ended well. A turn that fails throws a TenonError people can read; it is never passed off as a normal end. */
export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/** What stopped a turn before the model was done with it. `repetition` has no stop reason of its own: it ends as `max_turn_requests`. */
export type StopCause = "output_limit" | "request_limit" | "repetition" | "refusal";

/** The tool of a call, or only the name the model made up. */
export interface CallSubject {
  readonly name: string;
  readonly tool?: CatalogTool;
  /** The user's word that what the tool's server says about it is true. */
  readonly trustsHints?: true;
}

export function callSubject(
  name: string,
  tool: CatalogTool | undefined,
  ports: Pick<RunPorts, "trustsAnnotations">,
): CallSubject {
  const trustsHints = tool && ports.trustsAnnotations?.(tool) ? (true as const) : undefined;
  return { name, ...defined({ tool, trustsHints }) };
}

/** `window`: it was nearly full. `overflow`: the provider said that it is. `asked`: by the person. */
export type CompactionCause = "window" | "overflow" | "asked";

/** What took the place of the older part: handles of its results only, a summary by the model, or one by Tenon itself. */
export type CompactionMeans = "handles" | "model" | "host";

export type CompactionEvent = { readonly kind: "compaction"; readonly compactionId: string } & (
  | { readonly phase: "started"; readonly cause: CompactionCause; readonly beforeTokens: number }
  | {
      readonly phase: "done";
      readonly beforeTokens: number;
      readonly afterTokens: number;
      readonly means: CompactionMeans;
      /** Empty when handles were enough. */
      readonly summary: string;
      /** Both whole: with them a session can be taken up again as it is, and as it was. */
      readonly before: readonly ModelMessage[];
      readonly after: readonly ModelMessage[];
    }
  /** Nothing was changed. */
  | { readonly phase: "failed" | "cancelled"; readonly reason: string }
);

/** How full the window is: as the provider counted it, else as estimated. */
export interface ContextUse {
  readonly usedTokens: number;
  readonly sizeTokens: number;
}

/** What happens to one call. */
type CallStep =
  /** It is being written: `delta` goes on at `offset`, and at 0 nobody has heard of the call before. Then it is started, or dropped. */
  | { readonly kind: "call_arguments"; readonly subject: CallSubject; readonly offset: number; readonly delta: string }
  /** It was being written and will not be made: the answer broke off. */
  | { readonly kind: "call_dropped"; readonly reason: string }
  /** Asked for by the model, and not begun: all calls of an answer are started before the first one runs. */
  | {
      readonly kind: "call_started";
      readonly subject: CallSubject;
      readonly arguments: JsonObject;
      /** Its `call_arguments` came before. */
      readonly wasAnnounced: boolean;
    }
  /** A person is being asked, and the call waits for the answer. */
  | { readonly kind: "call_awaiting_approval" | "call_running" }
  | { readonly kind: "call_progress"; readonly progress: ToolProgress; readonly elapsedMs: number }
  /** The last event of a call. The time is that since it was sent; 0 when it never was. */
  | { readonly kind: "call_ended"; readonly outcome: ToolOutcome; readonly elapsedMs: number };

export type TurnEvent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string }
  | ({ readonly toolCallId: string } & CallStep)
  /** The model's provider does not accept the tool: it is not offered until its definition changes. */
  | { readonly kind: "tool_quarantined"; readonly tool: CatalogTool; readonly reason: string }
  /** The provider cannot answer now. `attempt` is the one that failed, of `attempts`; the next begins at `untilMs` (since the epoch). */
  | {
      readonly kind: "waiting";
      readonly code: ErrorCode;
      readonly reason: string;
      readonly untilMs: number;
      readonly attempt: number;
      readonly attempts: number;
    }
  | CompactionEvent
  /** Of one model call, and of the turn so far. `context` is left out for requests beside the conversation. */
  | {
      readonly kind: "usage";
      readonly usage: ModelUsage;
      readonly turn: ModelUsage;
      readonly context?: ContextUse;
    }
  /** The turn ends here although the model was not done, in words for people. */
  | { readonly kind: "stopped"; readonly cause: StopCause; readonly reason: string };

export const NO_USAGE: ModelUsage = { inputTokens: 0, outputTokens: 0 };

/** What neither side knows stays unknown; what only one knows is a lower bound. */
export function addUsage(sum: ModelUsage, more: ModelUsage): ModelUsage {
  const cachedInputTokens = added(sum.cachedInputTokens, more.cachedInputTokens);
  const cacheWriteTokens = added(sum.cacheWriteTokens, more.cacheWriteTokens);
  const costUsd = added(sum.costUsd, more.costUsd);
  return {
    inputTokens: sum.inputTokens + more.inputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    ...defined({ cachedInputTokens, cacheWriteTokens, costUsd }),
  };
}

function added(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}

interface Learnt {
  /** Real tokens for each estimated one. */
  factor: number;
  /** The provider refused this many, so the window is smaller. */
  windowTokens?: number;
}

/** Of shorter prompts the frame is most, which says nothing about text. */
const MIN_LEARNT_TOKENS = 500;
/** Beyond these the provider does not count tokens of the prompt: some report 0, or only what is new. */
const MIN_RATIO = 0.3;
const MAX_RATIO = 4;
/** No model that takes tools has less: what is refused below it was refused for another reason. */
const MIN_WINDOW_TOKENS = 2_048;

export class TokenMeter {
  readonly #learnt = new Map<string, Learnt>();

  /** Tokens of prompt and answer together that the model takes. */
  windowOf(model: Model): number {
    const known = model.abilities?.contextTokens ?? LIMITS.context.unknownTokens;
    return Math.min(known, this.#learnt.get(model.id)?.windowTokens ?? known);
  }

  /** The prompt tokens at which the conversation is to be compacted: a long answer must fit as well. */
  budgetOf(model: Model): number {
    const window = this.windowOf(model);
    const answer = model.abilities?.maxOutputTokens ?? 0;
    return Math.floor(Math.max(window / 2, Math.min(window * LIMITS.context.compactAt, window - answer)));
  }

  tokensOf(model: Model, request: Prompt): number {
    return Math.ceil(rawTokens(request) * (this.#learnt.get(model.id)?.factor ?? 1));
  }

  /** Of something that is a part of a prompt. */
  messagesTokens(model: Model, messages: ModelRequest["messages"]): number {
    return this.tokensOf(model, { system: "", messages, tools: [] });
  }

  /** The provider counted the prompt. */
  learn(model: Model, request: Prompt, inputTokens: number): void {
    const raw = rawTokens(request);
    const ratio = inputTokens / raw;
    if (raw < MIN_LEARNT_TOKENS || !(ratio >= MIN_RATIO && ratio <= MAX_RATIO)) return;
    const learnt = this.#of(model);
    learnt.factor = (learnt.factor + ratio) / 2;
  }

  /** The provider refused the prompt as too long. */
  overflowed(model: Model, request: Prompt): void {
    const refused = this.tokensOf(model, request);
    if (refused < this.windowOf(model)) this.#of(model).windowTokens = Math.max(refused, MIN_WINDOW_TOKENS);
  }

  #of(model: Model): Learnt {
    const learnt = this.#learnt.get(model.id) ?? { factor: 1 };
    this.#learnt.set(model.id, learnt);
    return learnt;
  }
}

type Prompt = Pick<ModelRequest, "system" | "messages" | "tools">;

function rawTokens({ system, messages, tools }: Prompt): number {
  let tokens = textTokens(system);
  for (const message of messages) tokens += messageTokens(message);
  for (const tool of tools) tokens += toolTokens(tool);
  return tokens;
}

/** Tokens a character, by script: English prose has 4.2 characters a token, JSON and code about 3, Cyrillic 2.2, Chinese 1. */
const LOWERCASE = 1 / 4;
const UPPERCASE = 1 / 3;
const DIGIT = 1 / 2.5;
const SIGN = 1 / 2;
const EXTENDED_LATIN = 1 / 2.5;
const OTHER_ALPHABET = 1 / 2;
const IDEOGRAPH = 1;

/** Role, separators and ids around every message, call and result. */
const FRAME_TOKENS = 8;
/** A picture as providers scale it down; sounds and documents by their bytes. */
const IMAGE_TOKENS = 1_600;
const AUDIO_BYTES_PER_TOKEN = 500;
const DOCUMENT_BYTES_PER_TOKEN = 30;

export function textTokens(text: string): number {
  let tokens = 0;
  for (let index = 0; index < text.length; index++) tokens += weightOf(text.charCodeAt(index));
  return Math.ceil(tokens);
}

function weightOf(code: number): number {
  if ((code >= 0x61 && code <= 0x7a) || code === 0x20) return LOWERCASE;
  if (code >= 0x41 && code <= 0x5a) return UPPERCASE;
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  if (code < 0x80) return SIGN;
  if (code < 0x250) return EXTENDED_LATIN;
  // From here on ideographs, syllables and halves of surrogate pairs: a picture character is two tokens.
  return code < 0x2e80 ? OTHER_ALPHABET : IDEOGRAPH;
}

const known = new WeakMap<ModelMessage | ModelTool, number>();

/** Messages and tools never change, so each is counted once. */
export function messageTokens(message: ModelMessage): number {
  return known.get(message) ?? remember(message, FRAME_TOKENS + countMessage(message));
}

export function toolTokens(tool: ModelTool): number {
  return known.get(tool) ?? remember(tool, FRAME_TOKENS + countTool(tool));
}

function remember(counted: ModelMessage | ModelTool, tokens: number): number {
  known.set(counted, tokens);
  return tokens;
}

function countTool({ name, description, inputSchema }: ModelTool): number {
  return textTokens(name) + textTokens(description) + textTokens(JSON.stringify(inputSchema));
}

function countMessage(message: ModelMessage): number {
  switch (message.role) {
    case "user":
      return contentTokens(message.content);
    case "assistant": {
      const { text, toolCalls, providerData } = message;
      const calls = toolCalls.map(
        ({ name, argumentsJson }) => FRAME_TOKENS + textTokens(name) + textTokens(argumentsJson),
      );
      return textTokens(text) + sum(calls) + (providerData ? textTokens(JSON.stringify(providerData)) : 0);
    }
    case "tool":
      return sum(message.results.map(({ content }) => FRAME_TOKENS + contentTokens(content)));
  }
}

function contentTokens(content: readonly ContentBlock[]): number {
  return sum(content.map((block) => blockTokens(block)));
}

function blockTokens(block: ContentBlock): number {
  if (block.type === "image") return IMAGE_TOKENS;
  if (block.type === "audio") return Math.ceil((block.data.length * 0.75) / AUDIO_BYTES_PER_TOKEN);
  if (block.type === "resource" && block.blob !== undefined) {
    return Math.max(IMAGE_TOKENS, Math.ceil((block.blob.length * 0.75) / DOCUMENT_BYTES_PER_TOKEN));
  }
  return textTokens(plainText([block]));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

export interface CompiledOffer {
  readonly tools: readonly ModelTool[];
  readonly refused: readonly { readonly tool: CatalogTool; readonly reason: string }[];
  /** The call with the arguments its tool wants, whatever form the model was shown. */
  readonly restore: (call: ModelToolCall) => ModelToolCall;
  /** By the name the model knows. */
  readonly find: (name: string) => CatalogTool | undefined;
}

/** An offer does not change, and compiling a hundred schemas for every model call would be felt. */
const cache = new WeakMap<Offer, Map<string, CompiledOffer>>();

/** With what searches of the conversation found, for models that take it beside the result; others call it through the wrapper. */
export function compileOffer(offer: Offer, model: Model, messages: readonly ModelMessage[]): CompiledOffer {
  const found = model.abilities?.toolSearch === undefined ? [] : foundTools(messages, offer);
  const key = [model.dialect ?? "", model.id, ...found.map(({ id }) => id)].join(" ");
  const forms = cache.get(offer) ?? new Map<string, CompiledOffer>();
  const compiled = forms.get(key) ?? compile(offer.tools, found, model);
  cache.set(offer, forms.set(key, compiled));
  return compiled;
}

/** The search is named as such in any case: what a model can do may not be known before its first request. */
function compile(offered: readonly CatalogTool[], found: readonly CatalogTool[], model: Model): CompiledOffer {
  const tools = [
    ...offered.map((tool) => (isSearchTool(tool) ? { ...modelTool(tool), isSearch: true } : modelTool(tool))),
    ...found.map((tool) => ({ ...modelTool(tool), isDeferred: true })),
  ];
  const compiled = compileTools(tools, model);
  const byName = new Map<string, CatalogTool>([...offered, ...found].map((tool) => [tool.id, tool]));
  return {
    tools: compiled.tools,
    refused: compiled.refused.flatMap(({ name, reason }) => {
      const tool = byName.get(name);
      return tool ? [{ tool, reason }] : [];
    }),
    restore: (call) => compiled.restore(call),
    find: (name) => byName.get(name),
  };
}

function modelTool({ id, definition }: CatalogTool): ModelTool {
  const { title, description, inputSchema, providerOptions } = definition;
  return { name: id, description, inputSchema, ...defined({ title, providerOptions }) };
}

/** Tenon's own search, whatever other tools are called. */
function isSearchTool({ origin, definition }: CatalogTool): boolean {
  return origin === "builtin" && definition.name === SEARCH_TOOLS;
}

/** The line with which the search begins each tool it found. */
const NAME_LINE = /^name: ([A-Za-z0-9_-]{1,64})/gm;

/** Results of searches with the tools they found; what is offered anyway is not among them. */
export function withFoundTools(results: readonly ModelToolResult[], offer: Offer): readonly ModelToolResult[] {
  return results.map((result) => {
    const tool = offer.find(result.name)?.tool;
    if (!tool || !isSearchTool(tool) || result.isError) return result;
    const offered = new Set<string>(offer.tools.map(({ id }) => id));
    const names = [...plainText(result.content).matchAll(NAME_LINE)].flatMap(([, name]) => name ?? []);
    // Titles and descriptions are words of servers, so a line may say anything: only tools that are there count.
    const ids = names.flatMap((name) => offer.find(name)?.tool.id ?? []);
    const found = [...new Set(ids)].filter((id) => !offered.has(id));
    return found.length === 0 ? result : { ...result, found };
  });
}

/** Those that results of the conversation name and that can be called, in the order in which they were found. */
function foundTools(messages: readonly ModelMessage[], offer: Offer): readonly CatalogTool[] {
  const names = new Set<string>();
  for (const message of messages) {
    if (message.role !== "tool") continue;
    for (const { found } of message.results) for (const name of found ?? []) names.add(name);
  }
  if (names.size === 0) return [];
  const offered = new Set<string>(offer.tools.map(({ id }) => id));
  const found = new Map<string, CatalogTool>();
  for (const name of names) {
    const entry = offer.find(name);
    const isUsable = entry && entry.unavailable === undefined && entry.held === undefined;
    if (isUsable && !offered.has(entry.tool.id)) found.set(entry.tool.id, entry.tool);
  }
  return [...found.values()];
}
