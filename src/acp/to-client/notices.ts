// What people should hear of beside the conversation: notices, and where servers stand.

import type * as acp from "@agentclientprotocol/sdk";
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { hashJson } from "../../base/json/hash.js";
import { text } from "../../base/text/content.js";
import { markForeign } from "../../base/text/marking.js";
import type { ServerStatus } from "../../session/index.js";
import { statusMeta } from "../mcp-status.js";
import type { ClientAbilities } from "./abilities.js";
import { toolContent } from "./content.js";

/** Where notices are not shown, what is wrong still is: as a call that failed before it could begin. */
export function noticeUpdates(
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
export function serverUpdates(status: ServerStatus, client: ClientAbilities): acp.SessionUpdate[] {
  const _meta = statusMeta(status);
  return aboutServer(shown(status), client).map((update) => ({ ...update, _meta }));
}

/** A server's own words among them. */
function shown(status: ServerStatus): ServerStatus {
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
