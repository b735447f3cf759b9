// Servers of a configuration file in the shape that ACP hands them to an agent.
import type { McpServer } from "@agentclientprotocol/sdk";
import type { ServerSpec } from "../../mcp/index.js";

export function toAcpServer(spec: ServerSpec): McpServer {
  switch (spec.kind) {
    case "stdio":
      return {
        name: spec.name,
        command: spec.command,
        args: [...spec.args],
        env: pairs(spec.env),
        // The protocol has no field for it; Tenon's own agent reads it here.
        ...(spec.cwd === undefined ? {} : { _meta: { tenon: { cwd: spec.cwd } } }),
      };
    case "http":
    case "sse":
      return { type: spec.kind, name: spec.name, url: spec.url, headers: pairs(spec.headers) };
  }
}

function pairs(record: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(record).map(([name, value]) => ({ name, value }));
}
