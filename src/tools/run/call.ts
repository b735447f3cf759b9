// One prepared call to exactly one outcome: fill in, validate, approve, journal, send.
import type { Eventual } from "../../base/async/eventual.js";
import { abortListeners, contained } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import { inSpan } from "../../base/ports/trace.js";
import type { Timer, World } from "../../base/ports/world.js";
import type { CatalogEntry } from "../catalog/offer.js";
import { TOOL_LIMITS } from "../limits.js";
import type { ModelMedia } from "../result/blocks.js";
import { type Presented, presentedWhatever } from "../result/present.js";
import type { ResultStore } from "../result/store.js";
import type { Inserted, Substituted } from "../result/substitute.js";
import {
  type CatalogTool,
  failed,
  type LastingCall,
  type SourceCall,
  type ToolDefinition,
  type ToolOutcome,
  type ToolProgress,
  type ToolSource,
} from "../tool.js";
import { forPeople } from "./for-people.js";
import {
  finishArguments,
  notMade,
  type Preparation,
  PreparedCall,
  preparedWhenStarted,
  type SentBefore,
} from "./prepare.js";

export interface RunOptions {
  readonly signal: AbortSignal;
  /** Without it no times are taken either. */
  readonly onEvent?: (event: CallEvent) => void;
}

const CANCELLED: ToolOutcome = { kind: "cancelled" };

/**
 * Never rejects: an error is a bug, and still ends as an outcome. Once the signal fires it ends within a bound, also when
 * the source ignores the signal. The last event is `ended`, which comes once.
 */
export function runCall(call: PreparedCall, ports: RunPorts, options: RunOptions): Promise<Presented> {
  return runCallAnd(call, ports, options, asItIs);
}

/** The same with what is made of the result; rejects only with what `read` throws. */
export function runCallAnd<T>(
  call: PreparedCall,
  ports: RunPorts,
  options: RunOptions,
  read: (presented: Presented) => T,
): Promise<T> {
  const steps = new Steps(call, ports.world, options);
  const ended = (outcome: ToolOutcome): Eventual<T> => {
    const elapsedMs = steps.end();
    const presenting = present(outcome, steps, ports);
    const about = { call, outcome, elapsedMs, steps };
    return presenting instanceof Promise
      ? presenting.then((presented) => read(finished(presented, about, ports, options)))
      : read(finished(presenting, about, ports, options));
  };
  let stepping: Eventual<ToolOutcome>;
  try {
    stepping = stepsOf(steps, ports);
  } catch (error) {
    stepping = thrownBy(steps, error);
  }
  // Not `async`, which would cost every call a promise and a frame more.
  return stepping instanceof Promise
    ? stepping.then(ended, (error: unknown) => ended(thrownBy(steps, error)))
    : Promise.resolve(stepping).then(ended);
}

interface EndedCall {
  readonly call: PreparedCall;
  readonly outcome: ToolOutcome;
  readonly elapsedMs: number;
  readonly steps: Steps;
}

/** Tells that it has ended. */
function finished(
  { model, outcome: shown }: Presented,
  { call, outcome, elapsedMs, steps }: EndedCall,
  ports: RunPorts,
  { onEvent }: RunOptions,
): Presented {
  onEvent?.({ kind: "ended", call, outcome: shown, elapsedMs });
  const tool = steps.preparation?.entry?.tool;
  if (outcome.kind === "done" && tool && ports.onUsed) noteUse(tool, ports);
  return { model, outcome: shown, raw: outcome };
}

function noteUse(tool: CatalogTool, ports: Pick<RunPorts, "world" | "onUsed">): void {
  contained(ports.world.log, "noting the use of a tool", () => ports.onUsed?.(tool));
}

function asItIs(presented: Presented): Presented {
  return presented;
}

/** As `runCall`, for callers that are no model: the outcome is as the source gave it, and no event ends the call. */
export async function runDirect(call: PreparedCall, ports: DirectPorts, options: RunOptions): Promise<ToolOutcome> {
  const steps = new Steps(call, ports.world, options);
  const outcome = await outcomeOf(steps, ports);
  steps.end();
  return outcome;
}

function present(
  outcome: ToolOutcome,
  { preparation, isSent }: Steps,
  { results: store, media }: Pick<RunPorts, "results" | "media">,
): Eventual<Presented> {
  const source = isSent ? preparation?.entry?.tool : undefined;
  const label = preparation?.plan.kind === "lasting" ? preparation.plan.lasting.label : source?.label;
  return presentedWhatever(outcome, { store, media, origin: label ?? "tenon" });
}

