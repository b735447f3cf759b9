// What happens within a turn, as updates.
import type * as acp from "@agentclientprotocol/sdk";
import { unreachable } from "../../base/id.js";
import { text } from "../../base/text/content.js";
import type { CompactionEvent, TurnEvent } from "../../engine/index.js";
import type { ClientAbilities } from "./abilities.js";
import { noticeUpdates } from "./notices.js";
import { endUpdate, looksOf, type Presentation, progressUpdate, startUpdate } from "./tool-call.js";

interface Circumstances {
  readonly client: ClientAbilities;
  readonly presentation: Presentation | undefined;
  /** Of the whole session, with an event about usage. */
  readonly costUsd?: number | undefined;
}

export function turnUpdates(event: TurnEvent, circumstances: Circumstances): acp.SessionUpdate[] {
  const { client, presentation } = circumstances;
  switch (event.kind) {
    case "text":
      return [{ sessionUpdate: "agent_message_chunk", content: text(event.text) }];
    case "thought":
      return [{ sessionUpdate: "agent_thought_chunk", content: text(event.text) }];
    case "call_arguments":
      return event.offset === 0 ? [announced(event.toolCallId, event.subject)] : [];
    case "call_dropped": {
      const content: acp.ToolCallContent[] = [{ type: "content", content: text(event.reason) }];
      return [{ sessionUpdate: "tool_call_update", toolCallId: event.toolCallId, status: "failed", content }];
    }
    case "call_started":
      return [startUpdate(event, presentation, event)];
    case "call_running":
      return [{ sessionUpdate: "tool_call_update", toolCallId: event.toolCallId, status: "in_progress" }];
    case "call_progress":
      return [progressUpdate(event.toolCallId, event.progress, presentation)];
    case "call_ended":
      return [endUpdate(event.toolCallId, event.outcome, presentation)];
    case "tool_quarantined":
      return noticeUpdates("warning", `The tool ${event.tool.label} is not offered: ${event.reason}`, client);
    case "waiting":
      return noticeUpdates("warning", waitingText(event), client);
    case "stopped":
      return [{ sessionUpdate: "agent_message_chunk", content: text(`\n\n[${event.reason}]`) }];
    case "compaction":
      return compactionUpdates(event, client);
    case "usage":
      return usageUpdates(event, circumstances.costUsd);
    case "call_awaiting_approval": // the question itself shows it
      return [];
    default:
      return unreachable(event);
  }
}

/** The card appears as soon as the model begins to write the call; its arguments follow when they are whole. */
function announced(toolCallId: string, subject: Parameters<typeof looksOf>[0]): acp.SessionUpdate {
  const { title, kind } = looksOf(subject, undefined);
  return { sessionUpdate: "tool_call", toolCallId, title, kind, status: "pending" };
}

function waitingText({ reason, attempt, attempts }: Extract<TurnEvent, { kind: "waiting" }>): string {
  return `${reason} (attempt ${attempt} of ${attempts}; it is tried again)`;
}

/** The cost is the session's, as the protocol has it. */
function usageUpdates(
  { turn, context }: Extract<TurnEvent, { kind: "usage" }>,
  costUsd = turn.costUsd,
): acp.SessionUpdate[] {
  if (!context) return [];
  const cost = costUsd === undefined ? {} : { cost: { amount: costUsd, currency: "USD" } };
  return [{ sessionUpdate: "usage_update", used: context.usedTokens, size: context.sizeTokens, ...cost }];
}

function compactionUpdates(event: CompactionEvent, client: ClientAbilities): acp.SessionUpdate[] {
  const { compactionId } = event;
  if (!client.compaction) return noticeUpdates("info", compactionText(event), client);
  switch (event.phase) {
    case "started":
      return [{ sessionUpdate: "compaction_update", compactionId, status: "in_progress" }];
    case "done": {
      const summary = event.summary === "" ? {} : { summary: [text(event.summary)] };
      return [{ sessionUpdate: "compaction_update", compactionId, status: "completed", ...summary }];
    }
    case "failed":
    case "cancelled":
      return [{ sessionUpdate: "compaction_update", compactionId, status: event.phase, error: event.reason }];
    default:
      return unreachable(event);
  }
}

function compactionText(event: CompactionEvent): string {
  switch (event.phase) {
    case "started":
      return `The conversation is getting long (${event.beforeTokens} tokens): it is being summarised.`;
    case "done":
      return `The conversation was summarised: ${event.beforeTokens} tokens became ${event.afterTokens}.`;
    case "failed":
    case "cancelled":
      return `The conversation was not summarised: ${event.reason}`;
    default:
      return unreachable(event);
  }
}
