// How full a model's window is: the estimate, corrected by what the model's provider really counted.
import { LIMITS } from "../../base/limits.js";
import type { Model, ModelRequest } from "../../models/index.js";
import { messageTokens, textTokens, toolTokens } from "./estimate.js";

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

  tokensOf(model: Model, request: Pick<ModelRequest, "system" | "messages" | "tools">): number {
    return Math.ceil(rawTokens(request) * this.#factorOf(model));
  }

  /** Of something that is a part of a prompt. */
  messagesTokens(model: Model, messages: ModelRequest["messages"]): number {
    return this.tokensOf(model, { system: "", messages, tools: [] });
  }

  /** The provider counted the prompt. */
  learn(model: Model, request: Pick<ModelRequest, "system" | "messages" | "tools">, inputTokens: number): void {
    const raw = rawTokens(request);
    const ratio = inputTokens / raw;
    if (raw < MIN_LEARNT_TOKENS || !(ratio >= MIN_RATIO && ratio <= MAX_RATIO)) return;
    const learnt = this.#of(model);
    learnt.factor = (learnt.factor + ratio) / 2;
  }

  /** The provider refused the prompt as too long. */
  overflowed(model: Model, request: Pick<ModelRequest, "system" | "messages" | "tools">): void {
    const refused = this.tokensOf(model, request);
    if (refused < this.windowOf(model)) this.#of(model).windowTokens = Math.max(refused, MIN_WINDOW_TOKENS);
  }

  #factorOf(model: Model): number {
    return this.#learnt.get(model.id)?.factor ?? 1;
  }

  #of(model: Model): Learnt {
    let learnt = this.#learnt.get(model.id);
    if (!learnt) {
      learnt = { factor: 1 };
      this.#learnt.set(model.id, learnt);
    }
    return learnt;
  }
}

function rawTokens({ system, messages, tools }: Pick<ModelRequest, "system" | "messages" | "tools">): number {
  let tokens = textTokens(system);
  for (const message of messages) tokens += messageTokens(message);
  for (const tool of tools) tokens += toolTokens(tool);
  return tokens;
}
