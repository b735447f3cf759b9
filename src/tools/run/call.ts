// One prepared call to exactly one outcome: fill in, validate, approve, journal, send.
import type { Eventual } from "../../base/async/eventual.js";
import { abortListeners, contained } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import { inSpan } from "../../base/ports/trace.js";
import type { Timer, World } from "../../base/ports/world.js";
import { checkAgainstSchema, type SchemaFit, withoutMisfitNulls } from "../../base/schema/schema-check.js";
import { type CatalogEntry, callArguments } from "../catalog/offer.js";
import { TOOL_LIMITS } from "../limits.js";
import { hintsOf } from "../policy/decide.js";
import type { ModelMedia, ResultContext } from "../result/blocks.js";
import { type Presented, presentOutcome } from "../result/present.js";
import type { ResultStore } from "../result/store.js";
import { type Inserted, type Substituted, substituteResults } from "../result/substitute.js";
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
import { notMade, type Preparation, PreparedCall, preparedWhenStarted, type SentBefore } from "./prepare.js";

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
export async function runCallAnd<T>(
  call: PreparedCall,
  ports: RunPorts,
  options: RunOptions,
  read: (presented: Presented) => T,
): Promise<T> {
  const steps = new Steps(call, ports.world, options);
  let outcome: ToolOutcome;
  try {
    outcome = await stepsOf(steps, ports);
  } catch (error) {
    outcome = thrownBy(steps, error);
  }
  const elapsedMs = steps.end();
  const presenting = present(outcome, steps, ports);
  const presented = presenting instanceof Promise ? await presenting : presenting;
  options.onEvent?.({ kind: "ended", call, outcome: presented.outcome, elapsedMs });
  const tool = steps.preparation?.entry?.tool;
  if (outcome.kind === "done" && tool && ports.onUsed)
    contained(ports.world.log, "noting the use of a tool", () => ports.onUsed?.(tool));
  return read({ model: presented.model, outcome: presented.outcome, raw: outcome });
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

/** Never rejects. */
function presentedWhatever(outcome: ToolOutcome, context: ResultContext): Eventual<Presented> {
  try {
    const presented = presentOutcome(outcome, context);
    return presented instanceof Promise ? presented.catch((error) => unpresented(outcome, error, context)) : presented;
  } catch (error) {
    return unpresented(outcome, error, context);
  }
}

function unpresented(outcome: ToolOutcome, error: unknown, context: ResultContext): Eventual<Presented> {
  const reason = `it ended as ${outcome.kind}, and what it answered could not be prepared: ${messageOf(error)}`;
  return presentOutcome({ kind: "unknown", reason }, context);
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
  const { plan, name } = call;
  if (plan.kind === "ended") return plan.outcome;
  if (plan.kind === "starting") {
    return whenStarted(call, steps).then((started) => {
      steps.preparation = started;
      if (started?.plan.kind === "starting") return failed(notMade(name, "its server does not start"));
      return stepsOf(steps, ports);
    });
  }
  if (signal.aborted) return CANCELLED;
  if (plan.kind === "lasting") return resumed(call, plan.lasting, ports, steps);
  const { entry } = plan;
  const clearing = cleared(call, entry, ports, steps);
  if (clearing instanceof Promise) return clearing.then((clear) => written(entry, clear, ports, steps));
  return written(entry, clearing, ports, steps);
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
  if (!writing) return signal.aborted ? CANCELLED : sentInSpan(entry, clear, ports, steps);
  return untilAborted(writing, signal).then((end) =>
    end === ABORTED || signal.aborted ? CANCELLED : sentInSpan(entry, clear, ports, steps),
  );
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
  if (!(finishing instanceof Promise)) return approved(call, { entry, finished: finishing }, ports, steps);
  return untilAborted(finishing, steps.signal).then((finished) =>
    finished === ABORTED ? CANCELLED : approved(call, { entry, finished }, ports, steps),
  );
}

function approved(
  { call: { toolCallId }, name }: Preparation,
  { entry, finished }: { readonly entry: CatalogEntry; readonly finished: Substituted },
  ports: DirectPorts,
  { signal, onAsking }: Steps,
): Eventual<Cleared | ToolOutcome> {
  if (!finished.ok) return failed(notMade(name, finished.reason), "tool.invalid_arguments");
  const { arguments: complete, inserted } = finished;
  const { tool, raw, held } = entry;
  const request: CallRequest = { toolCallId, tool, arguments: complete, inserted };
  const shown = inserted.length > 0 ? forPeople(complete) : complete;
  const asked = { toolCallId, tool, arguments: complete, inserted, raw, shown, held, onAsking };
  const approving = ports.approve(asked, signal);
  if (!(approving instanceof Promise)) return clearance(request, approving);
  return untilAborted(approving, signal).then((approval) =>
    approval === ABORTED ? CANCELLED : clearance(request, approval),
  );
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
  let kept: Promise<void> | undefined;
  const broken = (error: unknown): ToolOutcome =>
    signal.aborted ? CANCELLED : failed(`${tool.label} failed: ${messageOf(error)}`);
  const ended = (outcome: unknown): ToolOutcome => {
    if (outcome === ABORTED) return CANCELLED;
    return isOutcome(outcome) ? outcome : failed(`${tool.label} failed: it answered with no outcome.`);
  };
  try {
    steps.sending();
    const call: SourceCall = {
      toolCallId: request.toolCallId,
      tool: raw.name,
      arguments: request.arguments,
      definition: raw,
      signal,
      onProgress,
      onLasting: (lasting) => {
        kept = ports.journal.lasting?.(request, { ...lasting, tool: raw.name });
        kept?.catch(() => undefined); // heard below
      },
    };
    const answering = Promise.resolve(source.call(expected === undefined ? call : { ...call, expected }));
    return new Promise((resolve) => {
      const onEnd = (outcome: unknown) => resolve(kept ? kept.then(() => ended(outcome), broken) : ended(outcome));
      whenOver(answering, { signal, world: ports.world, onEnd, onError: (error) => resolve(broken(error)) });
    });
  } catch (error) {
    return Promise.resolve(broken(error));
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

/**
 * The arguments that are sent: the model's own, with kept results, pinned values and defaults put in. They are checked by the
 * source's own schema: the model's view of it may be shaped or compiled for its provider.
 */
function finishArguments(
  entry: CatalogEntry,
  given: JsonObject,
  { world, results }: Pick<RunPorts, "world" | "results">,
): Eventual<Substituted> {
  const filling = substituteResults(entry.tool.toOwn?.(given) ?? given, results);
  return filling instanceof Promise
    ? filling.then((filled) => checkedArguments(entry, filled, world))
    : checkedArguments(entry, filling, world);
}

function checkedArguments(entry: CatalogEntry, filled: Substituted, world: World): Eventual<Substituted> {
  if (!filled.ok) return filled;
  const complete = callArguments(entry, filled.arguments);
  const checked = (fit: SchemaFit): Eventual<Substituted> =>
    fit.kind === "misfit"
      ? withoutNulls(entry, filled, world)
      : { ok: true, arguments: complete, inserted: filled.inserted };
  const checking = checkAgainstSchema(entry.raw.inputSchema, complete, world);
  return checking instanceof Promise ? checking.then(checked) : checked(checking);
}

/** Nulls that models write for "left out" are no reason to refuse a call. */
async function withoutNulls(
  entry: CatalogEntry,
  filled: Extract<Substituted, { readonly ok: true }>,
  world: World,
): Promise<Substituted> {
  const { inputSchema } = entry.raw;
  const complete = callArguments(entry, await withoutMisfitNulls(inputSchema, filled.arguments, world));
  const fit = await checkAgainstSchema(inputSchema, complete, world);
  if (fit.kind !== "misfit") return { ok: true, arguments: complete, inserted: filled.inserted };
  const problems = `the arguments do not fit its schema: ${fit.problems.join("; ")}`;
  if (!entry.isChanged) return { ok: false, reason: problems };
  // The list a model is shown stays as it was, so the error carries the new schema.
  const json = JSON.stringify(entry.tool.definition.inputSchema);
  const schema = json.length <= TOOL_LIMITS.changedSchemaMaxChars ? `is now ${json}` : "has to be looked up anew";
  return { ok: false, reason: `${problems}. The tool has changed since you were given it, and its schema ${schema}` };
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
    whenOver(promise, { signal, world, onEnd: resolve, onError: reject });
  });
}

interface Watched<T> {
  readonly signal: AbortSignal;
  readonly world: Pick<World, "after"> | undefined;
  /** What is told after the first end must be passed over. */
  readonly onEnd: (value: T | typeof ABORTED) => void;
  readonly onError: (error: unknown) => void;
}

/** The same without a promise of its own: every call that is sent is waited for like this. What `onEnd` throws is an error too. */
function whenOver<T>(promise: Promise<T>, { signal, world, onEnd, onError }: Watched<T>): void {
  let grace: Timer | undefined;
  const giveUp = () => {
    if (!world) return onEnd(ABORTED);
    grace = world.after(TOOL_LIMITS.cancelGraceMs, () => onEnd(ABORTED));
  };
  const listeners = abortListeners(signal);
  const leave = () => {
    listeners.delete(giveUp);
    grace?.clear();
  };
  promise
    .then((value) => {
      leave();
      onEnd(value);
    })
    .catch((error: unknown) => {
      leave();
      onError(error);
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

/**
 * One outcome and one result for each call, in their order, whatever happens: it never rejects. A call that may write waits for all
 * before it, and all after it wait for it. Events come in the order in which things happen.
 */
export async function runCalls(
  calls: readonly PreparedCall[],
  ports: RunPorts,
  options: RunOptions,
): Promise<readonly Presented[]> {
  const results: Presented[] = [];
  for (const group of groupsOf(calls, ports)) {
    results.push(...(await runTogether(group, (call) => runCall(call, ports, options))));
  }
  return results;
}

/** Consecutive calls that may overlap, or one that may not. */
function groupsOf(calls: readonly PreparedCall[], ports: RunPorts): PreparedCall[][] {
  const groups: PreparedCall[][] = [];
  let isOpen = false;
  for (const call of calls) {
    const mayJoin = mayOverlap(call, ports);
    if (mayJoin && isOpen) groups.at(-1)?.push(call);
    else groups.push([call]);
    isOpen = mayJoin;
  }
  return groups;
}

/** What its source says of a tool counts only where that source is trusted. A call that is not made disturbs nobody. */
function mayOverlap(call: PreparedCall, ports: RunPorts): boolean {
  const { plan } = PreparedCall.open(call);
  if (plan.kind === "ended") return true;
  if (plan.kind !== "call") return false;
  const { tool, raw } = plan.entry;
  const trustsAnnotations = ports.trustsAnnotations?.(tool) ?? false;
  return hintsOf({ origin: tool.origin, annotations: raw.annotations, trustsAnnotations }).readOnly;
}

/** Each source gets as many at once as it takes: one more would wait in its line, and may be turned away there. */
async function runTogether(
  calls: readonly PreparedCall[],
  run: (call: PreparedCall) => Promise<Presented>,
): Promise<Presented[]> {
  const results: Presented[] = [];
  const lane = async (waiting: Iterable<readonly [number, PreparedCall]>) => {
    for (const [index, call] of waiting) results[index] = await run(call);
  };
  const lanes: Promise<void>[] = [];
  const queues = new Map<ToolSource | undefined, [number, PreparedCall][]>();
  for (const [index, call] of calls.entries()) {
    const source = PreparedCall.open(call).entry?.source;
    queues.set(source, [...(queues.get(source) ?? []), [index, call]]);
  }
  for (const [source, queue] of queues) {
    const width = Math.min(queue.length, Math.max(1, source?.callsAtOnce ?? TOOL_LIMITS.callsInParallel));
    const waiting = queue.values(); // shared: whichever lane is free takes the next
    for (let index = 0; index < width; index++) lanes.push(lane(waiting));
  }
  await Promise.all(lanes);
  return results;
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
  /** The definition changed since it was approved, and why that matters: a person has to see it. */
  readonly held?: string | undefined;
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
