// One call, from the name a model wrote to exactly one outcome: look up, read arguments, approve, journal, call.
import { text } from "../base/content.js";
import { messageOf } from "../base/errors.js";
import type { JsonObject } from "../base/json.js";
import { readArguments } from "./arguments.js";
import type { Catalog, CatalogEntry } from "./catalog.js";
import type { CatalogTool, ToolCall, ToolOutcome, ToolProgress } from "./tool.js";

export type Approval =
  | { readonly kind: "allowed" }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "cancelled" };

/** Written ahead of the call: after a crash an intent without an outcome means "outcome unknown". */
export interface CallJournal {
  intent(call: { toolCallId: string; tool: CatalogTool; arguments: JsonObject }): void;
}

export interface RunPorts {
  approve(
    request: { toolCallId: string; tool: CatalogTool; arguments: JsonObject },
    signal: AbortSignal,
  ): Promise<Approval>;
  readonly journal: CallJournal;
  /** Approved and about to be sent. */
  onRunning(): void;
  onProgress(progress: ToolProgress): void;
}

export interface PreparedCall {
  readonly call: ToolCall;
  readonly entry?: CatalogEntry;
  /** What could be read of the arguments, for people; empty when they could not be read. */
  readonly arguments: JsonObject;
  /** Set when the call cannot be made: the outcome is already known. */
  readonly outcome?: ToolOutcome;
}

export function prepareCall(call: ToolCall, catalog: Catalog): PreparedCall {
  const entry = catalog.find(call.name);
  if (!entry) {
    const reason = `There is no tool named "${call.name}". Use one of the tools you were given, by its exact name.`;
    return { call, arguments: {}, outcome: { kind: "failed", content: [text(reason)] } };
  }
  const read = readArguments(call.argumentsJson, entry.tool.definition);
  if (!read.ok) {
    const reason = `The call of ${call.name} was not made: ${read.reason}.`;
    return { call, entry, arguments: {}, outcome: { kind: "failed", content: [text(reason)] } };
  }
  return { call, entry, arguments: read.arguments };
}

/** Rejects never: a throwing source is a bug, and still ends as an outcome. */
export async function runCall(prepared: PreparedCall, ports: RunPorts, signal: AbortSignal): Promise<ToolOutcome> {
  if (prepared.outcome) return prepared.outcome;
  const { entry, call } = prepared;
  if (!entry) return { kind: "failed", content: [text("The call has no tool.")] };
  if (signal.aborted) return { kind: "cancelled" };
  const request = { toolCallId: call.toolCallId, tool: entry.tool, arguments: prepared.arguments };
  try {
    const approval = await ports.approve(request, signal);
    if (approval.kind === "refused") return { kind: "refused", reason: approval.reason };
    if (approval.kind === "cancelled" || signal.aborted) return { kind: "cancelled" };
    ports.journal.intent(request);
    ports.onRunning();
    return await entry.source.call({
      tool: entry.tool.definition.name,
      arguments: prepared.arguments,
      signal,
      onProgress: (progress) => ports.onProgress(progress),
    });
  } catch (error) {
    if (signal.aborted) return { kind: "cancelled" };
    return { kind: "failed", content: [text(`${entry.tool.label} failed: ${messageOf(error)}`)] };
  }
}
