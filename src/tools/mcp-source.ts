// An MCP connection as a source of tools.

import { unreachable } from "../base/brand.js";
import { mappedCell } from "../base/cell.js";
import { text } from "../base/content.js";
import type { CallOutcome, McpConnection } from "../mcp/index.js";
import type { ToolSource } from "./source.js";
import type { ToolOrigin, ToolOutcome } from "./tool.js";

/** `isAllowed`: by the server's own name of a tool; what is not allowed is not in the catalog, and so cannot be called. */
export function mcpSource(
  connection: McpConnection,
  origin: ToolOrigin,
  isAllowed: (tool: string) => boolean = () => true,
): ToolSource {
  return {
    name: connection.spec.name,
    origin,
    tools: mappedCell(connection.tools, (tools) => tools.filter((tool) => isAllowed(tool.name))),
    call: async (call) => toOutcome(await connection.call(call.tool, call.arguments, call)),
  };
}

function toOutcome(outcome: CallOutcome): ToolOutcome {
  switch (outcome.kind) {
    case "answered": {
      const { content, structured } = outcome;
      const kind = outcome.isError ? "failed" : "done";
      return { kind, content, ...(structured === undefined ? {} : { structured }) };
    }
    case "cancelled":
      return { kind: "cancelled" };
    case "failed":
      return { kind: "failed", content: [text(outcome.error.message)] };
    case "unknown":
      return { kind: "unknown", reason: outcome.error.message };
    default:
      return unreachable(outcome);
  }
}
