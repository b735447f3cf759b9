// Equal tool lists are one list in memory, however many connections hold it: a gateway has thousands to the same servers.

import type { Pace } from "../../base/async/pace.js";
import { sameJson } from "../../base/json/json.js";
import type { McpTool } from "./tolerate.js";

type Tools = readonly McpTool[];

/** By a cheap hash, then compared in full: hashing every schema would cost as much as parsing the list did. */
const lists = new Map<string, WeakRef<Tools>[]>();

const registry = new FinalizationRegistry<string>((key) => {
  const living = (lists.get(key) ?? []).filter((ref) => ref.deref() !== undefined);
  if (living.length === 0) lists.delete(key);
  else lists.set(key, living);
});

/** The list everybody else has, if they have the same; otherwise this one becomes it. */
export async function internTools(tools: Tools, pace: Pace): Promise<Tools> {
  const key = cheapKey(tools);
  for (const ref of lists.get(key) ?? []) {
    const known = ref.deref();
    if (known && (await sameTools(known, tools, pace))) return known;
  }
  lists.set(key, [...(lists.get(key) ?? []), new WeakRef(tools)]);
  registry.register(tools, key);
  return tools;
}

const CHUNK = 200;

export async function sameTools(one: Tools, other: Tools, pace: Pace): Promise<boolean> {
  if (one === other) return true;
  if (one.length !== other.length) return false;
  for (let start = 0; start < one.length; start += CHUNK) {
    const isSame = await pace.run(() =>
      one.slice(start, start + CHUNK).every((tool, index) => {
        const twin = other[start + index];
        return twin !== undefined && sameTool(tool, twin);
      }),
    );
    if (!isSame) return false;
  }
  return true;
}

export function sameTool(one: McpTool, other: McpTool): boolean {
  if (one === other) return true;
  return (
    one.name === other.name &&
    one.title === other.title &&
    one.description === other.description &&
    one.taskSupport === other.taskSupport &&
    sameJson(one.inputSchema, other.inputSchema) &&
    sameJson(one.outputSchema, other.outputSchema) &&
    sameJson({ ...one.annotations }, { ...other.annotations })
  );
}

/** Of a long list, so many are looked at for its key. */
const KEYED_TOOLS = 100;

/** FNV-1a over names, with the lengths of the descriptions: tells servers apart, and nothing more is asked of it. */
function cheapKey(tools: Tools): string {
  let hash = 0x811c9dc5;
  const step = Math.ceil(tools.length / KEYED_TOOLS);
  for (let at = 0; at < tools.length; at += step) {
    const { name = "", description = "" } = tools[at] ?? {};
    for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
    hash = Math.imul(hash ^ description.length, 0x01000193);
  }
  return `${tools.length}:${hash >>> 0}`;
}
