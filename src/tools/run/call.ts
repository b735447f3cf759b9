// One prepared call to exactly one outcome: fill in, validate, approve, journal, send.

import { abortListeners } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { inSpan } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import { type ContentBlock, text } from "../../base/text/content.js";
import { checkAgainstSchema } from "../../mcp/index.js";
import { type CatalogEntry, callArguments } from "../catalog/offer.js";
import { TOOL_LIMITS } from "../limits.js";
import { type Presented, presentOutcome } from "../result/present.js";
import { type Inserted, substituteResults } from "../result/substitute.js";
import type { CatalogTool, LastingCall, SourceCall, ToolOutcome, ToolProgress, ToolSource } from "../tool.js";
import type { CallEvent, CallRequest, RunPorts } from "./ports.js";
import { notMade, type Preparation, PreparedCall } from "./prepare.js";

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly onEvent: (event: CallEvent) => void;
}

const CANCELLED: ToolOutcome = { kind: "cancelled" };

/**
 * Rejects never: whatever throws is a bug, and still ends as an outcome. Once the signal fires it ends within a bound,
 * also when the source does not heed the signal. The last event is `ended`, which comes once.
 */
export async function runCall(call: PreparedCall, ports: RunPorts, options: RunOptions): Promise<Presented> {
  const { world } = ports;
  let sentMs: number | undefined;
  let isOver = false;
  const elapsedMs = () => (sentMs === undefined ? 0 : world.monotonicMs() - sentMs);
  const tell = (event: CallEvent) => {
    if (!isOver) options.onEvent(event);
  };
  const outcome = await outcomeOf(PreparedCall.open(call), ports, {
    signal: options.signal,
    onAsking: () => tell({ kind: "awaiting_approval", call }),
    onSending: () => {
      sentMs = world.monotonicMs();
      tell({ kind: "running", call });
    },
    onProgress: (progress) => tell({ kind: "progress", call, progress, elapsedMs: elapsedMs() }),
  });
  isOver = true;
  const tookMs = elapsedMs();
  const presented = await present(outcome, ports, sentMs === undefined ? undefined : call.tool);
  options.onEvent({ kind: "ended", call, outcome: presented.outcome, elapsedMs: tookMs });
  if (outcome.kind === "done" && call.tool) noteUse(call.tool, ports);
  return presented;
}

/** Without a source these are words of our own, and come from nobody. */
async function present(outcome: ToolOutcome, { results, media }: RunPorts, source?: CatalogTool): Promise<Presented> {
  const context = { store: results, media, origin: source?.label ?? "tenon" };
  try {
    const { model, outcome: shown } = await presentOutcome(outcome, context);
    const { origin: _origin, ...own } = model;
    return { model: source ? model : own, outcome: shown };
  } catch (error) {
    const reason = `it ended as ${outcome.kind}, and what it answered could not be prepared: ${messageOf(error)}`;
    return await presentOutcome({ kind: "unknown", reason }, context);
  }
}

function noteUse(tool: CatalogTool, ports: RunPorts): void {
  try {
    ports.onUsed?.(tool);
  } catch (error) {
    ports.world.log.error("tool.use_not_noted", { tool: tool.id, error: messageOf(error) });
  }
}

interface Steps {
  readonly signal: AbortSignal;
  onAsking(): void;
  onSending(): void;
  onProgress(progress: ToolProgress): void;
}

async function outcomeOf(preparation: Preparation, ports: RunPorts, steps: Steps): Promise<ToolOutcome> {
  const { plan, name } = preparation;
  if (plan.kind === "ended") return plan.outcome;
  if (steps.signal.aborted) return CANCELLED;
  try {
    const clearance = await cleared(preparation, plan.entry, { ports, steps });
    if ("kind" in clearance) return clearance;
    if (steps.signal.aborted) return CANCELLED;
    const { request } = clearance;
    ports.journal.intent(request);
    return await inToolSpan(request, ports, () => sent(plan.entry, clearance, { ports, steps }));
  } catch (error) {
    return steps.signal.aborted ? CANCELLED : failed(notMade(name, messageOf(error)));
  }
}

interface Way {
  readonly ports: RunPorts;
  readonly steps: Steps;
}

interface Cleared {
  readonly request: CallRequest;
  readonly expected?: string | undefined;
}

