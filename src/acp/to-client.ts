// Session events -> ACP `session/update`s. Events a client has no use for give none.
import type * as acp from "@agentclientprotocol/sdk";
import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { hashJson } from "../base/json/json.js";
import { text } from "../base/text/content.js";
import { markForeign } from "../base/text/marking.js";
import type { CompactionEvent, TurnEvent } from "../engine/index.js";
import type { ServerStatus, SessionEvent } from "../session/index.js";
import type { ClientAbilities } from "./capabilities.js";
import { sentMeta } from "./meta.js";
import { endUpdate, looksOf, progressUpdate, startUpdate, toolContent } from "./tool-call.js";

export function toUpdates(event: SessionEvent, client: ClientAbilities): acp.SessionUpdate[] {
  switch (event.kind) {
    case "user": // the client sent it
    case "turn_ended": // the answer to the prompt says it
      return [];
    case "turn":
      return turnUpdates(event, client);
    case "plan":
      return [{ sessionUpdate: "plan", entries: event.entries.map((entry) => ({ ...entry })) }];
    case "server":
      return serverUpdates(event.status, client).map((update) => {
        return { ...update, _meta: sentMeta({ mcp: { servers: [event.status] } }) };
      });
    case "settings": // only changes are sent, by `EmittedSettings`
      return [];
    case "commands":
      return [
        {
          sessionUpdate: "available_commands_update",
          availableCommands: event.commands.map(({ name, description, input }) => {
            return { name, description, ...defined({ input: input === undefined ? undefined : { hint: input } }) };
          }),
        },
      ];
    case "title":
      return [{ sessionUpdate: "session_info_update", title: event.title }];
    case "notice":
      return noticeUpdates(event.level, event.text, client);
    default:
      return unreachable(event);
  }
}

function turnUpdates(
  { event, presentation, sessionUsage }: Extract<SessionEvent, { kind: "turn" }>,
  client: ClientAbilities,
): acp.SessionUpdate[] {
  switch (event.kind) {
    case "text":
      return [{ sessionUpdate: "agent_message_chunk", content: text(event.text) }];
    case "thought":
      return [{ sessionUpdate: "agent_thought_chunk", content: text(event.text) }];
    case "call_arguments":
      return event.offset === 0 ? [announced(event)] : [];
    case "call_dropped": {
      const content = toolContent([text(event.reason)]);
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
      return noticeUpdates(
        "warning",
        `${event.reason} (attempt ${event.attempt} of ${event.attempts}; it is tried again)`,
        client,
      );
    case "stopped":
      return [{ sessionUpdate: "agent_message_chunk", content: text(`\n\n[${event.reason}]`) }];
    case "compaction":
      return compactionUpdates(event, client);
    case "usage":
      return usageUpdates(event, sessionUsage?.costUsd);
    case "call_awaiting_approval": // the question itself shows it
      return [];
    default:
      return unreachable(event);
  }
}

/** The card appears as soon as the model begins to write the call; its arguments follow when they are whole. */
function announced({ toolCallId, subject }: Extract<TurnEvent, { kind: "call_arguments" }>): acp.SessionUpdate {
  const { title, kind } = looksOf(subject, undefined);
  return { sessionUpdate: "tool_call", toolCallId, title, kind, status: "pending" };
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

const COMPACTION_STATUS = {
  started: "in_progress",
  done: "completed",
  failed: "failed",
  cancelled: "cancelled",
} as const;

function compactionUpdates(event: CompactionEvent, client: ClientAbilities): acp.SessionUpdate[] {
  const { compactionId, phase } = event;
  if (!client.compaction) return noticeUpdates("info", compactionText(event), client);
  const summary = phase === "done" && event.summary !== "" ? [text(event.summary)] : undefined;
  const error = "reason" in event ? event.reason : undefined;
  const status = COMPACTION_STATUS[phase];
  return [{ sessionUpdate: "compaction_update", compactionId, status, ...defined({ summary, error }) }];
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

/** Where notices are not shown, what is wrong still is: as a call that failed before it could begin. */
function noticeUpdates(
  severity: "info" | "warning" | "error",
  words: string,
  client: ClientAbilities,
): acp.SessionUpdate[] {
  const title = markForeign(words);
  if (client.notices) return [{ sessionUpdate: "notice", severity, title }];
  if (severity === "info") return [];
  return [failedCall(`notice-${hashJson(title).slice(0, 12)}`, "Configuration", title)];
}

function failedCall(toolCallId: string, title: string, words: string): acp.SessionUpdate {
  const content = toolContent([text(words)]);
  return { sessionUpdate: "tool_call", toolCallId, title, kind: "other", status: "failed", content };
}

/** A failed server is never silent: as a notice where the client shows them, else as a failed call in the conversation. */
function serverUpdates(status: ServerStatus, client: ClientAbilities): acp.SessionUpdate[] {
  const { state, toolCount } = status;
  // A server's own words are among them.
  const [name, error] = [markForeign(status.name), markForeign(status.error ?? "unknown cause")];
  const [hint, note] = [status.hint, status.note].map((words) => (words === undefined ? words : markForeign(words)));
  const subject = `MCP server "${name}"`;
  const failure = `${subject} failed: ${error}`;
  if (!client.notices) {
    const words = hint === undefined ? failure : `${failure}\n${hint}`;
    return state === "failed" ? [failedCall(`server-${name}`, `${name}: not connected`, words)] : [];
  }
  const tools = toolCount === 1 ? "1 tool" : `${toolCount} tools`;
  const notice = (severity: "info" | "warning" | "error", title: string, description?: string | null) => {
    return [{ sessionUpdate: "notice", severity, title, ...defined({ description }) } as const];
  };
  switch (state) {
    case "failed":
      return notice("error", failure, hint ?? null);
    case "ready":
      return notice("info", `${subject} is ready: ${tools}`, note);
    case "idle":
      return notice("info", `${subject} starts when it is first used: ${tools}`);
    case "reconnecting":
      return notice("warning", `${subject} broke off and is being restarted: ${error}`, hint ?? null);
    case "closed":
      return notice("info", `${subject} is no longer used`);
    case "connecting":
      return [];
    default:
      return unreachable(state);
  }
}
