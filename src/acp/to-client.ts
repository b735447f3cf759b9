// Session events -> ACP `session/update`s. Events a client has no use for give none.
import type * as acp from "@agentclientprotocol/sdk";
import { unreachable } from "../base/brand.js";
import { type ContentBlock, plainText, text } from "../base/content.js";
import { hashJson } from "../base/hash.js";
import type { TurnEvent } from "../engine/index.js";
import type { ServerStatus, SessionEvent } from "../session/index.js";
import type { CatalogTool, ToolOutcome, ToolProgress } from "../tools/index.js";

export interface ClientAbilities {
  /** The client shows `notice` updates. */
  readonly notices: boolean;
}

export function toUpdates(event: SessionEvent, client: ClientAbilities): acp.SessionUpdate[] {
  switch (event.kind) {
    case "user": // the client sent it
    case "turn_ended": // the answer to the prompt says it
      return [];
    case "turn":
      return turnUpdates(event.event);
    case "server":
      return serverUpdates(event.status, client);
    case "notice":
      return noticeUpdates(event.level, event.text, client);
    default:
      return unreachable(event);
  }
}

function turnUpdates(event: TurnEvent): acp.SessionUpdate[] {
  switch (event.kind) {
    case "text":
      return [{ sessionUpdate: "agent_message_chunk", content: text(event.text) }];
    case "thought":
      return [{ sessionUpdate: "agent_thought_chunk", content: text(event.text) }];
    case "call_started": {
      const { toolCallId, subject } = event;
      const title = subject.tool?.label ?? subject.name;
      const kind = subject.tool ? toolKind(subject.tool) : "other";
      return [{ sessionUpdate: "tool_call", toolCallId, title, kind, status: "pending", rawInput: event.arguments }];
    }
    case "call_running":
      return [{ sessionUpdate: "tool_call_update", toolCallId: event.toolCallId, status: "in_progress" }];
    case "call_progress":
      return [progressUpdate(event.toolCallId, event.progress)];
    case "call_ended":
      return [endUpdate(event.toolCallId, event.outcome)];
    case "usage":
      return [];
    default:
      return unreachable(event);
  }
}

/** What editors pick an icon by. A hint only: nothing is allowed or denied because of it. */
export function toolKind(tool: CatalogTool): acp.ToolKind {
  const { annotations, name } = tool.definition;
  if (annotations?.readOnlyHint) return /search|find|grep|query/i.test(name) ? "search" : "read";
  if (annotations?.destructiveHint && /delete|remove/i.test(name)) return "delete";
  return "other";
}

function progressUpdate(toolCallId: string, { progress, total, message }: ToolProgress): acp.SessionUpdate {
  const count = total === undefined ? `${progress}` : `${progress}/${total}`;
  const line = message === undefined ? count : `${count} ${message}`;
  return { sessionUpdate: "tool_call_update", toolCallId, status: "in_progress", content: toolContent([text(line)]) };
}

function endUpdate(toolCallId: string, outcome: ToolOutcome): acp.SessionUpdate {
  const base = { sessionUpdate: "tool_call_update", toolCallId } as const;
  switch (outcome.kind) {
    case "done":
    case "failed": {
      const { content, structured } = outcome;
      const status = outcome.kind === "done" ? "completed" : "failed";
      return {
        ...base,
        status,
        content: toolContent(content),
        ...(structured === undefined ? {} : { rawOutput: structured }),
      };
    }
    case "refused":
      return { ...base, status: "failed", content: toolContent([text(`Refused: ${outcome.reason}`)]) };
    case "cancelled":
      return { ...base, status: "failed", content: toolContent([text("Cancelled.")]) };
    case "unknown":
      return { ...base, status: "failed", content: toolContent([text(`Outcome unknown: ${outcome.reason}`)]) };
    default:
      return unreachable(outcome);
  }
}

function toolContent(blocks: readonly ContentBlock[]): acp.ToolCallContent[] {
  return blocks.map((block) => ({ type: "content", content: toAcpBlock(block) }));
}

function toAcpBlock(block: ContentBlock): acp.ContentBlock {
  switch (block.type) {
    case "text":
    case "image":
    case "audio":
    case "resource_link":
      return { ...block };
    case "resource": {
      const mimeType = block.mimeType === undefined ? {} : { mimeType: block.mimeType };
      const resource =
        block.text === undefined
          ? { uri: block.uri, blob: block.blob ?? "", ...mimeType }
          : { uri: block.uri, text: block.text, ...mimeType };
      return { type: "resource", resource };
    }
    case "spilled":
    case "unknown":
      return { type: "text", text: plainText([block]) };
    default:
      return unreachable(block);
  }
}

/** Where notices are not shown, what is wrong still is: as a call that failed before it could begin. */
function noticeUpdates(
  severity: "info" | "warning" | "error",
  title: string,
  client: ClientAbilities,
): acp.SessionUpdate[] {
  if (client.notices) return [{ sessionUpdate: "notice", severity, title }];
  if (severity === "info") return [];
  const toolCallId = `notice-${hashJson(title).slice(0, 12)}`;
  const content = toolContent([text(title)]);
  return [{ sessionUpdate: "tool_call", toolCallId, title: "Configuration", kind: "other", status: "failed", content }];
}

/** A failed server is never silent: as a notice where the client shows them, else as a failed call in the conversation. */
function serverUpdates(status: ServerStatus, client: ClientAbilities): acp.SessionUpdate[] {
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
      return [{ sessionUpdate: "notice", severity: "info", title: `MCP server "${status.name}" is ready: ${tools}` }];
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
