// The loop of one turn: ask the model, run the tools it calls, until it ends, is cancelled or meets a limit.
import { isDeepStrictEqual } from "node:util";
import { Channel } from "../base/async/channel.js";
import { abortListeners } from "../base/async/scope.js";
import { TenonError } from "../base/errors.js";
import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { parseJson } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import { type ContentBlock, text } from "../base/text/content.js";
import { withoutFinal } from "../base/text/ends.js";
import { hostLine } from "../base/text/marking.js";
import type { Model, ModelMessage, ModelToolCall, ModelToolResult } from "../models/index.js";
import {
  type CallEvent,
  type Offer,
  type PreparedCall,
  type Presented,
  prepareCall,
  prepareSent,
  type RunPorts,
  runCalls,
} from "../tools/index.js";
import type { Answer } from "./answer.js";
import { ENGINE_LIMITS } from "./limits.js";
import { type Asked, ask, currentOffer } from "./model-call.js";
import { NO_ANSWER } from "./transcript.js";
import {
  type BegunCall,
  callSubject,
  type StopCause,
  type StopReason,
  type Turn,
  type TurnEnd,
  type TurnEvent,
  TurnState,
  type WholeAnswer,
  withFoundTools,
} from "./turn.js";

/** How a turn ended, before the transcript has been told. */
interface Ending {
  readonly stopReason: StopReason;
  readonly cause?: StopCause;
  /** For people. */
  readonly reason?: string;
}

const CANCELLED: Ending = { stopReason: "cancelled" };

/** Words in the transcript, in the model's place, where its answer is missing or not whole. */
const BROKE_OFF = "[the answer broke off here]";
const CANCELLED_HERE = "[cancelled by the person here]";
const FAILED = "[the model failed to answer]";

/**
 * Throws a TenonError when the model fails. In every case, also when its reader leaves, the transcript is one that any
 * provider takes, and the next prompt can be added to it.
 */
export async function* runTurn(turn: Turn, signal: AbortSignal): AsyncGenerator<TurnEvent, TurnEnd, void> {
  const state = new TurnState(turn, signal);
  const { transcript } = turn;
  let note = NO_ANSWER;
  try {
    const { stopReason, cause, reason } = yield* runSteps(state);
    note = stopReason === "cancelled" ? CANCELLED_HERE : `[stopped: ${reason ?? "no answer"}]`;
    // What was refused once would be refused with every prompt that follows; clients are told so by the stop reason.
    if (stopReason === "refusal") transcript.dropTurn();
    if (cause !== undefined && reason !== undefined) yield { kind: "stopped", cause, reason };
    return { stopReason, ...defined({ cause }), usage: state.usage };
  } catch (error) {
    note = FAILED;
    throw error;
  } finally {
    transcript.endTurn(note);
  }
}

/** How a turn ended whose last words are one of the notes above; undefined for words of the model. */
export function noteEnding(words: string): "cancelled" | "failed" | undefined {
  if (words.endsWith(CANCELLED_HERE)) return "cancelled";
  return words.endsWith(BROKE_OFF) || words === FAILED ? "failed" : undefined;
}

async function* runSteps(state: TurnState): AsyncGenerator<TurnEvent, Ending, void> {
  const { turn, signal } = state;
  const { begun } = turn;
  const guard = begun ? new RepetitionGuard(turn.transcript.messages, begun.note) : new RepetitionGuard();
  let truncated = 0;
  let waiting = begun?.answer;
  let note = begun?.note;
  for (let request = begun?.modelCalls ?? 0; request < ENGINE_LIMITS.turnMaxModelCalls; request++) {
    if (signal.aborted) return CANCELLED;
    const asked = waiting ? yield* askedBefore(state, waiting) : yield* ask(state);
    const { answer } = asked;
    if (answer.toolCalls.length === 0) return endOf(turn, answer);
    const isTruncated = waiting?.isTruncated ?? (answer.finish === "length" && isCutOff(answer));
    truncated = isTruncated ? truncated + 1 : 0;
    const kept = waiting ? undefined : turn.onAnswer?.({ ...answer, isTruncated });
    if (kept) await kept;
    const results = yield* runAnswer(batchOf(state, asked, { isTruncated, begun: waiting?.calls }), signal);
    waiting = undefined;
    const rounds = guard.add(answer.toolCalls, results);
    const told = beginningWith(note, withHint(results, rounds));
    note = undefined;
    turn.transcript.addCalls(answer, withFoundTools(told, asked.offer));
    if (signal.aborted) return CANCELLED;
    if (rounds >= ENGINE_LIMITS.repetition.stopAt) return circles(answer, rounds);
    if (truncated >= ENGINE_LIMITS.truncatedAnswers) return outputLimit(answer);
  }
  const reason = `the turn reached its limit of ${ENGINE_LIMITS.turnMaxModelCalls} model calls`;
  return { stopReason: "max_turn_requests", cause: "request_limit", reason };
}

/** The answer of a turn that another process began, with the tools of now. */
function* askedBefore(state: TurnState, answer: WholeAnswer): Generator<TurnEvent, Asked, void> {
  return { answer: { ...answer, finish: "tool_calls", hasOutput: true }, ...(yield* currentOffer(state)) };
}

