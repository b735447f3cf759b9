// Tenon as other frameworks use it: a set of tools through an adapter, with the limits that protect others' services raised.
import { ToolMessage } from "@langchain/core/messages";
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { JsonObject } from "../../src/base/json/json.js";
import { base64Bytes } from "../../src/base/text/content.js";
import { type OpenTools, openTools, toAiSdkTools, toLangChainTools } from "../../src/library/tools.js";
import type { BenchClient, Target } from "./mcp-target.js";

export const ADAPTERS = ["toAiSdkTools", "toLangChainTools"] as const;
export type AdapterName = (typeof ADAPTERS)[number];

export function isAdapter(client: unknown): client is AdapterName {
  return ADAPTERS.some((name) => name === client);
}

const LIMITS = { callsPerMinute: 100_000, callsAtOnce: 64 };
const SERVER = "server";

function entryOf(target: Target) {
  return target.kind === "http"
    ? { type: "http" as const, url: target.url, limits: LIMITS }
    : { command: target.command, args: [...target.args], limits: LIMITS };
}

/** By the framework's own way to call a tool, as its toolkit is called in `peer-clients.mjs`. */
export async function openAdapter(adapter: AdapterName, target: Target): Promise<BenchClient> {
  const set = await openTools({ mcpServers: { [SERVER]: entryOf(target) } });
  await set.ready({ server: SERVER });
  const names = new Map(set.list().map(({ originalName, name }) => [originalName, name]));
  const call = callerOf(adapter, set);
  return { call: (tool, args) => call(names.get(tool) ?? tool, args), close: () => set.close() };
}

function callerOf(adapter: AdapterName, set: OpenTools): (name: string, args: JsonObject) => Promise<number> {
  if (adapter === "toAiSdkTools") {
    const { tools } = toAiSdkTools(set, { images: true });
    return async (name, args) => {
      const result = await tools[name]?.execute(args, { toolCallId: "1" });
      const [block] = result?.content ?? [];
      if (block?.type === "image") return base64Bytes(block.data);
      return block?.type === "spilled" ? block.bytes : (result?.text.length ?? 0);
    };
  }
  const { tools } = toLangChainTools(set, { DynamicStructuredTool, ToolMessage }, { images: true });
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return async (name, args) => {
    const result: unknown = await byName.get(name)?.invoke(args);
    return typeof result === "string" ? result.length : imageBytes(result);
  };
}

/** Of the one block there is. */
function imageBytes(content: unknown): number {
  const [block] = Array.isArray(content) ? content : [];
  const url: unknown = block?.image_url?.url;
  return typeof url === "string" ? base64Bytes(url.slice(url.indexOf(",") + 1)) : 0;
}