const NOT_TOLD = (): void => undefined;

/** What is told of one call on its way; nothing once it is over. */
class Steps {
  readonly signal: AbortSignal;
  /** Undefined when it was cancelled before its server had started. */
  preparation: Preparation | undefined;
  isSent = false;
  readonly #call: PreparedCall;
  readonly #clock: Pick<World, "monotonicMs">;
  readonly #onEvent: RunOptions["onEvent"];
  readonly onAsking: () => void;
  readonly onProgress: (progress: ToolProgress) => void;
  #sentMs: number | undefined;
  #isOver = false;

  constructor(call: PreparedCall, clock: Pick<World, "monotonicMs">, { signal, onEvent }: RunOptions) {
    this.signal = signal;
    this.preparation = PreparedCall.open(call);
    this.#call = call;
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.onAsking = onEvent ? () => this.#emit({ kind: "awaiting_approval", call }) : NOT_TOLD;
    this.onProgress = onEvent
      ? (progress) => this.#emit({ kind: "progress", call, progress, elapsedMs: this.#elapsedMs })
      : NOT_TOLD;
  }

  sending(): void {
    this.isSent = true;
    if (!this.#onEvent) return;
    this.#sentMs = this.#clock.monotonicMs();
    this.#emit({ kind: "running", call: this.#call });
  }

  /** Milliseconds since it was sent. */
  end(): number {
    this.#isOver = true;
    return this.#elapsedMs;
  }

  get #elapsedMs(): number {
    return this.#sentMs === undefined ? 0 : this.#clock.monotonicMs() - this.#sentMs;
  }

  #emit(event: CallEvent): void {
    if (!this.#isOver) this.#onEvent?.(event);
  }
}

/** For a name that may be a tool's of a server that still starts. Undefined when cancelled. Never rejects. */
async function whenStarted(preparation: Preparation, { signal, onProgress }: Steps): Promise<Preparation | undefined> {
  const { call, name, plan } = preparation;
  if (plan.kind !== "starting") return preparation;
  const { server, doing } = plan.source;
  onProgress({ progress: 0, message: `waiting for "${server}": ${doing}` });
  try {
    const prepared = await untilAborted(preparedWhenStarted(preparation, plan.source, signal), signal);
    return prepared === ABORTED ? undefined : prepared;
  } catch (error) {
    return { call, name, given: {}, plan: { kind: "ended", outcome: failed(notMade(name, messageOf(error))) } };
  }
}

/** Never rejects. */
async function outcomeOf(steps: Steps, ports: DirectPorts): Promise<ToolOutcome> {
  try {
    return await stepsOf(steps, ports);
  } catch (error) {
    return thrownBy(steps, error);
  }
}

function thrownBy({ signal, preparation }: Steps, error: unknown): ToolOutcome {
  return signal.aborted ? CANCELLED : failed(notMade(preparation?.name ?? "the tool", messageOf(error)));
}

/** Waits only where something has to be: most calls are sent at once. */
function stepsOf(steps: Steps, ports: DirectPorts): Eventual<ToolOutcome> {
  const { preparation: call, signal } = steps;
  if (!call) return CANCELLED;
  const { plan } = call;
  if (plan.kind === "ended") return plan.outcome;
  if (plan.kind === "starting") return stepsOnceStarted(call, steps, ports);
  if (signal.aborted) return CANCELLED;
  if (plan.kind === "lasting") return resumed(call, plan.lasting, ports, steps);
  const { entry } = plan;
  const clearing = cleared(call, entry, ports, steps);
  return clearing instanceof Promise
    ? writtenLater(entry, clearing, ports, steps)
    : written(entry, clearing, ports, steps);
}

// What waits is in functions of its own: in one with the rest, every call would be given what only those that wait need.

async function writtenLater(
  entry: CatalogEntry,
  clearing: Promise<Cleared | ToolOutcome>,
  ports: DirectPorts,
  steps: Steps,
): Promise<ToolOutcome> {
  return await written(entry, await clearing, ports, steps);
}

async function stepsOnceStarted(call: Preparation, steps: Steps, ports: DirectPorts): Promise<ToolOutcome> {
  const started = await whenStarted(call, steps);
  steps.preparation = started;
  if (started?.plan.kind === "starting") return failed(notMade(call.name, "its server does not start"));
  return await stepsOf(steps, ports);
}

