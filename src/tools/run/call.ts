// One prepared call to exactly one outcome: fill in, validate, approve, journal, send.
import { abortListeners, contained } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { inSpan } from "../../base/ports/trace.js";
import type { Timer, World } from "../../base/ports/world.js";
import { checkAgainstSchema, withoutMisfitNulls } from "../../base/schema/schema-check.js";
import { type CatalogEntry, callArguments } from "../catalog/offer.js";
import { TOOL_LIMITS } from "../limits.js";
import { hintsOf } from "../policy/decide.js";
import type { ModelMedia } from "../result/blocks.js";
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
import { notMade, type Preparation, PreparedCall, preparedWhenStarted, type SentBefore } from "./prepare.js";

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly onEvent: (event: CallEvent) => void;
}

const CANCELLED: ToolOutcome = { kind: "cancelled" };

/**
 * Never rejects: an error is a bug, and still ends as an outcome. Once the signal fires it ends within a bound, also when
 * the source ignores the signal. The last event is `ended`, which comes once.
 */
export async function runCall(call: PreparedCall, ports: RunPorts, options: RunOptions): Promise<Presented> {
  const { preparation, outcome, sentFor: tookMs } = await runToOutcome(call, ports, options);
  const tool = preparation?.entry?.tool;
  const source = tookMs === undefined ? undefined : tool;
  const label = preparation?.plan.kind === "lasting" ? preparation.plan.lasting.label : source?.label;
  const presented = await present(outcome, ports, label ?? "tenon");
  options.onEvent({ kind: "ended", call, outcome: presented.outcome, elapsedMs: tookMs ?? 0 });
  if (outcome.kind === "done" && tool)
    contained(ports.world.log, "noting the use of a tool", () => ports.onUsed?.(tool));
  return { model: presented.model, outcome: presented.outcome, raw: outcome };
}

/** As `runCall`, for callers that are no model: the outcome is as the source gave it, and no event ends the call. */
export async function runDirect(call: PreparedCall, ports: DirectPorts, options: RunOptions): Promise<ToolOutcome> {
  return (await runToOutcome(call, ports, options)).outcome;
}

interface Ended {
  /** Undefined when it was cancelled before its server had started. */
  readonly preparation: Preparation | undefined;
  readonly outcome: ToolOutcome;
  /** Milliseconds since it was sent; undefined if it never was. */
  readonly sentFor: number | undefined;
}

async function runToOutcome(call: PreparedCall, ports: DirectPorts, options: RunOptions): Promise<Ended> {
  const { world } = ports;
  let sentMs: number | undefined;
  let isOver = false;
  const elapsedMs = () => (sentMs === undefined ? 0 : world.monotonicMs() - sentMs);
  const emit = (event: CallEvent) => {
    if (!isOver) options.onEvent(event);
  };
  const steps: Steps = {
    signal: options.signal,
    onAsking: () => emit({ kind: "awaiting_approval", call }),
    onSending: () => {
      sentMs = world.monotonicMs();
      emit({ kind: "running", call });
    },
    onProgress: (progress) => emit({ kind: "progress", call, progress, elapsedMs: elapsedMs() }),
  };
  const preparation = await whenStarted(PreparedCall.open(call), steps);
  const outcome = preparation ? await outcomeOf(preparation, ports, steps) : CANCELLED;
  isOver = true;
  return { preparation, outcome, sentFor: sentMs === undefined ? undefined : elapsedMs() };
}

/** Never rejects. */
async function present(
  outcome: ToolOutcome,
  { results: store, media }: Pick<RunPorts, "results" | "media">,
  origin: string,
): Promise<Presented> {
  const context = { store, media, origin };
  try {
    return await presentOutcome(outcome, context);
  } catch (error) {
    const reason = `it ended as ${outcome.kind}, and what it answered could not be prepared: ${messageOf(error)}`;
    return await presentOutcome({ kind: "unknown", reason }, context);
  }
}

interface Steps {
  readonly signal: AbortSignal;
  readonly onAsking: () => void;
  readonly onSending: () => void;
  readonly onProgress: (progress: ToolProgress) => void;
}

