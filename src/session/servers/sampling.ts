// Sampling: a server asks for words of the session's model. A person approves it, and a budget bounds it.
import { orAborted } from "../../base/async/deadline.js";
import { messageOf } from "../../base/errors.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { errorType } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import { type ContentBlock, plainText, text } from "../../base/text/content.js";
import { markBlock, markForeign } from "../../base/text/marking.js";
import { type Peer, RpcRefusal } from "../../mcp/index.js";
import type { Model, ModelMessage, ModelUsage } from "../../models/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { SamplingAnswer, SamplingMessage, SamplingRequest, SessionPorts } from "../ports.js";

export interface SamplingOptions {
  readonly world: World;
  /** Asked for with every request: the session may change its model. */
  model(): Model;
  /** Who is attached now. */
  ports(): SessionPorts | undefined;
  /** Tokens that were spent for a server: they are the person's all the same. */
  onUsed?(usage: ModelUsage): void;
}

/** The code the protocol names for "a person said no". */
const DECLINED = -1;
const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;

/** One budget for all servers of a session; each gets a peer of its own, so that one knows who asks. */
export function samplingPeer(
  options: SamplingOptions,
): (server: string, owner?: string) => { readonly sample: NonNullable<Peer["sample"]> } {
  let budget: SamplingBudget | undefined;
  return (name, owner = "") => ({
    sample: (params, signal) => {
      budget ??= new SamplingBudget(options);
      return budget.sample({ name, owner }, params, signal);
    },
  });
}

/** Who asks: another owner's server may have the same name. */
interface Asker {
  readonly name: string;
  readonly owner: string;
}

/** What one request may cost at most, taken out of the budget before it is asked about. */
interface Grant {
  readonly inputTokens: number;
  readonly maxTokens: number;
}

class SamplingBudget {
  readonly #options: SamplingOptions;
  /** What a person said once and for all, by asker, for this session. */
  readonly #answered = new Map<string, "session" | "never">();
  #callsLeft: number = SESSION_LIMITS.sampling.calls;
  #tokensLeft: number = SESSION_LIMITS.sampling.tokens;
  #count = 0;
  /** Questions are put one after the other. */
  #lastQuestion: Promise<unknown> = Promise.resolve();

  constructor(options: SamplingOptions) {
    this.#options = options;
  }