function written(
  entry: CatalogEntry,
  clear: Cleared | ToolOutcome,
  ports: DirectPorts,
  steps: Steps,
): Eventual<ToolOutcome> {
  if ("kind" in clear) return clear;
  const { signal } = steps;
  if (signal.aborted) return CANCELLED;
  const writing = ports.journal.intent(clear.request);
  if (writing) return sentOnceWritten(writing, { entry, clear }, ports, steps);
  return signal.aborted ? CANCELLED : sentInSpan(entry, clear, ports, steps);
}

async function sentOnceWritten(
  writing: Promise<void>,
  { entry, clear }: { readonly entry: CatalogEntry; readonly clear: Cleared },
  ports: DirectPorts,
  steps: Steps,
): Promise<ToolOutcome> {
  const { signal } = steps;
  const end = await untilAborted(writing, signal);
  return end === ABORTED || signal.aborted ? CANCELLED : await sentInSpan(entry, clear, ports, steps);
}

interface Cleared {
  readonly request: CallRequest;
  readonly expected?: string | undefined;
}

/** The call as it may be sent, or the outcome that says why it may not: at once where nothing has to be read or asked. */
function cleared(
  call: Preparation,
  entry: CatalogEntry,
  ports: DirectPorts,
  steps: Steps,
): Eventual<Cleared | ToolOutcome> {
  const finishing = finishArguments(entry, call.given, ports);
  return finishing instanceof Promise
    ? clearedLater(call, { entry, finishing }, ports, steps)
    : approved(call, { entry, finished: finishing }, ports, steps);
}

async function clearedLater(
  call: Preparation,
  { entry, finishing }: { readonly entry: CatalogEntry; readonly finishing: Promise<Substituted> },
  ports: DirectPorts,
  steps: Steps,
): Promise<Cleared | ToolOutcome> {
  const finished = await untilAborted(finishing, steps.signal);
  return finished === ABORTED ? CANCELLED : await approved(call, { entry, finished }, ports, steps);
}

function approved(
  { call: { toolCallId }, name }: Preparation,
  { entry, finished }: { readonly entry: CatalogEntry; readonly finished: Substituted },
  ports: DirectPorts,
  { signal, onAsking }: Steps,
): Eventual<Cleared | ToolOutcome> {
  if (!finished.ok) return failed(notMade(name, finished.reason), "tool.invalid_arguments");
  const { arguments: complete, inserted } = finished;
  const { tool, raw } = entry;
  const request: CallRequest = { toolCallId, tool, arguments: complete, inserted };
  const shown = inserted.length > 0 ? forPeople(complete) : complete;
  const asked = { toolCallId, tool, arguments: complete, inserted, raw, shown, onAsking };
  const approving = ports.approve(asked, signal);
  return approving instanceof Promise ? approvedLater(request, approving, signal) : clearance(request, approving);
}

async function approvedLater(
  request: CallRequest,
  approving: Promise<Approval>,
  signal: AbortSignal,
): Promise<Cleared | ToolOutcome> {
  const approval = await untilAborted(approving, signal);
  return approval === ABORTED ? CANCELLED : clearance(request, approval);
}

function clearance(request: CallRequest, approval: Approval): Cleared | ToolOutcome {
  if (approval.kind === "cancelled") return CANCELLED;
  return approval.kind === "refused" ? approval : { request, expected: approval.expected };
}

/** Never rejects, and calls nothing again. */
async function resumed(
  { call: { toolCallId }, name }: Preparation,
  lasting: SentBefore,
  { world }: DirectPorts,
  steps: Steps,
): Promise<ToolOutcome> {
  const { signal, onProgress } = steps;
  try {
    steps.sending();
    const outcome = await untilAborted(lasting.resume({ toolCallId, signal, onProgress }), signal, world);
    return outcome === ABORTED ? CANCELLED : outcome;
  } catch (error) {
    return signal.aborted ? CANCELLED : { kind: "unknown", reason: `asking for ${name} failed: ${messageOf(error)}` };
  }
}

/** From here on the source may have acted, whatever happens. Never rejects. */
function sent(
  { source, raw, tool }: CatalogEntry,
  { request, expected }: Cleared,
  ports: DirectPorts,
  steps: Steps,
): Promise<ToolOutcome> {
  const { signal, onProgress } = steps;
  try {
    steps.sending();
    const sentCall = new SentCall(request, raw, { ports, signal, tool });
    const call: SourceCall = {
      toolCallId: request.toolCallId,
      tool: raw.name,
      arguments: request.arguments,
      definition: raw,
      signal,
      onProgress,
      onLasting: sentCall.onLasting,
    };
    return sentCall.over(source.call(expected === undefined ? call : { ...call, expected }));
  } catch (error) {
    return Promise.resolve(brokenCall(tool, error, signal));
  }
}

