// The turns of a session, one at a time: each is journaled before its events are published.
import { TenonError, toTenonError } from "../../base/errors.js";
import { uuidV7 } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { errorType, inSpan, type SpanAttributes } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import { type ContentBlock, plainText } from "../../base/text/content.js";
import { VERSION } from "../../base/version.js";
import { NO_USAGE, type TurnEnd } from "../../engine/index.js";
import type { Model, ModelEvent, ModelRequest, ModelUsage } from "../../models/index.js";
import { commandOf, type Invocation } from "../commands.js";
import type { EndedTurn, EventStream } from "../events.js";
import type { ClientEnvironment } from "../journal/entry.js";
import { contentHash, type KnownPrompt, type PromptEnd, type Restored } from "../journal/history.js";
import { type Journal, ONLY_COMMANDS, titleOf } from "../journal/journal.js";
import { SESSION_LIMITS } from "../limits.js";
import type { ClientName, SenderRights } from "../ports.js";

/** One turn, as it is run. */
export interface TurnWork {
  /** Counts from 1 within the session. */
  readonly number: number;
  /** The first turn since the session was opened or loaded. */
  readonly isFirst: boolean;
  readonly content: readonly ContentBlock[];
  /** For a prompt that is a slash command: Tenon answers it, and the model does not see it. */
  readonly invocation: Invocation | undefined;
  /** What a command may do for its sender. */
  readonly may?: SenderRights;
}

/** What a prompt is known by. */
export interface PromptAbout {
  /** Of the client's choice: sent again under the same id, the prompt is joined or answered from its record. */
  readonly promptId?: string;
  /** The client that sent it, as the gateway knows it. */
  readonly by?: ClientName;
  /** What its sender may do; everything unless given. It is neither recorded nor shown. */
  readonly may?: SenderRights;
}

/** Of a prompt that an earlier process took: its sender is not here, and may have lost what it had. */
const PROMPT_ONLY: SenderRights = { approve: false, tools: false, isLocal: false };

export interface TurnResult extends TurnEnd {
  /** Missing for a prompt that was taken back before its turn. */
  readonly turn?: number;
}

export interface TurnsOptions {
  readonly world: Pick<World, "telemetry" | "now" | "randomBytes">;
  readonly session: string;
  readonly journal: Journal;
  readonly events: EventStream;
  /** For a session that is loaded again. */
  readonly restored?: Pick<Restored, "turnCount" | "isNamed" | "prompts" | "queued" | "openTurn">;
  /** Whether what was under way goes on: the open turn by `resume`, prompts in the queue after it. */
  readonly isContinued: boolean;
  /** A person gave the session a title: its first prompt does not. */
  readonly isTitled: boolean;
  /** How many prompts may wait while a turn runs. */
  readonly maxQueued: number;
  /** No prompt is a slash command. */
  readonly isPlain?: boolean;
  /** Of the model that the session uses now. */
  readonly model: () => string;
  /** The session runs in the environment of a client. */
  readonly hasClientEnvironment: boolean;
  run(work: TurnWork, signal: AbortSignal): Promise<TurnEnd>;
  /** Called when a turn begins, when a prompt joins or leaves the queue, and with a turn that is over. */
  readonly onChange: (ended?: EndedTurn) => void;
  /** Called when a turn is over and its last event is published. */
  onEnd(): void;
}

/** A prompt from when it is sent until it is answered; aborting `controller` takes it back. */
interface Prompt extends Omit<PromptAbout, "may"> {
  may: SenderRights | undefined;
  /** Of one that an earlier process took. */
  readonly environment?: ClientEnvironment;
  readonly content: readonly ContentBlock[];
  readonly controller: AbortController;
  readonly done: Promise<TurnResult>;
  readonly resolve: (result: TurnResult) => void;
  readonly reject: (error: unknown) => void;
}

function newPrompt(
  content: readonly ContentBlock[],
  { promptId, by, may, environment }: PromptAbout & Pick<Prompt, "environment">,
): Prompt {
  let settle: Pick<Prompt, "resolve" | "reject"> | undefined;
  const done = new Promise<TurnResult>((resolve, reject) => {
    settle = { resolve, reject };
  });
  done.catch(() => undefined); // whoever sent it may be gone
  return {
    content,
    ...defined({ promptId, by, environment }),
    may,
    controller: new AbortController(),
    done,
    resolve: (result) => settle?.resolve(result),
    reject: (error) => settle?.reject(error),
  };
}