  /** Rejects with an `RpcRefusal`, whose words are for the server. */
  async sample(asker: Asker, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (!this.#options.ports()?.approveSampling) throw declined("nobody is there to approve it");
    if (this.#answered.get(keyOf(asker)) === "never") throw declined("the person said no");
    const wish = readSamplingWish(params);
    const grant = this.#grant(wish);
    let spent = 0;
    try {
      await this.#approve(asker, wish, grant, signal);
      spent = grant.inputTokens; // from here on the provider counts, also when it fails
      const answer = await this.#ask(wish, grant, signal);
      spent = answer.usage.inputTokens + answer.usage.outputTokens;
      this.#options.onUsed?.(answer.usage);
      return answer.result;
    } finally {
      this.#tokensLeft += grant.inputTokens + grant.maxTokens - spent;
    }
  }

  /** Every question counts, also one that is answered with no: a person is not to be worn down. */
  #grant(wish: SamplingWish): Grant {
    const inputTokens = estimate(wish);
    const maxTokens = Math.min(wish.maxTokens, SESSION_LIMITS.sampling.maxTokens, this.#tokensLeft - inputTokens);
    if (this.#callsLeft < 1) throw exhausted(`${SESSION_LIMITS.sampling.calls} requests`);
    if (maxTokens < 1) throw exhausted(`${SESSION_LIMITS.sampling.tokens} tokens`);
    this.#callsLeft -= 1;
    this.#tokensLeft -= inputTokens + maxTokens;
    return { inputTokens, maxTokens };
  }

  async #approve(asker: Asker, wish: SamplingWish, grant: Grant, signal: AbortSignal): Promise<void> {
    const asked = this.#lastQuestion.then(() => this.#answer(asker, wish, grant, signal));
    this.#lastQuestion = asked.catch(() => undefined);
    const answer = await orAborted(asked, signal);
    if (answer === "session" || answer === "never") this.#answered.set(keyOf(asker), answer);
    if (answer === "once" || answer === "session") return;
    // An embedder's answer of plain JavaScript is no consent.
    throw declined(answer === "no" || answer === "never" ? "the person said no" : "the answer was no answer");
  }

  async #answer(asker: Asker, wish: SamplingWish, grant: Grant, signal: AbortSignal): Promise<SamplingAnswer> {
    const { name: server } = asker;
    const answered = this.#answered.get(keyOf(asker));
    if (answered) return answered;
    const ports = this.#options.ports();
    if (!ports?.approveSampling || signal.aborted) return "no";
    this.#count += 1;
    const { system, messages } = wish;
    const about = { id: `${this.#count}`, server, model: this.#options.model().id, system, messages };
    try {
      return await ports.approveSampling({ ...about, maxTokens: grant.maxTokens, callsLeft: this.#callsLeft }, signal);
    } catch (thrown) {
      if (!signal.aborted) this.#options.world.log.warn("sampling.unasked", { server, error: messageOf(thrown) });
      return "no";
    }
  }

  async #ask(wish: SamplingWish, grant: Grant, signal: AbortSignal): Promise<Sampled> {
    const model = this.#options.model();
    try {
      return await sampled(model, wish, grant, signal);
    } catch (thrown) {
      if (signal.aborted || thrown instanceof RpcRefusal) throw thrown;
      // Of keys, quotas and addresses a server learns nothing; the log has it all.
      this.#options.world.log.warn("sampling.failed", { model: model.id, error: messageOf(thrown) });
      throw new RpcRefusal(INTERNAL_ERROR, `the model could not answer (${errorType(thrown)})`);
    }
  }
}

function keyOf({ name, owner }: Asker): string {
  return JSON.stringify([name, owner]);
}

interface Sampled {
  readonly result: JsonObject;
  readonly usage: ModelUsage;
}

async function sampled(model: Model, wish: SamplingWish, grant: Grant, signal: AbortSignal): Promise<Sampled> {
  const { inputTokens, maxTokens } = grant;
  let words = "";
  const done = (stopReason: "endTurn" | "maxTokens" | "stopSequence", counted?: ModelUsage): Sampled => ({
    result: { role: "assistant", content: { type: "text", text: words }, model: model.id, stopReason },
    usage: counted ?? { inputTokens, outputTokens: Math.min(maxTokens, tokensOf(words)) },
  });
  const { system } = wish;
  const request = { system, messages: toModelMessages(wish.messages), tools: [], maxOutputTokens: maxTokens };
  for await (const event of model.stream(request, signal)) {
    if (event.kind === "text") {
      words += event.text;
      const end = firstStop(words, wish.stopSequences);
      if (end !== undefined) {
        words = words.slice(0, end);
        return done("stopSequence");
      }
      // A model that does not heed the limit is cut off by ours.
      if (tokensOf(words) > maxTokens * OVERRUN) return done("maxTokens");
    } else if (event.kind === "finish") {
      if (event.reason === "refusal") throw new RpcRefusal(INTERNAL_ERROR, "the model declined to answer");
      return done(event.reason === "length" ? "maxTokens" : "endTurn", event.usage);
    }
  }
  throw new RpcRefusal(INTERNAL_ERROR, "the model's answer broke off");
}

/** Estimates are rough: only what is plainly over the limit is cut. */
const OVERRUN = 2;
const CHARS_PER_TOKEN = 4;
/** What providers take for a picture of usual size. */
const MEDIA_TOKENS = 1_500;

function tokensOf(words: string): number {
  return Math.ceil(words.length / CHARS_PER_TOKEN);
}

function estimate({ system, messages }: SamplingWish): number {
  const blocks = messages.flatMap(({ content }) => content);
  return blocks.reduce(
    (sum, block) => sum + (block.type === "text" ? tokensOf(block.text) : MEDIA_TOKENS),
    tokensOf(system),
  );
}

function firstStop(words: string, stops: readonly string[]): number | undefined {
  const found = stops.map((stop) => words.indexOf(stop)).filter((at) => at >= 0);
  return found.length === 0 ? undefined : Math.min(...found);
}

function declined(reason: string): RpcRefusal {
  return new RpcRefusal(DECLINED, `sampling was declined: ${reason}`);
}

function exhausted(what: string): RpcRefusal {
  return new RpcRefusal(INTERNAL_ERROR, `the session's budget for sampling is used up: ${what}`);
}

/** `maxTokens` is as the server wants it; what it gets is bounded by the budget. */
interface SamplingWish extends Pick<SamplingRequest, "system" | "messages" | "maxTokens"> {
  readonly stopSequences: readonly string[];
}

/**
 * Preferences for models, temperature and context of other servers are wishes a client may pass over, and this one does:
 * the session's model answers, from what is in the request alone.
 */
function readSamplingWish(params: JsonObject): SamplingWish {
  const { messages, systemPrompt, maxTokens, stopSequences, tools } = params;
  const { messages: maxMessages, maxChars } = SESSION_LIMITS.sampling;
  if (Array.isArray(tools) && tools.length > 0) throw invalid("this client offers no tools in sampling");
  if (typeof maxTokens !== "number" || !Number.isInteger(maxTokens) || maxTokens < 1) {
    throw invalid("maxTokens must be a whole number above 0");
  }
  if (!Array.isArray(messages) || messages.length === 0) throw invalid("messages must be a list that is not empty");
  if (messages.length > maxMessages) {
    throw invalid(`${messages.length} messages are more than the ${maxMessages} that are taken`);
  }
  const system = typeof systemPrompt === "string" ? systemPrompt : "";
  if (textLength(messages) + system.length > maxChars) {
    throw invalid(`its text is longer than the ${maxChars} characters that are taken`);
  }
  const stops = Array.isArray(stopSequences) ? stopSequences : [];
  return {
    system: markForeign(system),
    messages: messages.map(readMessage),
    maxTokens,
    stopSequences: stops.filter((stop) => typeof stop === "string" && stop !== ""),
  };
}

/** Messages of one role in a row become one: not every provider takes them apart. */
function toModelMessages(messages: readonly SamplingMessage[]): ModelMessage[] {
  const joined: { role: SamplingMessage["role"]; content: ContentBlock[] }[] = [];
  for (const { role, content } of messages) {
    const last = joined.at(-1);
    if (last?.role === role) last.content.push(...content);
    else joined.push({ role, content: [...content] });
  }
  return joined.map(({ role, content }) =>
    role === "user" ? { role, content } : { role, text: plainText(content), toolCalls: [] },
  );
}

function textLength(messages: readonly JsonValue[]): number {
  let length = 0;
  for (const message of messages) {
    const content = isJsonObject(message) ? message["content"] : undefined;
    for (const block of Array.isArray(content) ? content : [content]) {
      const words = isJsonObject(block) ? block["text"] : undefined;
      if (typeof words === "string") length += words.length;
    }
  }
  return length;
}

function invalid(reason: string): RpcRefusal {
  return new RpcRefusal(INVALID_PARAMS, reason);
}

function readMessage(raw: JsonValue, index: number): SamplingMessage {
  const at = `messages/${index}`;
  if (!isJsonObject(raw)) throw invalid(`${at}: it is no object`);
  const { role, content } = raw;
  if (role !== "user" && role !== "assistant") throw invalid(`${at}: its role must be "user" or "assistant"`);
  const blocks = (Array.isArray(content) ? content : [content]).map((block) => {
    const read = isJsonObject(block) ? readBlock(block) : undefined;
    if (!read) throw invalid(`${at}: its content must be text, image or audio blocks`);
    return read;
  });
  if (blocks.length === 0) throw invalid(`${at}: it has no content`);
  return { role, content: blocks };
}

/** Marked at once: a person is shown exactly what the model will read. */
function readBlock(block: JsonObject): ContentBlock | undefined {
  const { type, data, mimeType } = block;
  if (type === "text" && typeof block["text"] === "string") return text(markForeign(block["text"]));
  if ((type === "image" || type === "audio") && typeof data === "string" && typeof mimeType === "string") {
    return markBlock({ type, data, mimeType });
  }
  return undefined;
}
