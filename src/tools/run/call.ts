// One prepared call to exactly one outcome: fill in, validate, approve, journal, send.

import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { type ContentBlock, text } from "../../base/text/content.js";
import type { CatalogEntry } from "../catalog/offer.js";
import { TOOL_LIMITS } from "../limits.js";
import { type Presented, presentOutcome } from "../result/present.js";
import type { CatalogTool, ToolOutcome, ToolProgress } from "../tool.js";
import { finishArguments } from "./finish-arguments.js";
import { forPeople } from "./for-people.js";
import type { CallEvent, CallRequest, RunPorts } from "./ports.js";
import { notMade, type Preparation, PreparedCall } from "./prepare.js";
import { inToolSpan } from "./tool-span.js";
import { ABORTED, untilAborted } from "./until-aborted.js";

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
