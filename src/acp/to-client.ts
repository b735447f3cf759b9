// Session events -> ACP `session/update`s. Events a client has no use for give none.
import type * as acp from "@agentclientprotocol/sdk";
import type { AvailableCommand, PromptResponse, SessionUpdate } from "@agentclientprotocol/sdk";
import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { hashJson } from "../base/json/json.js";
import { text } from "../base/text/content.js";
import { markForeign } from "../base/text/marking.js";
import type { CompactionEvent, TurnEvent } from "../engine/index.js";
import type { CommandInfo, ServerStatus, Session, SessionEvent } from "../session/index.js";
import type { ClientAbilities } from "./capabilities.js";
import { statusMeta } from "./mcp-status.js";
import { endUpdate, looksOf, type Presentation, progressUpdate, startUpdate, toolContent } from "./tool-call.js";

export function toUpdates(event: SessionEvent, client: ClientAbilities): acp.SessionUpdate[] {
  switch (event.kind) {
    case "user": // the client sent it
    case "turn_ended": // the answer to the prompt says it
      return [];
    case "turn":
      return turnUpdates(event.event, {
        client,
        presentation: event.presentation,
        costUsd: event.sessionUsage?.costUsd,
      });
    case "plan":
      return [{ sessionUpdate: "plan", entries: event.entries.map((entry) => ({ ...entry })) }];
    case "server":
      return serverUpdates(event.status, client);
    case "settings": // only changes are sent, by `EmittedSettings`
      return [];
    case "commands":
      return [commandsUpdate(event.commands)];
    case "title":
      return [{ sessionUpdate: "session_info_update", title: event.title }];
    case "notice":
      return noticeUpdates(event.level, event.text, client);
    default:
      return unreachable(event);
  }
}

interface Circumstances {
  readonly client: ClientAbilities;
  readonly presentation: Presentation | undefined;
  /** Of the whole session, with an event about usage. */
  readonly costUsd?: number | undefined;
}

function turnUpdates(event: TurnEvent, circumstances: Circumstances): acp.SessionUpdate[] {
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

/** Where notices are not shown, what is wrong still is: as a call that failed before it could begin. */
function noticeUpdates(
  severity: "info" | "warning" | "error",
  words: string,
  client: ClientAbilities,
): acp.SessionUpdate[] {
  const title = markForeign(words);
  if (client.notices) return [{ sessionUpdate: "notice", severity, title }];
  if (severity === "info") return [];
  const toolCallId = `notice-${hashJson(title).slice(0, 12)}`;
  const content = toolContent([text(title)]);
  return [{ sessionUpdate: "tool_call", toolCallId, title: "Configuration", kind: "other", status: "failed", content }];
}

/** A failed server is never silent: as a notice where the client shows them, else as a failed call in the conversation. */
function serverUpdates(status: ServerStatus, client: ClientAbilities): acp.SessionUpdate[] {
  const _meta = statusMeta(status);
  return aboutServer(markedStatus(status), client).map((update) => ({ ...update, _meta }));
}

/** A server's own words among them. */
function markedStatus(status: ServerStatus): ServerStatus {
  const { name, error, hint, note } = status;
  return {
    ...status,
    name: markForeign(name),
    ...defined({
      error: error === undefined ? undefined : markForeign(error),
      hint: hint === undefined ? undefined : markForeign(hint),
      note: note === undefined ? undefined : markForeign(note),
    }),
  };
}

function aboutServer(status: ServerStatus, client: ClientAbilities): acp.SessionUpdate[] {
  const failure = `MCP server "${status.name}" failed: ${status.error ?? "unknown cause"}`;
  if (status.state === "failed" && !client.notices) {
    const content = toolContent([text(status.hint === undefined ? failure : `${failure}\n${status.hint}`)]);
    const toolCallId = `server-${status.name}`;
    return [
      {
        sessionUpdate: "tool_call",
        toolCallId,
        title: `${status.name}: not connected`,
        kind: "other",
        status: "failed",
        content,
      },
    ];
  }
  if (!client.notices) return [];
  switch (status.state) {
    case "failed":
      return [{ sessionUpdate: "notice", severity: "error", title: failure, description: status.hint ?? null }];
    case "ready": {
      const tools = status.toolCount === 1 ? "1 tool" : `${status.toolCount} tools`;
      const note = status.note === undefined ? {} : { description: status.note };
      const title = `MCP server "${status.name}" is ready: ${tools}`;
      return [{ sessionUpdate: "notice", severity: "info", title, ...note }];
    }
    case "idle": {
      const tools = status.toolCount === 1 ? "1 tool" : `${status.toolCount} tools`;
      const title = `MCP server "${status.name}" starts when it is first used: ${tools}`;
      return [{ sessionUpdate: "notice", severity: "info", title }];
    }
    case "reconnecting": {
      const title = `MCP server "${status.name}" broke off and is being restarted: ${status.error ?? "unknown cause"}`;
      return [{ sessionUpdate: "notice", severity: "warning", title, description: status.hint ?? null }];
    }
    case "closed":
      return [{ sessionUpdate: "notice", severity: "info", title: `MCP server "${status.name}" is no longer used` }];
    case "connecting":
      return [];
    default:
      return unreachable(status.state);
  }
}

function commandsUpdate(commands: readonly CommandInfo[]): SessionUpdate {
  return {
    sessionUpdate: "available_commands_update",
    availableCommands: commands.map(({ name, description, input }): AvailableCommand => {
      return { name, description, ...defined({ input: input === undefined ? undefined : { hint: input } }) };
    }),
  };
}

export interface TokenUsage {
  totalTokens: number;
  inputTokens: number;
  outputTokens: number;
  cachedReadTokens?: number;
  cachedWriteTokens?: number;
}

/** Of the whole session, as the protocol has it. */
export type PromptAnswer = PromptResponse & { usage: TokenUsage };

/** There the kinds of tokens are apart from each other, and the total is their sum; here input means all of it. */
export function usageOf(usage: Session["usage"]): TokenUsage {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = usage;
  const fresh = Math.max(0, inputTokens - (cachedInputTokens ?? 0) - (cacheWriteTokens ?? 0));
  return {
    totalTokens: fresh + (cachedInputTokens ?? 0) + (cacheWriteTokens ?? 0) + outputTokens,
    inputTokens: fresh,
    outputTokens,
    ...defined({ cachedReadTokens: cachedInputTokens, cachedWriteTokens: cacheWriteTokens }),
  };
}