function brokenCall({ label }: CatalogTool, error: unknown, signal: AbortSignal): ToolOutcome {
  return signal.aborted ? CANCELLED : failed(`${label} failed: ${messageOf(error)}`);
}

interface SentCallContext {
  readonly ports: DirectPorts;
  readonly signal: AbortSignal;
  readonly tool: CatalogTool;
}

/** A call whose outcome is waited for: one object instead of many closures, since every call has one. */
class SentCall implements Waiting<unknown> {
  /** The server goes on with it: recorded, so that it can be asked for again. */
  readonly onLasting: (lasting: LastingCall) => void;
  readonly #context: SentCallContext;
  #kept: Promise<void> | undefined;
  #resolve: (outcome: ToolOutcome | Promise<ToolOutcome>) => void = () => {};

  constructor(request: CallRequest, { name }: ToolDefinition, context: SentCallContext) {
    this.#context = context;
    this.onLasting = (lasting) => {
      this.#kept = context.ports.journal.lasting?.(request, { ...lasting, tool: name });
      this.#kept?.catch(() => undefined); // heard when the call has ended
    };
  }

  /** An embedder's source may be plain JavaScript, and answer with no promise. */
  over(answering: unknown): Promise<ToolOutcome> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      const { signal, ports } = this.#context;
      whenOver(answering instanceof Promise ? answering : Promise.resolve(answering), this, signal, ports.world);
    });
  }

  onEnd(value: unknown): void {
    this.#resolve(this.#kept ? this.#endedOnceKept(this.#kept, value) : this.#ended(value));
  }

  onError(error: unknown): void {
    const { tool, signal } = this.#context;
    this.#resolve(brokenCall(tool, error, signal));
  }

  #ended(outcome: unknown): ToolOutcome {
    if (outcome === ABORTED) return CANCELLED;
    return isOutcome(outcome) ? outcome : failed(`${this.#context.tool.label} failed: it answered with no outcome.`);
  }

  async #endedOnceKept(kept: Promise<void>, outcome: unknown): Promise<ToolOutcome> {
    try {
      await kept;
      return this.#ended(outcome);
    } catch (error) {
      return brokenCall(this.#context.tool, error, this.#context.signal);
    }
  }
}

/** An embedder's source may be plain JavaScript, which no type holds to the port. */
function isOutcome(value: unknown): value is ToolOutcome {
  if (typeof value !== "object" || value === null || !("kind" in value)) return false;
  switch (value.kind) {
    case "done":
    case "failed":
      return "content" in value && Array.isArray(value.content);
    case "refused":
    case "unknown":
      return "reason" in value && typeof value.reason === "string";
    default:
      return value.kind === "cancelled";
  }
}

/** In the span of one tool call by the semantic conventions for GenAI. The tool's source adds its own attributes. */
function sentInSpan(entry: CatalogEntry, clearance: Cleared, ports: DirectPorts, steps: Steps): Promise<ToolOutcome> {
  const { telemetry } = ports.world;
  if (!telemetry?.isActive) return sent(entry, clearance, ports, steps);
  const { toolCallId, tool } = clearance.request;
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool.id,
    "gen_ai.tool.call.id": toolCallId,
    "gen_ai.tool.type": "function",
    "tenon.tool.source": tool.source,
  };
  return inSpan(telemetry, { name: `execute_tool ${tool.id}`, kind: "internal", attributes }, async (span) => {
    const outcome = await sent(entry, clearance, ports, steps);
    span.set({ "tenon.tool.outcome": outcome.kind });
    if (outcome.kind === "failed") span.fail("tool_error");
    if (outcome.kind === "unknown") span.fail("outcome_unknown", outcome.reason);
    return outcome;
  });
}

const ABORTED: unique symbol = Symbol("aborted");

/**
 * The value of the promise, or `ABORTED` when the signal fires first. With a world, the other side gets a grace period after
 * that to say itself how it ended. A later value or rejection is ignored.
 */
function untilAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  world?: Pick<World, "after">,
): Promise<T | typeof ABORTED> {
  return new Promise((resolve, reject) => {
    whenOver(promise, { onEnd: resolve, onError: reject }, signal, world);
  });
}

interface Waiting<T> {
  /** What is told after the first end must be passed over. */
  onEnd(value: T | typeof ABORTED): void;
  onError(error: unknown): void;
}

