// Where a conversation is cut for compaction: between turns, or inside the last one between two steps, never between a call and its result. Pure.
import type { ModelMessage } from "../../models/index.js";

export interface Cut {
  /** What a summary takes the place of. */
  readonly old: readonly ModelMessage[];
  /** The prompt of the turn in the middle of which `recent` begins: it stays word for word. */
  readonly prompt?: ModelMessage;
  readonly recent: readonly ModelMessage[];
}

export interface CutOptions {
  readonly keepTokens: number;
  readonly tokensOf: (message: ModelMessage) => number;
}

/** As many of the last turns as fit; of a last turn that does not fit, its prompt and as many of the last steps. Undefined when nothing is old. */
export function cutRecent(messages: readonly ModelMessage[], options: CutOptions): Cut | undefined {
  const lastPrompt = messages.findLastIndex(({ role }) => role === "user");
  if (lastPrompt === -1) return undefined;
  const start = recentStart(messages, options, (message, index) => message.role === "user" && index <= lastPrompt);
  if (start !== undefined)
    return start === 0 ? undefined : { old: messages.slice(0, start), recent: messages.slice(start) };
  const prompt = messages[lastPrompt];
  const isStep = (message: ModelMessage, index: number) => message.role === "assistant" && index > lastPrompt;
  const step = recentStart(messages, options, isStep) ?? messages.findLastIndex(isStep);
  // Nothing lies between the prompt and what stays: the turn stays whole, however long it is.
  if (!prompt || step <= lastPrompt + 1) {
    return lastPrompt === 0 ? undefined : { old: messages.slice(0, lastPrompt), recent: messages.slice(lastPrompt) };
  }
  return { old: messages.slice(0, step), prompt, recent: messages.slice(step) };
}

/** The first of the places from which on everything fits. */
function recentStart(
  messages: readonly ModelMessage[],
  { keepTokens, tokensOf }: CutOptions,
  isPlace: (message: ModelMessage, index: number) => boolean,
): number | undefined {
  let start: number | undefined;
  let tokens = 0;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index];
    if (!message) break;
    tokens += tokensOf(message);
    if (tokens > keepTokens) break;
    if (isPlace(message, index)) start = index;
  }
  return start;
}