interface RunningTurn {
  readonly prompt: Prompt;
  readonly number: number;
  /** False for a turn of an earlier owner, until it goes on. */
  readonly hasBegun: boolean;
}

export class SessionTurns {
  readonly #options: TurnsOptions;
  /** Prompts with an id whose turn has ended, or that were taken back before it; the last ones. */
  readonly #ended: Map<string, KnownPrompt>;
  /** Prompts in the queue of an earlier owner that are not run: recorded as taken back with the next turn. */
  #dropped: readonly string[];
  #queue: readonly Prompt[] = [];
  #running: RunningTurn | undefined;
  #count: number;
  #isTitled: boolean;
  #isNamed: boolean;
  #isClosed = false;

  constructor(options: TurnsOptions) {
    const { restored, isContinued, isTitled } = options;
    this.#options = options;
    this.#count = restored?.turnCount ?? 0;
    this.#isTitled = isTitled;
    this.#isNamed = restored?.isNamed ?? false;
    this.#ended = new Map([...(restored?.prompts ?? [])].slice(-SESSION_LIMITS.prompts.remembered));
    const queued = restored?.queued ?? [];
    this.#dropped = isContinued ? [] : queued.map(({ promptId }) => promptId);
    if (!isContinued) return;
    for (const waiting of queued) this.#enqueue(newPrompt(waiting.content, { ...waiting, may: PROMPT_ONLY }));
    const first = restored?.openTurn?.records[0];
    if (first?.kind !== "prompt") return;
    this.#running = {
      prompt: newPrompt(first.content, { ...first, may: PROMPT_ONLY }),
      number: first.turn,
      hasBegun: false,
    };
  }

  /** How many have begun. */
  get count(): number {
    return this.#count;
  }

  /** The turn that runs. */
  get running(): (PromptAbout & { readonly number: number }) | undefined {
    if (!this.#running) return undefined;
    const { number, prompt } = this.#running;
    const { promptId, by } = prompt;
    return { number, ...defined({ promptId, by }) };
  }

  /** The first prompt that waits, while no turn runs: an earlier process took it, and `startQueued` starts it. */
  get stalled(): Pick<Prompt, "environment"> | undefined {
    return this.#running ? undefined : this.#queue[0];
  }

  /** The prompts that wait for their turn, the first one first. */
  get queued(): readonly PromptAbout[] {
    return this.#queue.map(({ promptId, by }) => defined({ promptId, by }));
  }

  /** Whether the running turn is being cancelled; undefined when none runs. */
  get isCancelled(): boolean | undefined {
    return this.#running?.prompt.controller.signal.aborted;
  }

  /** The session has a title now: the first prompt gives it none. */
  titled(): void {
    this.#isTitled = true;
  }

  /**
   * Runs one turn, after those before it. Rejects with a TenonError when it may not wait for them, when its id was used for
   * other content, or when the model fails.
   */
  async run(
    content: string | readonly ContentBlock[],
    about: PromptAbout = {},
    signal?: AbortSignal,
  ): Promise<TurnResult> {
    const blocks: readonly ContentBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const known = this.#find(blocks, about);
    if (known && "hash" in known) return resultOf(known);
    const mustWait = this.#running !== undefined || this.#queue.length > 0;
    const prompt = known ?? newPrompt(blocks, mustWait ? this.#assertRoom(about) : about);
    // Its sender is back, after a restart for one.
    if (prompt.by?.client === about.by?.client) prompt.may = about.may;
    const takeBack = () => prompt.controller.abort(signal?.reason);
    if (signal?.aborted) takeBack();
    else signal?.addEventListener("abort", takeBack, { once: true });
    try {
      if (!known && mustWait) this.#wait(prompt);
      else if (!known) this.#start(prompt);
      return await prompt.done;
    } finally {
      signal?.removeEventListener("abort", takeBack);
    }
  }

  /**
   * Stops the running turn, whose prompt resolves with `cancelled`, and takes back prompts that wait: all of them, or those of
   * one client. A client with prompts in the queue stops no turn of another. Returns whether there was anything to stop.
   */
  cancel(by?: ClientName): boolean {
    const reason = new DOMException("cancelled by the person", "AbortError");
    const isOwn = (prompt: Prompt) => by === undefined || prompt.by?.client === by.client;
    const taken = this.#queue.filter(isOwn);
    for (const { controller } of taken) controller.abort(reason);
    const running = this.#running?.prompt;
    if (running && (taken.length === 0 || isOwn(running))) running.controller.abort(reason);
    return running !== undefined || taken.length > 0;
  }

  /** Stops the running turn because the session ends; prompts that wait stay recorded as such. Resolves once it is over. */
  async end(reason: Error): Promise<void> {
    this.#isClosed = true;
    const queue = this.#queue;
    this.#queue = [];
    for (const { reject } of queue) reject(reason);
    const { prompt, hasBegun } = this.#running ?? {};
    prompt?.controller.abort(reason);
    if (hasBegun === false) prompt?.reject(reason);
    await prompt?.done.catch(() => undefined); // the prompt rejects with it
  }

  /** The turn that was open when the session was loaded goes on: `run` does what is left of it. */
  async resume(run: (turn: number, signal: AbortSignal) => Promise<TurnEnd>): Promise<TurnResult> {
    const open = this.#running;
    if (!open || open.hasBegun) throw new TenonError("internal", "there is no open turn that could go on");
    const { prompt, number } = open;
    this.#follow(prompt, number, (signal) => this.#complete(number, () => run(number, signal)));
    return await prompt.done;
  }

  /** From now on no prompt of the queue is started: the next owner of the session does that. */
  hold(): void {
    this.#isClosed = true;
  }

  /** Starts the first prompt that waits, unless a turn runs or is to go on. */
  startQueued(): void {
    const [next, ...rest] = this.#queue;
    if (this.#running || this.#isClosed || !next) return;
    this.#queue = rest;
    this.#start(next);
  }

  /** The prompt of that id: one that is still to be answered, or as it ended. */
  #find(content: readonly ContentBlock[], { promptId }: PromptAbout): Prompt | KnownPrompt | undefined {
    if (promptId === undefined) return undefined;
    const { idChars } = SESSION_LIMITS.prompts;
    if (promptId === "" || promptId.length > idChars) {
      throw new TenonError("session.invalid_request", `the id of a prompt has 1 to ${idChars} characters`);
    }
    const open = [...(this.#running ? [this.#running.prompt] : []), ...this.#queue];
    const known = open.find((prompt) => prompt.promptId === promptId) ?? this.#ended.get(promptId);
    if (!known) return undefined;
    const hash = "hash" in known ? known.hash : contentHash(known.content);
    if (hash === contentHash(content)) return known;
    const text = `the prompt id "${promptId}" was used for a prompt with other content`;
    throw new TenonError("session.prompt_conflict", text);
  }

  /** Throws `session.busy` when no more prompts may wait. A prompt that waits has an id in every case. */
  #assertRoom({ promptId, by, may }: PromptAbout): PromptAbout {
    const { session, maxQueued, world } = this.#options;
    const id = promptId ?? uuidV7(world.now(), (count) => world.randomBytes(count));
    if (this.#queue.length < maxQueued) return { promptId: id, ...defined({ by, may }) };
    const text = `session ${session} is already running a turn`;
    if (maxQueued === 0) throw new TenonError("session.busy", text);
    throw new TenonError("session.busy", `${text}, and ${maxQueued} prompts wait for it`, {
      hint: "Wait until the turn is over, or take a prompt back.",
    });
  }

  #wait(prompt: Prompt): void {
    const { journal, onChange } = this.#options;
    const { promptId = "", by, content, controller } = prompt;
    journal.assertWritten();
    journal.append({ kind: "queued", promptId, content, ...defined({ by, environment: this.#environment }) });
    this.#enqueue(prompt);
    onChange();
    if (controller.signal.aborted) this.#takeBack(prompt);
    this.startQueued();
  }

  #enqueue(prompt: Prompt): void {
    this.#queue = [...this.#queue, prompt];
    prompt.controller.signal.addEventListener("abort", () => this.#takeBack(prompt), { once: true });
  }

  /** Has no effect once its turn has begun. */
  #takeBack(prompt: Prompt): void {
    if (!this.#queue.includes(prompt)) return;
    const { journal, onChange } = this.#options;
    this.#queue = this.#queue.filter((one) => one !== prompt);
    journal.append({ kind: "unqueued", promptId: prompt.promptId ?? "" });
    const end = { stopReason: "cancelled", usage: NO_USAGE } as const;
    this.#remember(prompt, { end });
    prompt.resolve(end);
    onChange();
  }

  get #environment(): ClientEnvironment | undefined {
    const { hasClientEnvironment, model } = this.#options;
    return hasClientEnvironment ? { model: model() } : undefined;
  }

  #start(prompt: Prompt): void {
    const number = this.#count + 1;
    this.#follow(prompt, number, (signal) => this.#run(prompt, number, signal));
  }

  /** The turn is the running one until it is over; then comes the next of the queue. */
  #follow(prompt: Prompt, number: number, run: (signal: AbortSignal) => Promise<TurnEnd>): void {
    const { world, session, model, onChange } = this.#options;
    this.#running = { prompt, number, hasBegun: true };
    const over = (end: PromptEnd) => {
      this.#running = undefined;
      if (this.#count >= number) this.#remember(prompt, { turn: number, end });
      if ("error" in end) prompt.reject(end.error);
      else prompt.resolve({ ...end, turn: number });
      onChange({ turn: number, ...defined({ promptId: prompt.promptId }), ...howEnded(end) });
      this.startQueued();
    };
    onChange();
    const ran = inTurnSpan(world, { session, model: model(), turn: number }, () => run(prompt.controller.signal));
    ran
      .catch((thrown: unknown) => ({ error: toTenonError(thrown) }))
      .then(over)
      .catch(prompt.reject);
  }

  #remember({ promptId, content }: Prompt, ended: Pick<KnownPrompt, "turn" | "end">): void {
    if (promptId === undefined) return;
    this.#ended.set(promptId, { ...ended, hash: contentHash(content) });
    const [oldest] = this.#ended.keys();
    if (oldest !== undefined && this.#ended.size > SESSION_LIMITS.prompts.remembered) this.#ended.delete(oldest);
  }

  async #run(prompt: Prompt, number: number, signal: AbortSignal): Promise<TurnEnd> {
    const { content, promptId, by } = prompt;
    const { journal, events, restored } = this.#options;
    journal.assertWritten(); // records that an earlier turn left unwritten come first
    this.#count = number;
    const invocation = this.#options.isPlain ? undefined : commandOf(plainText(content));
    const isNaming = !invocation && !this.#isNamed;
    this.#isNamed ||= isNaming;
    const title = { kind: "title", title: invocation ? ONLY_COMMANDS : titleOf(content) } as const;
    const named = { ...title, ...defined({ isOverruled: this.#isTitled || undefined }) };
    const about = defined({ isCommand: invocation && true, promptId, by, environment: this.#environment });
    const dropped = this.#dropped.map((id) => ({ kind: "unqueued", promptId: id }) as const);
    this.#dropped = [];
    journal.append(...dropped, ...(number === 1 || isNaming ? [named] : []), {
      kind: "prompt",
      turn: number,
      content,
      ...about,
    });
    await journal.durable();
    await events.publish({ kind: "user", content, ...defined({ promptId, by }) });
    if (isNaming && !this.#isTitled) await events.publish(title);
    const isFirst = number === (restored?.turnCount ?? 0) + 1;
    return await this.#complete(number, () => {
      journal.assertWritten();
      return this.#options.run({ number, isFirst, content, invocation, ...defined({ may: prompt.may }) }, signal);
    });
  }

  /** To its end, which is recorded and published. */
  async #complete(number: number, run: () => Promise<TurnEnd>): Promise<TurnEnd> {
    const { journal, events } = this.#options;
    let hasEnd = false;
    try {
      const end = await run();
      journal.append({ kind: "end", turn: number, stopReason: end.stopReason });
      hasEnd = true;
      journal.sync();
      journal.assertWritten(); // a turn that is reported as over survives a crash
      await journal.durable();
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

function howEnded(end: PromptEnd): Pick<EndedTurn, "stopReason" | "error"> {
  if (!("error" in end)) return { stopReason: end.stopReason };
  const { code, message } = end.error;
  return { error: { code, message } };
}

/** As the prompt was answered when its turn ended. */
function resultOf({ turn, end }: KnownPrompt): TurnResult {
  if (!end) throw new TenonError("session.busy", `turn ${turn} of this session is open and has to go on first`);
  if ("error" in end) throw end.error;
  return { ...end, ...defined({ turn }) };
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