function batchOf(
  state: TurnState,
  { answer, offer, compiled }: Asked,
  { isTruncated, begun }: Pick<WholeAnswer, "isTruncated"> & Pick<CallBatch, "begun">,
): CallBatch {
  const { turn } = state;
  const last = answer.toolCalls.at(-1);
  return {
    calls: answer.toolCalls,
    announced: answer.announced,
    begun,
    offer,
    ports: { ...turn.ports, media: mediaOf(turn.model) },
    nextCallId: () => state.nextCallId(),
    restore: (call) => {
      const restored = compiled.restore(call);
      // No arguments at all would pass for a call without any; cut off, they never began.
      const isNeverBegun = isTruncated && call === last && call.argumentsJson.trim() === "";
      return isNeverBegun ? { ...restored, argumentsJson: "{" } : restored;
    },
  };
}

/** The output limit fell into the last call. A complete JSON object cannot be the beginning of a longer one. */
function isCutOff({ toolCalls }: Answer): boolean {
  const last = toolCalls.at(-1);
  return last !== undefined && !parseJson(last.argumentsJson).ok;
}

/** What a model takes as it is. One type stands for its kind: what of that kind a provider does not take, its adapter labels. */
export function mediaOf(model: Model): RunPorts["media"] {
  const takes = (mediaType: string) => model.accepts?.(mediaType) ?? false;
  return { images: takes("image/png"), audio: takes("audio/wav"), documents: takes("application/pdf") };
}

/** An answer without calls: into the transcript with it, and the turn is over. */
function endOf(turn: Turn, answer: Answer): Ending {
  const { finish, text, error, providerData } = answer;
  switch (finish) {
    case "interrupted":
      turn.transcript.addAnswer(marked(text, CANCELLED_HERE));
      return CANCELLED;
    case "failed":
      if (error?.code === "model.content_filter") return refusal(error.message);
      turn.transcript.addAnswer(marked(text, BROKE_OFF));
      throw failure(answer);
    case "length":
      turn.transcript.addAnswer(text, providerData);
      return outputLimit(answer);
    case "refusal":
      return refusal(`${turn.model.id} refused to answer${answer.detail === undefined ? "" : ` (${answer.detail})`}`);
    case "stop":
    case "tool_calls":
      turn.transcript.addAnswer(text, providerData);
      return { stopReason: "end_turn" };
    default:
      return unreachable(finish);
  }
}

function marked(text: string, note: string): string {
  return text.trim() === "" ? "" : `${text}\n\n${note}`;
}

function failure({ error, text }: Answer): TenonError {
  if (!error) return new TenonError("internal", "an answer failed without an error");
  if (text.trim() === "") return error;
  const hint = `${error.hint} What came of the answer is kept: ask to go on, and it goes on from there.`;
  const { code, message, retryAfterMs } = error;
  return new TenonError(code, message, { cause: error, hint, ...defined({ retryAfterMs }) });
}

function refusal(words: string): Ending {
  const reason = `${withoutFinal(words, ". \n\t")}. The prompt and what came after it are not part of the conversation any more`;
  return { stopReason: "refusal", cause: "refusal", reason };
}

function outputLimit({ detail, text, toolCalls }: Answer): Ending {
  const isWindow = detail !== undefined && /context|window/i.test(detail);
  const limit = isWindow ? "the model's context window is full" : "the model's output limit was reached";
  const said = text.trim() === "" ? "nothing came" : "the answer was cut";
  const what = toolCalls.length > 0 ? "a tool call was cut off again and again" : said;
  return { stopReason: "max_tokens", cause: "output_limit", reason: `${what}: ${limit}` };
}

function circles({ toolCalls }: Answer, rounds: number): Ending {
  const names = [...new Set(toolCalls.map(({ name }) => name))].join(", ");
  const reason = `the model went round in circles: ${names} was called ${rounds} times in a row with the same arguments and the same result`;
  return { stopReason: "max_turn_requests", cause: "repetition", reason };
}

export interface CallBatch {
  readonly calls: readonly ModelToolCall[];
  /** The ids of calls that people saw being written, by the provider's. */
  readonly announced?: ReadonlyMap<string, string>;
  /** Of each call how far it came in another process. */
  readonly begun?: readonly BegunCall[] | undefined;
  readonly offer: Offer;
  readonly ports: RunPorts;
  nextCallId(): string;
  /** The call with the arguments its tool wants, whatever form the model was shown. */
  restore(call: ModelToolCall): ModelToolCall;
}

