// The catalog of one model call: an immutable snapshot of every source's tools, and the one table from names to tools.
import { hashJson } from "../base/hash.js";
import type { JsonObject } from "../base/json.js";
import { mcpToolId } from "./name.js";
import type { ToolSource } from "./source.js";
import type { CatalogTool, ToolDefinition } from "./tool.js";

export interface CatalogEntry {
  readonly tool: CatalogTool;
  readonly source: ToolSource;
}

export interface Catalog {
  /** In a stable order: by source as given, then as the source lists them. */
  readonly tools: readonly CatalogTool[];
  find(name: string): CatalogEntry | undefined;
}

export function snapshot(sources: readonly ToolSource[]): Catalog {
  const table = new Map<string, CatalogEntry>();
  for (const source of sources) {
    for (const definition of source.tools.value) {
      const tool = catalogTool(source, definition);
      table.set(tool.id, { tool, source });
    }
  }
  return { tools: [...table.values()].map((entry) => entry.tool), find: (name) => table.get(name) };
}

/** Definitions are immutable, so equal objects need hashing once, however often a snapshot is taken. */
const known = new WeakMap<ToolDefinition, CatalogTool>();

function catalogTool(source: ToolSource, definition: ToolDefinition): CatalogTool {
  const cached = known.get(definition);
  if (cached && cached.source === source.name && cached.origin === source.origin) return cached;
  const tool: CatalogTool = {
    id: mcpToolId(source.name, definition.name),
    origin: source.origin,
    source: source.name,
    label: `${source.name} / ${definition.title ?? definition.name}`,
    definition,
    definitionHash: hashJson(definitionData(definition)),
  };
  known.set(definition, tool);
  return tool;
}

function definitionData(definition: ToolDefinition): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  return { name, title, description, inputSchema, outputSchema, annotations: annotations && { ...annotations } };
}
