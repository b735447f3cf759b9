// The turns of a session, one at a time: each is journaled before its events are published.
import { TenonError, toTenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { errorType, inSpan, type SpanAttributes } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import { type ContentBlock, plainText } from "../../base/text/content.js";
import { VERSION } from "../../base/version.js";
import type { TurnEnd } from "../../engine/index.js";
import type { Model, ModelEvent, ModelRequest, ModelUsage } from "../../models/index.js";
import { commandOf, type Invocation } from "../commands.js";
import type { EventStream } from "../events.js";
import { type Journal, ONLY_COMMANDS, titleOf } from "../journal/journal.js";

/** One turn, as it is run. */
export interface TurnWork {
  /** Counts from 1 within the session. */
  readonly number: number;
  /** The first turn since the session was opened or loaded. */
  readonly isFirst: boolean;
  readonly content: readonly ContentBlock[];
  /** For a prompt that is a slash command: Tenon answers it, and the model does not see it. */
  readonly invocation: Invocation | undefined;
}

export interface TurnsOptions {
  readonly world: Pick<World, "telemetry">;
  readonly session: string;
  readonly journal: Journal;
  readonly events: EventStream;
  /** How many turns there were before the session was loaded. */
  readonly earlier: number;
  /** A person gave the session a title: its first prompt does not. */
  readonly isTitled: boolean;
  /** A prompt was the title of the session already. */
  readonly isNamed: boolean;
  run(work: TurnWork, signal: AbortSignal): Promise<TurnEnd>;
  /** Called when a turn is over and its last event is published. */
  onEnd(): void;
}

export class SessionTurns {
  readonly #options: TurnsOptions;
  #count: number;
  #isTitled: boolean;
  #isNamed: boolean;
  #running: { readonly controller: AbortController; over: AbortSignal; readonly done: Promise<unknown> } | undefined;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#count = options.earlier;
    this.#isTitled = options.isTitled;
    this.#isNamed = options.isNamed;
  }

  /** How many have begun. */
  get count(): number {
    return this.#count;
  }

  /** Whether the running turn is being cancelled; undefined when none runs. */
  get isCancelled(): boolean | undefined {
    return this.#running?.over.aborted;
  }

  /** The session has a title now: the first prompt gives it none. */
  titled(): void {
    this.#isTitled = true;
  }

  /** Rejects with a TenonError when a turn is running, or when the model fails. */
  async run(content: string | readonly ContentBlock[], model: string, signal?: AbortSignal): Promise<TurnEnd> {
    const { session, world } = this.#options;
    if (this.#running) throw new TenonError("session.busy", `session ${session} is already running a turn`);
    const controller = new AbortController();
    const over = signal ? AbortSignal.any([controller.signal, signal]) : controller.signal;
    const blocks: readonly ContentBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const facts = { session, model, turn: this.#count + 1 };
    const done = inTurnSpan(world, facts, () => this.#run(blocks, over));
    this.#running = { controller, over, done };
    try {
      return await done;
    } finally {
      this.#running = undefined;
    }
  }

  /** Stops the running turn, whose prompt resolves with `cancelled`. Returns whether one ran. */
  cancel(): boolean {
    this.#running?.controller.abort(new DOMException("cancelled by the person", "AbortError"));
    return this.#running !== undefined;
  }

  /** Stops the running turn because the session ends. Resolves once it is over. */
  async end(reason: Error): Promise<void> {
    const running = this.#running;
    running?.controller.abort(reason);
    await running?.done.catch(() => undefined); // the prompt rejects with it
  }

  async #run(content: readonly ContentBlock[], signal: AbortSignal): Promise<TurnEnd> {
    const { journal, events, earlier } = this.#options;
    journal.assertWritten(); // records that an earlier turn left unwritten come first
    const number = ++this.#count;
    let hasEnd = false;
    const invocation = commandOf(plainText(content));
    const isNaming = !invocation && !this.#isNamed;
    this.#isNamed ||= isNaming;
    const title = { kind: "title", title: invocation ? ONLY_COMMANDS : titleOf(content) } as const;
    const prompt = { kind: "prompt", turn: number, content, ...defined({ isCommand: invocation && true }) } as const;
    journal.append(...(number === 1 || isNaming ? [title] : []), prompt);
    await events.publish({ kind: "user", content });
    if (isNaming && !this.#isTitled) await events.publish(title);
    try {
      journal.assertWritten();
      const end = await this.#options.run({ number, isFirst: number === earlier + 1, content, invocation }, signal);
      journal.append({ kind: "end", turn: number, stopReason: end.stopReason });
      hasEnd = true;
      journal.sync();
      journal.assertWritten(); // a turn that is reported as over survives a crash
      await events.publish({ kind: "turn_ended", turn: number, stopReason: end.stopReason });
      return end;
    } catch (thrown) {
      const error = toTenonError(thrown);
      if (!hasEnd) journal.append({ kind: "error", turn: number, code: error.code, message: error.message });
      await events.publish({ kind: "turn_ended", turn: number, error });
      throw error;
    } finally {
      this.#options.onEnd();
      journal.sync();
    }
  }
}

/** Costs a request nothing while nobody watches. Spans are of single requests: an attempt that is repeated has its own. */
export function observedModel(model: Model, world: World, session: string): Model {
  const { id, dialect } = model;
  return {
    id,
    ...defined({ dialect }),
    get abilities() {
      return model.abilities; // of a model that loads itself they are known later
    },
    accepts: (mediaType) => model.accepts?.(mediaType) ?? false,
    stream: (request, signal) => {
      const isWatched = world.telemetry?.isActive === true || world.trace !== undefined;
      return isWatched ? observed(model, world, session, request, signal) : model.stream(request, signal);
    },
  };
}

async function* observed(
  model: Model,
  { trace, telemetry }: World,
  session: string,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, void, void> {
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": providerName(model.id),
    "gen_ai.request.model": nameOf(model.id),
    "gen_ai.request.stream": true,
    "gen_ai.request.max_tokens": request.maxOutputTokens,
    "gen_ai.conversation.id": session,
  };
  const span = await telemetry?.start({ name: `chat ${nameOf(model.id)}`, kind: "client", attributes });
  const inside = <T>(step: () => T): T => {
    const inTrace = () => (trace ? trace.within(session, step) : step());
    return span ? span.run(inTrace) : inTrace();
  };
  const events = inside(() => model.stream(request, signal)[Symbol.asyncIterator]());
  try {
    for (;;) {
      const next = await inside(() => events.next());
      if (next.done) return;
      const event = next.value;
      if (span && event.kind === "finish") {
        span.set({ "gen_ai.response.finish_reasons": [event.reason], ...usageAttributes(event.usage) });
      }
      yield event;
    }
  } catch (thrown) {
    if (!signal.aborted) span?.fail(errorType(thrown), thrown instanceof Error ? thrown.message : undefined);
    throw thrown;
  } finally {
    span?.end();
    await inside(() => events.return?.());
  }
}

function usageAttributes(usage: ModelUsage | undefined): SpanAttributes {
  return {
    "gen_ai.usage.input_tokens": usage?.inputTokens,
    "gen_ai.usage.output_tokens": usage?.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage?.cachedInputTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage?.cacheWriteTokens,
  };
}

/** The words the convention has for those it knows; others by their own. */
const PROVIDER_NAMES: ReadonlyMap<string, string> = new Map([["google", "gcp.gemini"]]);

function providerName(modelId: string): string {
  const slash = modelId.indexOf("/");
  const provider = slash < 0 ? modelId : modelId.slice(0, slash);
  return PROVIDER_NAMES.get(provider) ?? provider;
}

function nameOf(modelId: string): string {
  return modelId.slice(modelId.indexOf("/") + 1);
}

/** Everything the turn does is inside it. Costs nothing while nobody listens. */
export async function inTurnSpan(
  { telemetry }: Pick<World, "telemetry">,
  { session, model, turn }: { readonly session: string; readonly model: string; readonly turn: number },
  run: () => Promise<TurnEnd>,
): Promise<TurnEnd> {
  if (!telemetry?.isActive) return await run();
  const attributes = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "tenon",
    "gen_ai.agent.version": VERSION,
    "gen_ai.provider.name": providerName(model),
    "gen_ai.request.model": nameOf(model),
    "gen_ai.conversation.id": session,
    "tenon.turn": turn,
  };
  return await inSpan(telemetry, { name: "invoke_agent tenon", kind: "internal", attributes }, async (span) => {
    const end = await run();
    span.set({ "tenon.stop_reason": end.stopReason, ...usageAttributes(end.usage) });
    return end;
  });
}