/** The same without a promise of its own: every call that is sent is waited for like this. What `onEnd` throws is an error too. */
function whenOver<T>(
  promise: Promise<T>,
  waiting: Waiting<T>,
  signal: AbortSignal,
  world: Pick<World, "after"> | undefined,
): void {
  let grace: Timer | undefined;
  const giveUp = () => {
    if (world) grace = world.after(TOOL_LIMITS.cancelGraceMs, () => waiting.onEnd(ABORTED));
    else waiting.onEnd(ABORTED);
  };
  const listeners = abortListeners(signal);
  const leave = () => {
    listeners.delete(giveUp);
    grace?.clear();
  };
  promise
    .then((value) => {
      leave();
      waiting.onEnd(value);
    })
    .catch((error: unknown) => {
      leave();
      waiting.onError(error);
    });
  if (signal.aborted) giveUp();
  else listeners.add(giveUp);
}

/** A call that went on at its source while nobody waited for it. */
export interface ResumedCall extends Pick<SourceCall, "toolCallId" | "tool" | "signal" | "onProgress"> {
  /** `server / tool`. */
  readonly label: string;
  readonly lasting: LastingCall;
}

/** Never rejects, and calls nothing again. */
export async function resumeCall(
  source: ToolSource,
  { label, lasting, ...call }: ResumedCall,
  ports: Pick<RunPorts, "results" | "media">,
): Promise<Presented> {
  let outcome: ToolOutcome = { kind: "unknown", reason: `"${source.name}" cannot be asked about calls of before` };
  try {
    outcome = (await source.resume?.(call, lasting)) ?? outcome;
  } catch (error) {
    outcome = call.signal.aborted ? CANCELLED : failed(messageOf(error));
  }
  return await presentedWhatever(outcome, { store: ports.results, media: ports.media, origin: label });
}

export type Approval =
  /** `expected`: what the change was made from that the person was shown. */
  | { readonly kind: "allowed"; readonly expected?: string }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "cancelled" };

/** A call that is about to be made, with the arguments that would really be sent. */
export interface CallRequest {
  readonly toolCallId: string;
  readonly tool: CatalogTool;
  readonly arguments: JsonObject;
  /** Kept results that were put into the arguments. */
  readonly inserted: readonly Inserted[];
}

export interface ApprovalRequest extends CallRequest {
  /** The tool as its source defines it: that is what is approved, whatever a model is shown. */
  readonly raw: ToolDefinition;
  /** The arguments for people: where results were put in, long texts are cut, with their length. */
  readonly shown: JsonObject;
  /** To be called when a person is being asked, and the call waits for the answer. */
  onAsking(): void;
}

/** A call that lasts, with its source's own name of the tool. */
export interface KeptCall extends LastingCall {
  readonly tool: string;
}

/**
 * Written ahead of the call: after a crash an intent without an outcome means "outcome unknown". A promise is waited for,
 * and the call is not sent before it resolves; undefined where the record is durable already.
 */
export interface CallJournal {
  intent(call: CallRequest): Promise<void> | undefined;
  /** The call goes on at its source, and can be asked for again: after a crash it is, instead of being unknown. */
  lasting?(call: CallRequest, lasting: KeptCall): Promise<void> | undefined;
}

export interface RunPorts {
  readonly world: World;
  readonly journal: CallJournal;
  /** Where `{"$result": …}` in arguments leads, and where what is too long for the model goes. */
  readonly results: ResultStore;
  /** What the model takes as it is. */
  readonly media: ModelMedia;
  approve(request: ApprovalRequest, signal: AbortSignal): Eventual<Approval>;
  /** The user's word that what the tool's server says about it (that it only reads) is true. No server's is, unless given. */
  trustsAnnotations?(tool: CatalogTool): boolean;
  /** A call of the tool went well. */
  onUsed?(tool: CatalogTool): void;
}

/** What nothing is prepared for a model with. */
export type DirectPorts = Omit<RunPorts, "media">;

/** What happens to a call between its being asked for and its one outcome. */
export type CallEvent = { readonly call: PreparedCall } & (
  | { readonly kind: "awaiting_approval" }
  /** Approved, journaled and about to be sent. */
  | { readonly kind: "running" }
  | { readonly kind: "progress"; readonly progress: ToolProgress; readonly elapsedMs: number }
  /** The last one of a call, with its outcome as people may see it. The time is that since it was sent; 0 if it never was. */
  | { readonly kind: "ended"; readonly outcome: ToolOutcome; readonly elapsedMs: number }
);
