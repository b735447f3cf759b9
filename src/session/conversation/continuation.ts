// What becomes of a turn that another process began and did not end: decided from the records of the turn alone.
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import type { ContentBlock } from "../../base/text/content.js";
import { type CallSubject, NO_USAGE, noteEnding, type StopCause, type StopReason } from "../../engine/index.js";
import type { ModelMessage, ModelToolCall, ModelUsage } from "../../models/index.js";
import type { ToolOutcome } from "../../tools/index.js";
import type { ClientEnvironment, JournalEntry, OpenTask } from "../journal/entry.js";
import { BROKEN_OFF, type OpenTurnRecords, type TurnEnding } from "../journal/history.js";
import { SESSION_LIMITS } from "../limits.js";

export type Continuation =
  /** It came to its end, and only the record of that is missing; or it may not go on. */
  { readonly kind: "over"; readonly ending: TurnEnding } | GoingOn;

export interface GoingOn {
  readonly kind: "going_on";
  readonly turn: number;
  /** Of those in a row without a new outcome or answer. */
  readonly attempt: number;
  /** Why the process before did not end it. */
  readonly reason: string;
  readonly prompt: readonly ContentBlock[];
  /** Where it was begun, if that was a client's. */
  readonly environment?: ClientEnvironment;
  /** The prompt is part of the conversation already, in the form the model is given. */
  readonly isInTranscript: boolean;
  /** People saw the beginning of an answer, and see it begin again. */
  readonly isBrokenOff: boolean;
  /** Written before anything else. */
  readonly repairs: readonly JournalEntry[];
  /** The number of the last call that has an id. */
  readonly callCount: number;
  /** Answers whose calls are all part of the conversation. */
  readonly modelCalls: number;
  /** Of the turn so far. */
  readonly usage: ModelUsage;
  /** The answer whose calls are not, and each of them as far as it came. */
  readonly answer?: GivenAnswer;
}

export interface GivenAnswer {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  readonly providerData?: JsonObject;
  readonly announced: ReadonlyMap<string, string>;
  readonly isTruncated: boolean;
  /** In the order of `toolCalls`. */
  readonly calls: readonly GivenCall[];
}

export type GivenCall =
  | { readonly state: "ended"; readonly subject: CallSubject; readonly outcome: ToolOutcome }
  | { readonly state: "sent"; readonly toolCallId: string; readonly subject: CallSubject; readonly task?: OpenTask }
  /** `isStarted`: its `call` record is there. Without an id nobody has heard of it. */
  | { readonly state: "open"; readonly toolCallId?: string; readonly isStarted: boolean };

const NOT_MADE = "the process ended before the call was complete";

const STOPS: Readonly<Record<StopCause, StopReason>> = {
  output_limit: "max_tokens",
  request_limit: "max_turn_requests",
  repetition: "max_turn_requests",
  refusal: "refusal",
};

/**
 * `records`: of the open turn, from its prompt on; `messages`: the conversation so far, as far as it can be used; `tries`: owners that
 * were gone, as the store counts them (`AcquiredSession`): some may not have gone on with the turn, so more of them are allowed.
 */
export function continuationOf(
  { turn, records }: OpenTurnRecords,
  messages: readonly ModelMessage[],
  tries = 0,
): Continuation | undefined {
  const [prompt, ...others] = records;
  if (prompt?.kind !== "prompt") return undefined;
  const soFar = new TurnSoFar(turn, tries);
  for (const record of others) soFar.add(record);
  // What a command does is not recorded step by step, so it is not done twice.
  const ending = prompt.isCommand ? brokenOff(turn) : soFar.ending;
  if (ending) return { kind: "over", ending };
  const plan = { ...soFar.goingOn(prompt.content), ...defined({ environment: prompt.environment }) };
  // Of a damaged journal only a part of the conversation can be used: the turn may be missing from it.
  const last = messages.at(-1);
  const isThere = last?.role === "user" || last?.role === "tool";
  return plan.isInTranscript === isThere ? plan : { kind: "over", ending: brokenOff(turn) };
}