/** The call as it may be sent, or why it may not. */
async function cleared(
  { call, name, given }: Preparation,
  entry: CatalogEntry,
  { ports, steps }: Way,
): Promise<Cleared | ToolOutcome> {
  const finished = await untilAborted(finishArguments(entry, given, ports), steps.signal);
  if (finished === ABORTED) return CANCELLED;
  if (!finished.ok) return failed(notMade(name, finished.reason));
  const { arguments: complete, inserted } = finished;
  const request: CallRequest = { toolCallId: call.toolCallId, tool: entry.tool, arguments: complete, inserted };
  const asked = {
    ...request,
    raw: entry.raw,
    shown: inserted.length > 0 ? forPeople(complete) : complete,
    ...defined({ held: entry.held }),
    onAsking: () => steps.onAsking(),
  };
  const approval = await untilAborted(ports.approve(asked, steps.signal), steps.signal);
  if (approval === ABORTED || approval.kind === "cancelled") return CANCELLED;
  if (approval.kind === "refused") return { kind: "refused", reason: approval.reason };
  return { request, expected: approval.expected };
}

/** From here on the source may have acted, whatever happens. */
async function sent(entry: CatalogEntry, { request, expected }: Cleared, { ports, steps }: Way): Promise<ToolOutcome> {
  const { signal } = steps;
  try {
    steps.onSending();
    const answering = entry.source.call({
      toolCallId: request.toolCallId,
      tool: entry.raw.name,
      arguments: request.arguments,
      signal,
      ...defined({ expected }),
      onProgress: (progress) => steps.onProgress(progress),
      onLasting: (lasting) => ports.journal.lasting?.(request, { ...lasting, tool: entry.raw.name }),
    });
    const grace = { world: ports.world, ms: TOOL_LIMITS.cancelGraceMs };
    const outcome = await untilAborted(Promise.resolve(answering), signal, grace);
    if (outcome === ABORTED) return CANCELLED;
    return isOutcome(outcome) ? outcome : failed(`${entry.tool.label} failed: it answered with no outcome.`);
  } catch (error) {
    return signal.aborted ? CANCELLED : failed(`${entry.tool.label} failed: ${messageOf(error)}`);
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

function failed(words: string): ToolOutcome {
  const content: readonly ContentBlock[] = [text(words)];
  return { kind: "failed", content };
}

// The arguments that are really sent: what the model gave, with kept results, pinned values and defaults put in, and checked.
export type FinishedArguments =
  | { readonly ok: true; readonly arguments: JsonObject; readonly inserted: readonly Inserted[] }
  /** In words for the model, without a full stop. */
  | { readonly ok: false; readonly reason: string };

/** Checked is what is sent, by the source's own schema: a model's view of it may be shaped or compiled for its provider. */
async function finishArguments(
  entry: CatalogEntry,
  given: JsonObject,
  { world, results }: Pick<RunPorts, "world" | "results">,
): Promise<FinishedArguments> {
  const filled = await substituteResults(entry.tool.toOwn?.(given) ?? given, results);
  if (!filled.ok) return filled;
  const complete = callArguments(entry, filled.arguments);
  const fit = await checkAgainstSchema(entry.raw.inputSchema, complete, world);
  if (fit.kind !== "misfit") return { ok: true, arguments: complete, inserted: filled.inserted };
  const problems = `the arguments do not fit its schema: ${fit.problems.join("; ")}`;
  return { ok: false, reason: entry.isChanged ? `${problems}. ${changed(entry)}` : problems };
}

/** The list a model is shown stays as it was, so this is where it hears of the new schema. */
function changed({ tool }: CatalogEntry): string {
  const schema: JsonValue = tool.definition.inputSchema;
  const json = JSON.stringify(schema);
  const told = json.length <= TOOL_LIMITS.changedSchemaMaxChars ? `is now ${json}` : "has to be looked up anew";
  return `The tool has changed since you were given it, and its schema ${told}`;
}

// Arguments as a person is shown them who is asked: complete in what matters, and never megabytes of it.
/** Long texts are cut and say how long they are; what lies too deep or comes after too many values is named, not shown. */
export function forPeople(given: JsonObject): JsonObject {
  const shown = new Shortener().shorten(given, 0);
  return isJsonObject(shown) ? shown : {};
}

class Shortener {
  #charsLeft: number = LIMITS.shownArguments.maxChars;

  shorten(value: JsonValue, depth: number): JsonValue {
    if (typeof value === "string") return this.#text(value);
    this.#charsLeft -= 8;
    if (typeof value !== "object" || value === null) return value;
    if (depth >= LIMITS.shownArguments.maxDepth) return "… (nested deeper than is shown)";
    return isJsonObject(value) ? this.#object(value, depth) : this.#list(value, depth);
  }

  #text(value: string): string {
    const room = Math.max(0, Math.min(LIMITS.shownArguments.textChars, this.#charsLeft));
    this.#charsLeft -= Math.min(value.length, room) + 2;
    return value.length <= room ? value : `${value.slice(0, room)}… (${value.length} characters in all)`;
  }

  #list(items: readonly JsonValue[], depth: number): JsonValue {
    const shown: JsonValue[] = [];
    for (const item of items) {
      if (this.#charsLeft <= 0) {
        shown.push(`… (${items.length - shown.length} more)`);
        break;
      }
      shown.push(this.shorten(item, depth + 1));
    }
    return shown;
  }

  #object(fields: JsonObject, depth: number): JsonObject {
    const shown: [string, JsonValue][] = [];
    const names = Object.keys(fields);
    for (const [index, name] of names.entries()) {
      if (this.#charsLeft <= 0) {
        shown.push(["…", `${names.length - index} more`]);
        break;
      }
      this.#charsLeft -= name.length;
      shown.push([name, this.shorten(fields[name] ?? null, depth + 1)]);
    }
    return Object.fromEntries(shown);
  }
}

// The span of one tool call, from being sent to its outcome, by the semantic conventions for GenAI.
/** What the tool's source adds to the span (that it is an MCP call, its error code) it adds by itself. */
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

// Waits for something no longer than a signal allows, whether or not the other side heeds the signal.
const ABORTED: unique symbol = Symbol("aborted");

/** How long the other side gets, once the signal has fired, to say itself how it ended. */
export interface AbortGrace {
  readonly world: Pick<World, "after">;
  readonly ms: number;
}

/**
 * What `promise` comes to, or `ABORTED` when the signal fires first and the grace, if any, passes too. What it comes to
 * later is nobody's concern any more, a rejection included.
 */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal, grace?: AbortGrace): Promise<T | typeof ABORTED> {
  return new Promise((resolve, reject) => {
    let clearGrace = () => {};
    const giveUp = () => {
      if (!grace) return resolve(ABORTED);
      const timer = grace.world.after(grace.ms, () => resolve(ABORTED));
      clearGrace = () => timer.clear();
    };
    const listeners = abortListeners(signal);
    const leave = () => {
      listeners.delete(giveUp);
      clearGrace();
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

// A call that went on at its source while nobody waited for it, to its one outcome and its one result.
export interface ResumedCall extends Pick<SourceCall, "toolCallId" | "tool" | "signal" | "onProgress"> {
  /** `server / tool`. */
  readonly label: string;
  readonly lasting: LastingCall;
}

/** Never rejects, and calls nothing again. */
export async function resumeCall(
  source: ToolSource,
  { label, lasting, ...call }: ResumedCall,
  { results, media }: Pick<RunPorts, "results" | "media">,
): Promise<Presented> {
  const context = { store: results, media, origin: label };
  const outcome = await resumedOutcome(source, call, lasting);
  try {
    return await presentOutcome(outcome, context);
  } catch (error) {
    const reason = `it ended as ${outcome.kind}, and what it answered could not be prepared: ${messageOf(error)}`;
    return await presentOutcome({ kind: "unknown", reason }, context);
  }
}

async function resumedOutcome(
  source: ToolSource,
  call: Parameters<NonNullable<ToolSource["resume"]>>[0],
  lasting: LastingCall,
): Promise<ToolOutcome> {
  if (!source.resume) return { kind: "unknown", reason: `"${source.name}" cannot be asked about calls of before` };
  try {
    return await source.resume(call, lasting);
  } catch (error) {
    return call.signal.aborted ? { kind: "cancelled" } : { kind: "failed", content: [text(messageOf(error))] };
  }
}
