// `_tenon/mcp/status`: where each server of a session stands and which tools it brought.
import type { ServerStatus, Session } from "../session/index.js";
import type { CatalogTool } from "../tools/index.js";

export interface ToolSummary {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
}

export interface McpStatus {
  readonly servers: readonly (ServerStatus & { readonly tools: readonly ToolSummary[] })[];
}

/** Waits for the configuration: before it is read, nobody can say which servers there are. */
export async function mcpStatus(session: Session): Promise<McpStatus> {
  await session.configured;
  const tools = session.tools;
  const toolsOf = (server: string) => tools.filter((tool) => tool.source === server).map((tool) => summary(tool));
  return { servers: session.servers.map((status) => ({ ...status, tools: toolsOf(status.name) })) };
}

function summary({ id, definition: { title, description } }: CatalogTool): ToolSummary {
  return { name: id, ...(title === undefined ? {} : { title }), description };
}