interface SeenCall {
  readonly subject: CallSubject;
  isStarted: boolean;
  isSent: boolean;
  task?: OpenTask;
  outcome?: ToolOutcome;
}

class TurnSoFar {
  readonly #turn: number;
  readonly #tries: number;
  /** Those that are not part of the conversation yet, by id. */
  readonly #calls = new Map<string, SeenCall>();
  #answer: Extract<JournalEntry, { readonly kind: "answer" }> | undefined;
  #isInTranscript = false;
  #isBrokenOff = false;
  /** A call was cancelled, and the model was not asked again. */
  #isCancelled = false;
  #ending: TurnEnding | undefined;
  #compactionId: string | undefined;
  #callCount = 0;
  #modelCalls = 0;
  #attempt = 0;
  #isDrained = false;
  #usage: ModelUsage = NO_USAGE;

  constructor(turn: number, tries: number) {
    this.#turn = turn;
    this.#tries = tries;
  }

  add(record: JournalEntry): void {
    switch (record.kind) {
      case "text":
      case "thought":
        this.#isBrokenOff = true;
        this.#isCancelled = false;
        break;
      case "announced":
      case "call":
      case "intent":
      case "task":
      case "dropped":
      case "outcome":
        this.#follow(record);
        break;
      case "answer":
        this.#answer = record;
        this.#isBrokenOff = false;
        this.#isCancelled = false;
        this.#attempt = 0;
        break;
      case "transcript":
        this.#change(record.change);
        break;
      case "usage":
        this.#usage = record.turn;
        break;
      case "compaction":
        this.#compactionId = record.event.phase === "started" ? record.event.compactionId : undefined;
        break;
      case "stopped": {
        const end = { kind: "end", turn: this.#turn, stopReason: STOPS[record.cause] } as const;
        this.#ending = { end, note: `[stopped: ${record.reason}]` };
        break;
      }
      case "continued":
        this.#attempt = record.attempt;
        this.#isDrained = false;
        this.#isBrokenOff = false;
        break;
      case "drained":
        this.#isDrained = true;
        break;
      default:
        break;
    }
  }

  get ending(): TurnEnding | undefined {
    if (this.#ending) return this.#ending;
    const turn = this.#turn;
    if (this.#isCancelled) {
      return { end: { kind: "end", turn, stopReason: "cancelled" }, note: "[cancelled by the person here]" };
    }
    // Calls without the answer they are of: an older version wrote the journal, or its disk was full.
    if (!this.#answer && [...this.#calls.values()].some(({ isStarted }) => isStarted)) return brokenOff(turn);
    const { attempts, owners } = SESSION_LIMITS.continuedTurn;
    if (this.#nextAttempt > attempts) return gaveUp(turn, `the turn was continued ${attempts} times in a row`);
    return this.#tries > owners ? gaveUp(turn, `the turn was taken over ${owners} times in a row`) : undefined;
  }

  goingOn(prompt: readonly ContentBlock[]): GoingOn {
    const answer = this.#answer && this.#givenAnswer(this.#answer);
    const made = new Set(answer?.calls.map((call) => ("toolCallId" in call ? call.toolCallId : undefined)));
    const unmade = [...this.#calls].filter(([id, call]) => !call.isStarted && !made.has(id));
    const compactionId = this.#compactionId;
    const failed = { kind: "compaction", phase: "failed", reason: BROKEN_OFF } as const;
    return {
      kind: "going_on",
      turn: this.#turn,
      attempt: this.#nextAttempt,
      reason: this.#isDrained ? "it was left to the next process" : "the process that ran it ended",
      prompt,
      isInTranscript: this.#isInTranscript,
      isBrokenOff: this.#isBrokenOff || unmade.length > 0,
      repairs: [
        ...unmade.map(([toolCallId]) => ({ kind: "dropped", toolCallId, reason: NOT_MADE }) as const),
        ...(compactionId === undefined ? [] : [{ kind: "compaction", event: { ...failed, compactionId } } as const]),
      ],
      callCount: this.#callCount,
      modelCalls: this.#modelCalls,
      usage: this.#usage,
      ...defined({ answer }),
    };
  }

  get #nextAttempt(): number {
    return this.#isDrained ? this.#attempt : this.#attempt + 1;
  }

  #follow(
    record: Extract<JournalEntry, { readonly kind: "announced" | "call" | "intent" | "task" | "dropped" | "outcome" }>,
  ) {
    const { toolCallId } = record;
    const call = this.#calls.get(toolCallId);
    switch (record.kind) {
      case "announced":
      case "call":
        this.#calls.set(toolCallId, {
          isSent: false,
          ...call,
          subject: record.subject,
          isStarted: record.kind === "call" || call?.isStarted === true,
        });
        this.#callCount = Math.max(this.#callCount, this.#numberOf(toolCallId));
        this.#isCancelled = false;
        break;
      case "dropped":
        this.#calls.delete(toolCallId);
        break;
      case "intent":
        if (call) call.isSent = true;
        break;
      case "task":
        if (call) call.task = record;
        break;
      case "outcome":
        if (!call) break; // of a call of an earlier turn
        call.outcome = record.outcome;
        if (record.outcome.kind === "cancelled") this.#isCancelled = true;
        this.#attempt = 0; // also of an unknown one: no later attempt finds that out again
        break;
    }
  }

  #change(change: Extract<JournalEntry, { readonly kind: "transcript" }>["change"]): void {
    const turn = this.#turn;
    if (change.kind === "cut") {
      this.#ending = { end: { kind: "end", turn, stopReason: "refusal" }, note: "" };
      return;
    }
    if (change.kind !== "added") return;
    const last = change.messages.at(-1);
    if (change.messages[0]?.role === "user") this.#isInTranscript = true;
    if (last?.role === "assistant" && last.toolCalls.length === 0) this.#ending ??= endingOf(turn, last.text);
    if (last?.role === "tool") this.#modelCalls += 1;
    this.#answer = undefined;
    this.#calls.clear();
    this.#isBrokenOff = false;
  }

