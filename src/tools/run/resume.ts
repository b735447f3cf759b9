// A call that went on at its source while nobody waited for it, to its one outcome and its one result.

import { messageOf } from "../../base/errors.js";
import { text } from "../../base/text/content.js";
import { type Presented, presentOutcome } from "../result/present.js";
import type { LastingCall, SourceCall, ToolSource } from "../source.js";
import type { ToolOutcome } from "../tool.js";
import type { RunPorts } from "./ports.js";

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
  const outcome = await outcomeOf(source, call, lasting);
  try {
    return await presentOutcome(outcome, context);
  } catch (error) {
    const reason = `it ended as ${outcome.kind}, and what it answered could not be prepared: ${messageOf(error)}`;
    return await presentOutcome({ kind: "unknown", reason }, context);
  }
}

async function outcomeOf(
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
