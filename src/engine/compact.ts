// Makes a conversation shorter before, or after, it no longer fits the model's window; whole or not at all.
import { messageOf } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import type { ModelMessage, ModelTool } from "../models/index.js";
import {
  hasResultsToPutAway,
  isSummary,
  keptResultsText,
  putAwayResults,
  summaryByHost,
  summaryByModel,
  summaryMessages,
} from "./summary.js";
import {
  type CompactionCause,
  type CompactionMeans,
  compileOffer,
  type Turn,
  type TurnEvent,
  TurnState,
} from "./turn.js";

interface Shortened {
  readonly messages: readonly ModelMessage[];
  readonly means: CompactionMeans;
  readonly summary: string;
}

/** `tools`: of the request that is to fit. True when the conversation is shorter now. No event when nothing can be done, unless asked. */
export async function* compact(
  state: TurnState,
  cause: CompactionCause,
  tools: readonly ModelTool[],
): AsyncGenerator<TurnEvent, boolean, void> {
  const { transcript } = state.turn;
  const before = [...transcript.messages];
  const room = roomOf(state, tools, cause);
  const compactionId = transcript.nextCompactionId();
  const base = { kind: "compaction", compactionId } as const;
  if (!room.mayShorten(before)) {
    if (cause === "asked")
      yield { ...base, phase: "failed", reason: "there is nothing yet that could be made shorter" };
    return false;
  }
  const beforeTokens = room.tokensOf(before);
  yield { ...base, phase: "started", cause, beforeTokens };
  const shortened = yield* tryToShorten(state, before, room);
  const afterTokens = typeof shortened === "string" ? 0 : room.tokensOf(shortened.messages);
  if (state.signal.aborted) {
    yield { ...base, phase: "cancelled", reason: "cancelled" };
    return false;
  }
  if (typeof shortened === "string" || afterTokens >= beforeTokens) {
    const reason = typeof shortened === "string" ? shortened : "what is recent takes all of the room";
    yield { ...base, phase: "failed", reason };
    return false;
  }
  const { messages: after, means, summary } = shortened;
  transcript.replace(after);
  yield { ...base, phase: "done", beforeTokens, afterTokens, means, summary, before, after };
  return true;
}

/** A conversation that cannot be compacted goes on as it is: the reason in words instead of a failed turn. */
async function* tryToShorten(
  state: TurnState,
  before: readonly ModelMessage[],
  room: Room,
): AsyncGenerator<TurnEvent, Shortened | string, void> {
  try {
    return yield* shorten(state, before, room);
  } catch (error) {
    state.turn.ports.world.log.error("compaction.failed", { error: messageOf(error) });
    return messageOf(error);
  }
}

async function* shorten(
  state: TurnState,
  before: readonly ModelMessage[],
  room: Room,
): AsyncGenerator<TurnEvent, Shortened, void> {
  const { results } = state.turn.ports;
  const light = await putAwayResults(before, results, room.recentStart(before));
  if (room.isEnough(light)) return { messages: light, means: "handles", summary: "" };
  const cut = room.cut(light);
  const summarised = cut ? yield* withSummary(state, cut) : undefined;
  const { messages, means, summary } = summarised ?? { messages: light, means: "handles" as const, summary: "" };
  // The last step alone may fill the window: then its results, too, are read by handle.
  const last = room.isOver(messages) ? await putAwayResults(messages, results, messages.length) : messages;
  return { messages: last, means, summary };
}

async function* withSummary(
  state: TurnState,
  { old, prompt, recent }: Cut,
): AsyncGenerator<TurnEvent, Shortened, void> {
  const byModel = yield* summaryByModel(state, old);
  const summary = byModel ?? summaryByHost(old);
  const kept = await keptResultsText(state.turn.ports.results);
  const head = summaryMessages(summary, kept, state.turn.pinned?.() ?? []);
  const messages = [...head, ...(prompt ? [prompt] : []), ...recent];
  return { messages, means: byModel === undefined ? "host" : "model", summary };
}

type Messages = readonly ModelMessage[];
type Room = ReturnType<typeof roomOf>;

/** The sizes that count for one compaction. */
function roomOf({ turn }: TurnState, tools: readonly ModelTool[], cause: CompactionCause) {
  const { model, meter, system, transcript } = turn;
  const { keepShare, targetShare } = LIMITS.context;
  const window = meter.windowOf(model);
  // A person who asks for compaction wants it shorter now, whether or not it is long.
  const whole = cause === "asked" ? meter.messagesTokens(model, transcript.messages) : window;
  const keepTokens = Math.min(window, whole) * keepShare;
  const tokensOf = (messages: Messages) => meter.tokensOf(model, { system, messages, tools });
  /** Nothing is gained by a summary of a summary. */
  const cut = (messages: Messages): Cut | undefined => {
    const found = cutRecent(messages, { keepTokens, tokensOf: (one) => meter.messagesTokens(model, [one]) });
    return found && found.old.length <= 2 && isSummary(found.old[0]) ? undefined : found;
  };
  return {
    tokensOf,
    cut,
    mayShorten: (messages: Messages) => hasResultsToPutAway(messages) || cut(messages) !== undefined,
    /** Where the results begin that stay in sight. Nothing is put away while nothing is old. */
    recentStart: (messages: Messages) => messages.length - (cut(messages)?.recent.length ?? messages.length),
    isEnough: (messages: Messages) => cause !== "asked" && tokensOf(messages) <= window * targetShare,
    isOver: (messages: Messages) => tokensOf(messages) > meter.budgetOf(model),
  };
}

export interface Cut {
  /** What a summary takes the place of. */
  readonly old: readonly ModelMessage[];
  /** The prompt of the turn in the middle of which `recent` begins: it stays word for word. */
  readonly prompt?: ModelMessage;
  readonly recent: readonly ModelMessage[];
}

interface CutOptions {
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

/** `turn` is that of the next prompt; nothing of it happens. Returns whether the conversation is shorter now. */
export async function* compactBetweenTurns(turn: Turn, signal: AbortSignal): AsyncGenerator<TurnEvent, boolean, void> {
  const { tools } = compileOffer(turn.offer(), turn.model, turn.transcript.messages);
  return yield* compact(new TurnState(turn, signal), "asked", tools);
}
