// Tenon's own tools about tools: they search the catalog, call what is found, and wait for servers that start.
import { Cell } from "../../base/async/cell.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonSchema } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { text } from "../../base/text/content.js";
import { TOOL_LIMITS } from "../limits.js";
import { cut, firstSentence } from "../one-line.js";
import { failed, type SourceCall, type ToolDefinition, type ToolOutcome, type ToolSource } from "../tool.js";
import { WAIT_FOR_SERVER, waitForServer } from "./offered-tools.js";
import type { FoundTool, SessionCatalog } from "./session-catalog.js";

export const SEARCH_TOOLS = "tenon_search_tools";
export const CALL_TOOL = "tenon_call_tool";

const LINE_CHARS = 300;

const searchTools: ToolDefinition = {
  name: SEARCH_TOOLS,
  title: "Search tools",
  description:
    "Finds more tools among those of the connected MCP servers. Not every tool is listed here: when none of the listed ones fits the task, search before you say that it cannot be done. Write what the tool should do, in a few words, one task per search. Each result has a name, a description and a schema, and can be called with tenon_call_tool.",
  inputSchema: {
    type: "object",
    properties: {
      query: { type: "string", description: "What the tool should do, for example: create an issue in a repository." },
      server: { type: "string", description: "Only tools of this server." },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: LIMITS.toolSearchResults.most,
        description: `How many results; ${LIMITS.toolSearchResults.usual} unless given.`,
      },
    },
    required: ["query"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
};

const callTool: ToolDefinition = {
  name: CALL_TOOL,
  title: "Call a tool",
  description:
    "Calls a tool that tenon_search_tools found. Give its exact name, and its arguments as its own schema says. Tools that are listed here are called directly instead.",
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", description: "The exact name of the tool, as the search gave it." },
      arguments: { type: "object", description: "The arguments of that tool, as its schema says." },
    },
    required: ["name", "arguments"],
    additionalProperties: false,
  },
};

/** A source of Tenon itself. `tenon_call_tool` is unwrapped before a call runs and never gets here by the usual way. */
export function searchMetaSource(catalog: Pick<SessionCatalog, "search" | "waitFor">): ToolSource {
  return {
    name: "tenon",
    origin: "builtin",
    tools: new Cell([searchTools, callTool, waitForServer]),
    call: async (call) => {
      if (call.tool === SEARCH_TOOLS) return await answerSearch(catalog, call);
      if (call.tool === CALL_TOOL) return failed(`${CALL_TOOL} needs the name of another tool`);
      const { server } = call.arguments;
      if (typeof server === "string") return await catalog.waitFor(server, call.signal, call.onProgress);
      return failed(`${WAIT_FOR_SERVER} needs "server": the name of a server`);
    },
  };
}

async function answerSearch(
  catalog: Pick<SessionCatalog, "search">,
  { arguments: { query, server, limit }, signal }: SourceCall,
): Promise<ToolOutcome> {
  if (typeof query !== "string" || query.trim() === "") {
    return failed(`${SEARCH_TOOLS} needs "query": what the tool should do, in a few words`);
  }
  const bounds = {
    server: typeof server === "string" && server !== "" ? server : undefined,
    limit: typeof limit === "number" && Number.isFinite(limit) ? Math.floor(limit) : undefined,
  };
  const answer = await catalog.search({ query, ...defined(bounds) }, signal);
  if (answer.kind === "no_server") {
    return failed(`There is no server ${JSON.stringify(server)}. The servers are: ${answer.servers.join(", ")}.`);
  }
  const { tools } = answer;
  if (tools.length === 0) {
    return { kind: "done", content: [text("No tool was found. Try other words, or search without a server.")] };
  }
  const head = `${tools.length} ${tools.length === 1 ? "tool" : "tools"} found, the best first. Call one with ${CALL_TOOL}({"name": "…", "arguments": {…}}).`;
  return { kind: "done", content: [text([head, ...tools.map(toolText)].join("\n\n"))] };
}

function toolText({ tool, isOffered }: FoundTool): string {
  const { description, inputSchema } = tool.definition;
  const line = cut(firstSentence(description), LINE_CHARS);
  return [
    `name: ${tool.id}${isOffered ? " (listed already: call it directly)" : ""}`,
    `title: ${cut(tool.label, LINE_CHARS)}`,
    ...(line === "" ? [] : [`description: ${line}`]),
    `arguments: ${schemaText(inputSchema)}`,
  ].join("\n");
}

function schemaText(schema: JsonSchema): string {
  const whole = JSON.stringify(schema);
  if (whole.length <= TOOL_LIMITS.searchSchemaMaxChars) return whole;
  const { properties, required } = schema;
  const names = isJsonObject(properties) ? Object.keys(properties).slice(0, 200) : [];
  return `a schema too long to show; properties: ${names.join(", ")}; required: ${JSON.stringify(required ?? [])}`;
}