/** When its reader leaves, the calls are cancelled and waited for. */
export async function* runAnswer(
  batch: CallBatch,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, ModelToolResult[], void> {
  const known = new Set(batch.announced?.values());
  const prepared = batch.calls.map((call, index) => {
    const begun = batch.begun?.[index];
    if (begun?.state === "ended") return undefined;
    if (begun?.toolCallId !== undefined) known.add(begun.toolCallId);
    const { callId, name, argumentsJson } = batch.restore(call);
    const toolCallId = begun?.toolCallId ?? batch.announced?.get(callId) ?? batch.nextCallId();
    const made = { toolCallId, name, argumentsJson };
    return begun?.state === "sent" ? prepareSent(made, batch.offer, begun.lasting) : prepareCall(made, batch.offer);
  });
  const open = prepared.filter((call) => call !== undefined);
  for (const { toolCallId, name, tool, arguments: given } of open) {
    const subject = callSubject(name, tool, batch.ports);
    yield { kind: "call_started", toolCallId, subject, arguments: given, wasAnnounced: known.has(toolCallId) };
  }
  const presented = (yield* streamCalls(open, batch.ports, signal)).values();
  // Providers refuse a conversation in which a call has no result.
  const none = { isError: true, content: [text("The call has no result.")] };
  return batch.calls.map(({ callId, name }, index) => {
    const begun = batch.begun?.[index];
    const result = begun?.state === "ended" ? begun.result : presented.next().value?.model;
    return { callId, name, ...(result ?? none) };
  });
}

async function* streamCalls(
  calls: readonly PreparedCall[],
  ports: RunPorts,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, readonly Presented[], void> {
  const events = new Channel<TurnEvent>(LIMITS.eventBacklog);
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  else abortListeners(signal).add(onAbort);
  const onEvent = (event: CallEvent) => {
    // Progress is a picture of the moment: for a reader that lags behind there is no point in all of them.
    if (event.kind !== "progress" || events.size < LIMITS.eventBacklog) events.offer(toTurnEvent(event));
  };
  const running = runCalls(calls, ports, { signal: controller.signal, onEvent }).finally(() => events.close());
  let isOver = false;
  try {
    for await (const event of events) yield event;
    const results = await running;
    isOver = true;
    return results;
  } finally {
    abortListeners(signal).delete(onAbort);
    if (!isOver) controller.abort(new DOMException("nobody waits for the calls any more", "AbortError"));
    await running;
  }
}

function toTurnEvent(event: CallEvent): TurnEvent {
  const { toolCallId } = event.call;
  switch (event.kind) {
    case "awaiting_approval":
    case "running":
      return { kind: `call_${event.kind}`, toolCallId };
    case "progress":
      return { kind: "call_progress", toolCallId, progress: event.progress, elapsedMs: event.elapsedMs };
    case "ended":
      return { kind: "call_ended", toolCallId, outcome: event.outcome, elapsedMs: event.elapsedMs };
    default:
      return unreachable(event);
  }
}

/** One for each turn. */
export class RepetitionGuard {
  /** Of each step what was called, and what came of it. */
  readonly #steps: (readonly [calls: readonly unknown[], results: readonly unknown[]])[] = [];

  /** `messages`: of a conversation whose last turn goes on. What Tenon added to its results does not count. */
  constructor(messages: readonly ModelMessage[] = [], note = "") {
    const isOwn = (block: ContentBlock) =>
      block.type === "text" && (block.text === hostLine(note) || block.text.startsWith(HINT));
    const prompt = messages.findLastIndex(({ role }) => role === "user");
    for (const [index, message] of messages.entries()) {
      const next = messages[index + 1];
      if (index < prompt || message.role !== "assistant" || next?.role !== "tool") continue;
      const results = next.results.map((one) => ({ ...one, content: one.content.filter((block) => !isOwn(block)) }));
      this.add(message.toolCalls, results);
    }
  }

  /** How many times in a row the last steps came to the same, this time included. */
  add(calls: readonly ModelToolCall[], results: readonly ModelToolResult[]): number {
    const { stopAt, maxPeriod } = ENGINE_LIMITS.repetition;
    const called = calls.map(({ name, argumentsJson }) => [name, argumentsJson]);
    this.#steps.push([called, results.map(({ isError, content }) => [isError, content])]);
    if (this.#steps.length > stopAt * maxPeriod) this.#steps.shift();
    let most = 1;
    for (let period = 1; period <= maxPeriod; period++) most = Math.max(most, this.#roundsOf(period));
    return most;
  }

  /** How many times the last `period` steps come one after the other at the end. */
  #roundsOf(period: number): number {
    const steps = this.#steps;
    let index = steps.length - 1;
    while (index >= period && isDeepStrictEqual(steps[index], steps[index - period])) index--;
    return 1 + Math.floor((steps.length - 1 - index) / period);
  }
}

/** The results with a line of Tenon's before the first one. */
function beginningWith(note: string | undefined, results: readonly ModelToolResult[]): readonly ModelToolResult[] {
  if (note === undefined) return results;
  return results.map((result, index) =>
    index === 0 ? { ...result, content: [text(hostLine(note)), ...result.content] } : result,
  );
}

const HINT = hostLine("this was called ").slice(0, -1);

/** The results with a word for the model, where it has begun to go round in circles. */
function withHint(results: readonly ModelToolResult[], rounds: number): readonly ModelToolResult[] {
  if (rounds < ENGINE_LIMITS.repetition.hintAt) return results;
  const hint = `${HINT}${rounds} times in a row with the same arguments and the same result. Do not call it again like this: do something else, or say what is missing]`;
  return results.map((result) => ({ ...result, content: [...result.content, { type: "text", text: hint }] }));
}