/** Waits where the name may be a tool's of a server that still starts. Undefined when cancelled. Never rejects. */
async function whenStarted(preparation: Preparation, { signal, onProgress }: Steps): Promise<Preparation | undefined> {
  const { plan, call, name } = preparation;
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

async function outcomeOf(call: Preparation, ports: DirectPorts, steps: Steps): Promise<ToolOutcome> {
  const { plan, name } = call;
  if (plan.kind === "ended") return plan.outcome;
  if (plan.kind === "starting") return failed(notMade(name, "its server does not start"));
  if (steps.signal.aborted) return CANCELLED;
  if (plan.kind === "lasting") return await resumed(call, plan.lasting, ports, steps);
  try {
    const clearance = await cleared(call, plan.entry, ports, steps);
    if ("kind" in clearance) return clearance;
    if (steps.signal.aborted) return CANCELLED;
    const written = ports.journal.intent(clearance.request);
    if (written && (await untilAborted(written, steps.signal)) === ABORTED) return CANCELLED;
    return await inToolSpan(clearance.request, ports, () => sent(plan.entry, clearance, ports, steps));
  } catch (error) {
    return steps.signal.aborted ? CANCELLED : failed(notMade(name, messageOf(error)));
  }
}

interface Cleared {
  readonly request: CallRequest;
  readonly expected?: string | undefined;
}

/** The call as it may be sent, or the outcome that says why it may not. */
async function cleared(
  { call: { toolCallId }, name, given }: Preparation,
  entry: CatalogEntry,
  ports: DirectPorts,
  { signal, onAsking }: Steps,
): Promise<Cleared | ToolOutcome> {
  const finished = await untilAborted(finishArguments(entry, given, ports), signal);
  if (finished === ABORTED) return CANCELLED;
  if (!finished.ok) return failed(notMade(name, finished.reason), "tool.invalid_arguments");
  const { arguments: complete, inserted } = finished;
  const request: CallRequest = { toolCallId, tool: entry.tool, arguments: complete, inserted };
  const shown = inserted.length > 0 ? forPeople(complete) : complete;
  const { tool, raw, held } = entry;
  const asked = { toolCallId, tool, arguments: complete, inserted, raw, shown, held, onAsking };
  const approval = await untilAborted(ports.approve(asked, signal), signal);
  if (approval === ABORTED || approval.kind === "cancelled") return CANCELLED;
  return approval.kind === "refused" ? approval : { request, expected: approval.expected };
}

/** Never rejects, and calls nothing again. */
async function resumed(
  { call: { toolCallId }, name }: Preparation,
  lasting: SentBefore,
  { world }: DirectPorts,
  { signal, onSending, onProgress }: Steps,
): Promise<ToolOutcome> {
  try {
    onSending();
    const outcome = await untilAborted(lasting.resume({ toolCallId, signal, onProgress }), signal, world);
    return outcome === ABORTED ? CANCELLED : outcome;
  } catch (error) {
    return signal.aborted ? CANCELLED : { kind: "unknown", reason: `asking for ${name} failed: ${messageOf(error)}` };
  }
}

/** From here on the source may have acted, whatever happens. */
async function sent(
  { source, raw, tool }: CatalogEntry,
  { request, expected }: Cleared,
  ports: DirectPorts,
  { signal, onSending, onProgress }: Steps,
): Promise<ToolOutcome> {
  let kept: Promise<void> | undefined;
  try {
    onSending();
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
    const answering = source.call(expected === undefined ? call : { ...call, expected });
    const outcome = await untilAborted(Promise.resolve(answering), signal, ports.world);
    await kept;
    if (outcome === ABORTED) return CANCELLED;
    return isOutcome(outcome) ? outcome : failed(`${tool.label} failed: it answered with no outcome.`);
  } catch (error) {
    return signal.aborted ? CANCELLED : failed(`${tool.label} failed: ${messageOf(error)}`);
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
async function finishArguments(
  entry: CatalogEntry,
  given: JsonObject,
  { world, results }: Pick<RunPorts, "world" | "results">,
): Promise<Substituted> {
  const filled = await substituteResults(entry.tool.toOwn?.(given) ?? given, results);
  if (!filled.ok) return filled;
  const { inputSchema } = entry.raw;
  let complete = callArguments(entry, filled.arguments);
  let fit = await checkAgainstSchema(inputSchema, complete, world);
  if (fit.kind === "misfit") {
    complete = callArguments(entry, await withoutMisfitNulls(inputSchema, filled.arguments, world));
    fit = await checkAgainstSchema(inputSchema, complete, world);
  }
  if (fit.kind !== "misfit") return { ok: true, arguments: complete, inserted: filled.inserted };
  const problems = `the arguments do not fit its schema: ${fit.problems.join("; ")}`;
  if (!entry.isChanged) return { ok: false, reason: problems };
  // The list a model is shown stays as it was, so the error carries the new schema.
  const json = JSON.stringify(entry.tool.definition.inputSchema);
  const schema = json.length <= TOOL_LIMITS.changedSchemaMaxChars ? `is now ${json}` : "has to be looked up anew";
  return { ok: false, reason: `${problems}. The tool has changed since you were given it, and its schema ${schema}` };
}

/**
 * Arguments as they are shown to the person who is asked. Long texts are cut and say how long they are; values that lie too
 * deep or come after too many others are named, not shown.
 */
export function forPeople(given: JsonObject): JsonObject {
  const { maxChars, maxDepth, textChars } = LIMITS.shownArguments;
  let charsLeft: number = maxChars;
  const shorten = (value: JsonValue, depth: number): JsonValue => {
    if (typeof value === "string") {
      const room = Math.max(0, Math.min(textChars, charsLeft));
      charsLeft -= Math.min(value.length, room) + 2;
      return value.length <= room ? value : `${value.slice(0, room)}… (${value.length} characters in all)`;
    }
    charsLeft -= 8;
    if (typeof value !== "object" || value === null) return value;
    if (depth >= maxDepth) return "… (nested deeper than is shown)";
    const isObject = isJsonObject(value);
    const entries = Object.entries(value);
    const shown: [string, JsonValue][] = [];
    for (const [name, field] of entries) {
      const left = entries.length - shown.length;
      if (charsLeft <= 0) {
        shown.push(["…", isObject ? `${left} more` : `… (${left} more)`]);
        break;
      }
      if (isObject) charsLeft -= name.length;
      shown.push([name, shorten(field ?? null, depth + 1)]);
    }
    return isObject ? Object.fromEntries(shown) : shown.map(([, item]) => item);
  };
  const shown = shorten(given, 0);
  return isJsonObject(shown) ? shown : {};
}

/** The span of one tool call by the semantic conventions for GenAI. The tool's source adds its own attributes. */
async function inToolSpan(
  { toolCallId, tool }: CallRequest,
  { world }: Pick<RunPorts, "world">,
  run: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const { telemetry } = world;
  if (!telemetry?.isActive) return await run();
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool.id,
    "gen_ai.tool.call.id": toolCallId,
    "gen_ai.tool.type": "function",
    "tenon.tool.source": tool.source,
  };
  return await inSpan(telemetry, { name: `execute_tool ${tool.id}`, kind: "internal", attributes }, async (span) => {
    const outcome = await run();
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
    let grace: Timer | undefined;
    const giveUp = () => {
      if (!world) return resolve(ABORTED);
      grace = world.after(TOOL_LIMITS.cancelGraceMs, () => resolve(ABORTED));
    };
    const listeners = abortListeners(signal);
    const leave = () => {
      listeners.delete(giveUp);
      grace?.clear();
    };
    promise
      .then((value) => {
        leave();
        resolve(value);
      })
      .catch((error: unknown) => {
        leave();
        reject(error);
      });
    if (signal.aborted) giveUp();
    else listeners.add(giveUp);
  });
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
  return await present(outcome, ports, label);
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
  approve(request: ApprovalRequest, signal: AbortSignal): Promise<Approval>;
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
