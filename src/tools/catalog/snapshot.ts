// Everything some sources have, offered at once and unshaped.
import type { ToolSource } from "../source.js";
import { KnownTools } from "./known-tools.js";
import type { CatalogEntry, Offer } from "./offer.js";

export function snapshot(sources: readonly ToolSource[]): Offer {
  const table = new Map<string, CatalogEntry>();
  for (const source of sources) {
    const known = new KnownTools(source);
    known.refresh();
    for (const tool of known.tools) table.set(tool.tool.id, { ...tool, isChanged: false });
  }
  return { tools: [...table.values()].map(({ tool }) => tool), find: (name) => table.get(name) };
}
