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
  onUsed?(server: string, usage: ModelUsage): void;
}

/** The code the protocol names for "a person said no". */
const DECLINED = -1;
const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;

/** One budget for all servers of a session; each gets a peer of its own, so that one knows who asks. */
export function samplingPeer(
  options: SamplingOptions,
): (server: string) => { readonly sample: NonNullable<Peer["sample"]> } {
  const desk = new SamplingDesk(options);
  return (server) => ({ sample: (params, signal) => desk.sample(server, params, signal) });
}

/** What one request may cost at most, taken out of the budget before it is asked about. */
interface Grant {
  readonly inputTokens: number;
  readonly maxTokens: number;
}

class SamplingDesk {
  readonly #options: SamplingOptions;
  /** What a person said once and for all, by server, for this session. */
  readonly #standing = new Map<string, "session" | "never">();
  #callsLeft: number = SESSION_LIMITS.sampling.calls;
  #tokensLeft: number = SESSION_LIMITS.sampling.tokens;
  #count = 0;
  /** Questions are put one after the other. */
  #lastQuestion: Promise<unknown> = Promise.resolve();

  constructor(options: SamplingOptions) {
    this.#options = options;
  }

  /** Rejects with an `RpcRefusal`, whose words are for the server. */
  async sample(server: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (!this.#options.ports()?.approveSampling) throw declined("nobody is there to approve it");
    if (this.#standing.get(server) === "never") throw declined("the person said no");
    const read = readSamplingWish(params);
    if (!read.ok) throw new RpcRefusal(INVALID_PARAMS, read.reason);
    const grant = this.#grant(read.wish);
    let spent = 0;
    try {
      await this.#approve(server, read.wish, grant, signal);
      spent = grant.inputTokens; // from here on the provider counts, also when it fails
      const answer = await this.#ask(read.wish, grant, signal);
      spent = answer.usage.inputTokens + answer.usage.outputTokens;
      this.#options.onUsed?.(server, answer.usage);
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

  async #approve(server: string, wish: SamplingWish, grant: Grant, signal: AbortSignal): Promise<void> {
    const before = this.#lastQuestion;
    const answer = before.then(() => this.#answer(server, wish, grant, signal));
    this.#lastQuestion = answer.catch(() => undefined);
    switch (await orAborted(answer, signal)) {
      case "once":
        return;
      case "session":
        this.#standing.set(server, "session");
        return;
      case "never":
        this.#standing.set(server, "never");
        throw declined("the person said no");
      case "no":
        throw declined("the person said no");
      default: // an embedder's answer of plain JavaScript is no consent
        throw declined("the answer was no answer");
    }
  }

  async #answer(server: string, wish: SamplingWish, grant: Grant, signal: AbortSignal): Promise<SamplingAnswer> {
    const standing = this.#standing.get(server);
    if (standing) return standing;
    const ports = this.#options.ports();
    if (!ports?.approveSampling || signal.aborted) return "no";
    this.#count += 1;
    const request: SamplingRequest = {
      id: `${this.#count}`,
      server,
      model: this.#options.model().id,
      system: wish.system,
      messages: wish.messages,
      maxTokens: grant.maxTokens,
      callsLeft: this.#callsLeft,
    };
    try {
      return await ports.approveSampling(request, signal);
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

interface Sampled {
  readonly result: JsonObject;
  readonly usage: ModelUsage;
}

type SamplingStop = "endTurn" | "maxTokens" | "stopSequence";

async function sampled(model: Model, wish: SamplingWish, grant: Grant, signal: AbortSignal): Promise<Sampled> {
  const { inputTokens, maxTokens } = grant;
  let words = "";
  const done = (stopReason: SamplingStop, told?: ModelUsage): Sampled => ({
    result: { role: "assistant", content: { type: "text", text: words }, model: model.id, stopReason },
    usage: told ?? { inputTokens, outputTokens: Math.min(maxTokens, tokensOf(words)) },
  });
  const request = {
    system: wish.system,
    messages: toModelMessages(wish.messages),
    tools: [],
    maxOutputTokens: maxTokens,
  };
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

export interface SamplingWish {
  readonly system: string;
  readonly messages: readonly SamplingMessage[];
  /** As the server wants it; what it gets is bounded by the budget. */
  readonly maxTokens: number;
  readonly stopSequences: readonly string[];
}

export type ReadWish =
  | { readonly ok: true; readonly wish: SamplingWish }
  | { readonly ok: false; readonly reason: string };

/**
 * Preferences for models, temperature and context of other servers are wishes a client may pass over, and this one does:
 * the session's model answers, from what is in the request alone.
 */
function readSamplingWish(params: JsonObject): ReadWish {
  const { messages, systemPrompt, maxTokens, stopSequences, tools } = params;
  if (Array.isArray(tools) && tools.length > 0) return refused("this client offers no tools in sampling");
  if (typeof maxTokens !== "number" || !Number.isInteger(maxTokens) || maxTokens < 1) {
    return refused("maxTokens must be a whole number above 0");
  }
  if (!Array.isArray(messages) || messages.length === 0) return refused("messages must be a list that is not empty");
  const most = SESSION_LIMITS.sampling.messages;
  if (messages.length > most) return refused(`${messages.length} messages are more than the ${most} that are taken`);
  const maxChars = SESSION_LIMITS.sampling.maxChars;
  if (textLength(messages) + (typeof systemPrompt === "string" ? systemPrompt.length : 0) > maxChars)
    return refused(`its text is longer than the ${maxChars} characters that are taken`);
  const read: SamplingMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const found = readMessage(message);
    if (typeof found === "string") return refused(`messages/${index}: ${found}`);
    read.push(found);
  }
  const stops = Array.isArray(stopSequences) ? stopSequences : [];
  return {
    ok: true,
    wish: {
      system: typeof systemPrompt === "string" ? markForeign(systemPrompt) : "",
      messages: read,
      maxTokens,
      stopSequences: stops.filter((stop) => typeof stop === "string" && stop !== ""),
    },
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

function refused(reason: string): ReadWish {
  return { ok: false, reason };
}

function readMessage(raw: JsonValue): SamplingMessage | string {
  if (!isJsonObject(raw)) return "it is no object";
  const { role, content } = raw;
  if (role !== "user" && role !== "assistant") return 'its role must be "user" or "assistant"';
  const blocks: ContentBlock[] = [];
  for (const block of Array.isArray(content) ? content : [content]) {
    const read = isJsonObject(block) ? readBlock(block) : undefined;
    if (!read) return "its content must be text, image or audio blocks";
    blocks.push(read);
  }
  return blocks.length === 0 ? "it has no content" : { role, content: blocks };
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
