// Where the servers of a session stand: `_tenon/mcp/status`, and `_meta.tenon.mcp` on answers and updates.
import { defined } from "../base/json/defined.js";
import type { ServerStatus, Session } from "../session/index.js";
import type { CatalogTool } from "../tools/index.js";
import type { ClientServers } from "./from-client.js";

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
  const tools = session.tools.list();
  const toolsOf = (server: string) => tools.filter((tool) => tool.source === server).map((tool) => summary(tool));
  return { servers: session.servers.map((status) => ({ ...status, tools: toolsOf(status.name) })) };
}

function summary({ id, definition: { title, description } }: CatalogTool): ToolSummary {
  return { name: id, ...defined({ title }), description };
}

/**
 * With the answer that opens a session: the client's own servers, as they are at its beginning. Those of the configuration
 * are not read yet then.
 */
export function givenMeta({ servers, rejected }: ClientServers): {
  tenon: { mcp: { servers: readonly ServerStatus[] } };
} {
  const base = { origin: "client", toolCount: 0 } as const;
  const begun = servers.map(({ name }): ServerStatus => ({ ...base, name, state: "connecting" }));
  const failed = rejected.map(({ name, reason }): ServerStatus => ({ ...base, name, state: "failed", error: reason }));
  return { tenon: { mcp: { servers: [...begun, ...failed] } } };
}

/** On an update that is about a server: the same facts for programs. */
export function statusMeta(status: ServerStatus): { tenon: { mcp: { servers: readonly ServerStatus[] } } } {
  return { tenon: { mcp: { servers: [status] } } };
}