  #givenAnswer(record: Extract<JournalEntry, { readonly kind: "answer" }>): GivenAnswer {
    const { text, toolCalls, providerData, announced = {}, isTruncated = false } = record;
    // Calls are started in the order in which the answer has them.
    const started = [...this.#calls].filter(([, { isStarted }]) => isStarted).map(([id]) => id);
    const calls = toolCalls.map(({ callId }, index) => this.#givenCall(started[index] ?? announced[callId]));
    const ids = new Map(Object.entries(announced));
    return { text, toolCalls, announced: ids, isTruncated, calls, ...defined({ providerData }) };
  }

  #givenCall(toolCallId: string | undefined): GivenCall {
    const call = toolCallId === undefined ? undefined : this.#calls.get(toolCallId);
    if (toolCallId === undefined || !call) return { state: "open", isStarted: false };
    const { subject, outcome, isSent, isStarted, task } = call;
    if (outcome) return { state: "ended", subject, outcome };
    if (!isSent) return { state: "open", toolCallId, isStarted };
    return { state: "sent", toolCallId, subject, ...defined({ task }) };
  }

  /** Ids of calls are `<turn>-<n>`. */
  #numberOf(toolCallId: string): number {
    const [turn, count] = toolCallId.split("-").map(Number);
    return turn === this.#turn && Number.isSafeInteger(count) ? (count ?? 0) : 0;
  }
}

/** The turn has its last words. */
function endingOf(turn: number, words: string): TurnEnding {
  const how = noteEnding(words);
  if (how !== "failed") {
    return { end: { kind: "end", turn, stopReason: how === "cancelled" ? "cancelled" : "end_turn" }, note: "" };
  }
  const message = "the model failed to answer, and the process ended before the cause was recorded";
  return { end: { kind: "error", turn, code: "model.broken_stream", message }, note: "" };
}

function brokenOff(turn: number): TurnEnding {
  return { end: { kind: "error", turn, code: "session.closed", message: BROKEN_OFF } };
}

function gaveUp(turn: number, what: string): TurnEnding {
  const message = `${what}, and each time the process ended before it got any further`;
  return { end: { kind: "error", turn, code: "session.gave_up", message } };
}
