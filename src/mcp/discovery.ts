// Lists a server's tools: every page, within caps, one bad entry never costing the others.
import type { Client } from "@modelcontextprotocol/client";
import { LIMITS } from "../base/limits.js";
import { requestRaw } from "./raw-result.js";
import { type McpTool, readTool } from "./tolerate.js";

export interface ToolListing {
  readonly tools: readonly McpTool[];
  /** What was left out or changed, each in one sentence. */
  readonly problems: readonly string[];
}

export async function listTools(client: Client, signal: AbortSignal): Promise<ToolListing> {
  if (!client.getServerCapabilities()?.tools) return { tools: [], problems: [] };
  const tools = new Map<string, McpTool>();
  const problems: string[] = [];
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await requestRaw(
      client,
      { method: "tools/list", params },
      { signal, timeout: LIMITS.connectTimeoutMs * 2 },
    );
    const listed = Array.isArray(result["tools"]) ? result["tools"] : [];
    for (const raw of listed) {
      const read = readTool(raw);
      if (!read.ok) problems.push(`tool "${read.name}" is left out: ${read.reason}`);
      else {
        if (tools.has(read.tool.name)) problems.push(`tool "${read.tool.name}" is defined twice: the last one counts`);
        tools.set(read.tool.name, read.tool);
      }
    }
    const next = result["nextCursor"];
    if (typeof next !== "string" || next === "") break;
    if (next === cursor || page >= LIMITS.listMaxPages || tools.size >= LIMITS.listMaxTools) {
      problems.push(`the list of tools does not end: cut after ${page} pages and ${tools.size} tools`);
      break;
    }
    cursor = next;
  }
  return { tools: [...tools.values()], problems };
}
