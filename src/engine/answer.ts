// One request to a model: streams the answer out as events and returns what it amounted to, also when it was cut short.

import { backoffDelayMs, sleep } from "../base/async/deadline.js";
import { abortListeners } from "../base/async/scope.js";
import { type ErrorCode, TenonError, toTenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import type { Model, ModelEvent, ModelFinish, ModelRequest, ModelToolCall, ModelUsage } from "../models/index.js";
import { ENGINE_LIMITS } from "./limits.js";
import type { CallSubject, TurnEvent } from "./turn.js";

export interface Answer {
  readonly text: string;
  /** Whole ones only: an answer that broke off has none. */
  readonly toolCalls: readonly ModelToolCall[];
  /** The ids under which people saw calls being written, by the provider's. */
  readonly announced: ReadonlyMap<string, string>;
  /** `interrupted`: the signal fired. `failed`: see `error`. What came before either is kept. */
  readonly finish: ModelFinish | "interrupted" | "failed";
  /** The provider's own word for the finish. */
  readonly detail?: string;
  readonly usage?: ModelUsage;
  readonly providerData?: JsonObject;
  readonly error?: TenonError;
  /** Part of it was shown: the request cannot be repeated unnoticed. */
  readonly hasOutput: boolean;
}

interface AnswerPorts {
  nextCallId(): string;
  subjectOf(name: string): CallSubject;
}

const INTERRUPTED: Answer = {
  text: "",
  toolCalls: [],
  announced: new Map(),
  finish: "interrupted",
  hasOutput: false,
};

/** Never throws: a failure is an answer that says so. Calls that were announced and are not in the answer are dropped by name. */
export async function* streamAnswer(
  model: Model,
  request: ModelRequest,
  { signal, ...ports }: AnswerPorts & { readonly signal: AbortSignal },
): AsyncGenerator<TurnEvent, Answer, void> {
  const answer = yield* readAnswer(model, request, new Draft(ports), signal);
  const isMade = new Set(answer.toolCalls.map(({ callId }) => callId));
  for (const [callId, toolCallId] of answer.announced) {
    if (!isMade.has(callId)) yield { kind: "call_dropped", toolCallId, reason: WHY_DROPPED[answer.finish] };
  }
  return answer;
}

/** The same for a request beside the conversation: nobody sees the answer while it comes. */
export async function quietAnswer(model: Model, request: ModelRequest, signal: AbortSignal): Promise<Answer> {
  const answer = streamAnswer(model, request, { nextCallId: () => "", subjectOf: (name) => ({ name }), signal });
  for (;;) {
    const step = await answer.next();
    if (step.done) return step.value;
  }
}

async function* readAnswer(
  model: Model,
  request: ModelRequest,
  draft: Draft,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, Answer, void> {
  if (signal.aborted) return draft.end("interrupted");
  let reader: AbortableReader<ModelEvent> | undefined;
  try {
    reader = new AbortableReader(model.stream(request, signal), signal);
    for (;;) {
      const step = await reader.next();
      if (step.done) break;
      if (step.value.kind === "finish") return draft.finish(step.value);
      const event = draft.take(step.value);
      if (event) yield event;
      if (signal.aborted) return draft.end("interrupted");
    }
  } catch (thrown) {
    return signal.aborted ? draft.end("interrupted") : draft.end("failed", { error: toTenonError(thrown) });
  } finally {
    await reader?.close();
  }
  const error = new TenonError("model.broken_stream", `${model.id} ended its answer without saying why`);
  return draft.end("failed", { error });
}

const NOT_MADE = "the model ended without making the call";
const WHY_DROPPED: Readonly<Record<Answer["finish"], string>> = {
  interrupted: "cancelled",
  failed: "the answer broke off before the call was complete",
  length: "the model's output limit cut the call off",
  refusal: "the answer was refused",
  stop: NOT_MADE,
  tool_calls: NOT_MADE,
};

/** The answer while it arrives. */
class Draft {
  readonly #ports: AnswerPorts;
  readonly #pieces: string[] = [];
  readonly #calls: ModelToolCall[] = [];
  readonly #announced = new Map<string, { readonly toolCallId: string; chars: number }>();
  #hasOutput = false;

  constructor(ports: AnswerPorts) {
    this.#ports = ports;
  }

  take(event: Exclude<ModelEvent, { kind: "finish" }>): TurnEvent | undefined {
    switch (event.kind) {
      case "text":
        this.#hasOutput = true;
        this.#pieces.push(event.text);
        return event;
      case "thought":
        this.#hasOutput = true;
        return event;
      case "tool_input":
        this.#hasOutput = true;
        return this.#announce(event);
      case "tool_call":
        this.#calls.push(event.call);
        return undefined;
    }
  }

  finish({ reason, detail, usage, providerData }: Extract<ModelEvent, { kind: "finish" }>): Answer {
    const toolCalls = reason === "refusal" ? [] : this.#calls;
    return this.end(reason, { toolCalls, ...defined({ detail, usage, providerData }) });
  }

  end(finish: Answer["finish"], more: Partial<Answer> = {}): Answer {
    const announced = new Map([...this.#announced].map(([callId, { toolCallId }]) => [callId, toolCallId]));
    return { text: this.#pieces.join(""), toolCalls: [], announced, finish, hasOutput: this.#hasOutput, ...more };
  }

  #announce({ callId, name, delta }: Extract<ModelEvent, { kind: "tool_input" }>): TurnEvent {
    let call = this.#announced.get(callId);
    if (!call) {
      call = { toolCallId: this.#ports.nextCallId(), chars: 0 };
      this.#announced.set(callId, call);
    }
    const offset = call.chars;
    call.chars += delta.length;
    const subject = this.#ports.subjectOf(name);
    return { kind: "call_arguments", toolCallId: call.toolCallId, subject, offset, delta };
  }
}

/** What passes by itself. */
const PASSING: ReadonlySet<ErrorCode> = new Set(["model.rate_limited", "model.overloaded", "model.unavailable"]);

export async function* withRetries(
  ask: () => AsyncGenerator<TurnEvent, Answer, void> | Promise<Answer>,
  world: World,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, Answer, void> {
  const { attempts } = ENGINE_LIMITS.modelRetry;
  for (let attempt = 1; ; attempt++) {
    const asked = ask();
    const answer = asked instanceof Promise ? await asked : yield* asked;
    const delayMs = attempt < attempts ? delayBefore(answer, attempt, world.random()) : undefined;
    if (delayMs === undefined || !answer.error) return answer;
    const { code, message } = answer.error;
    yield { kind: "waiting", code, reason: message, untilMs: world.now() + delayMs, attempt, attempts };
    try {
      await sleep(world, delayMs, signal);
    } catch {
      return INTERRUPTED;
    }
  }
}

/** Undefined when there is no point in asking again. */
function delayBefore({ error, hasOutput }: Answer, attempt: number, dice: number): number | undefined {
  if (!error || hasOutput || !PASSING.has(error.code)) return undefined;
  const { retryAfterMs } = error;
  if (retryAfterMs === undefined) return backoffDelayMs(ENGINE_LIMITS.modelRetry, attempt - 1, dice);
  if (retryAfterMs > ENGINE_LIMITS.modelWaitMaxMs) return undefined;
  // Never before the provider said; a little after, since everybody it turned away was told the same.
  return Math.ceil(retryAfterMs + Math.min(1_000, retryAfterMs / 10) * dice);
}

class AbortableReader<T> {
  readonly #iterator: AsyncIterator<T>;
  readonly #signal: AbortSignal;
  readonly #onAbort: () => void;
  #fail: (reason: unknown) => void = () => {};

  constructor(events: AsyncIterable<T>, signal: AbortSignal) {
    this.#iterator = events[Symbol.asyncIterator]();
    this.#signal = signal;
    this.#onAbort = () => this.#fail(signal.reason);
    abortListeners(signal).add(this.#onAbort);
  }

  /** Rejects with the signal's reason as soon as it fires; what comes of the event then is nobody's concern any more. */
  next(): Promise<IteratorResult<T>> {
    return new Promise((resolve, reject) => {
      if (this.#signal.aborted) return reject(this.#signal.reason);
      this.#fail = reject;
      this.#iterator.next().then(resolve, reject);
    });
  }

  /** Lets go of the stream. After an abort nobody waits for it: it may be stuck, which is why one aborted. */
  async close(): Promise<void> {
    abortListeners(this.#signal).delete(this.#onAbort);
    const end = async () => await this.#iterator.return?.();
    const ended = end().catch(() => undefined); // what there was to say has been said
    if (!this.#signal.aborted) await ended;
  }
}
