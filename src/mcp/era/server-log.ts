// A server's `notifications/message` as one line of text, bounded whatever it sends.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { ServerLog } from "../peer.js";

/** Enough for a stack trace; a server that logs more is not read by anybody. */
const MAX_CHARS = 4_096;
/** Values looked at before giving up: a log entry may be any JSON, however large. */
const MAX_VALUES = 1_000;

export function readServerLog(params: JsonObject): ServerLog {
  const { level, logger, data } = params;
  return {
    level: typeof level === "string" ? level : "info",
    ...defined({ logger: typeof logger === "string" ? logger : undefined }),
    text: typeof data === "string" ? clip(data) : clip(JSON.stringify(pruned(data ?? null, { left: MAX_VALUES }, 0))),
  };
}

function clip(text: string): string {
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)}…`;
}

/** The beginning of a value: long texts cut, the rest left out once the budget is used up. */
function pruned(value: JsonValue, budget: { left: number }, depth: number): JsonValue {
  budget.left -= 1;
  if (typeof value === "string") return clip(value);
  if (typeof value !== "object" || value === null) return value;
  if (budget.left <= 0 || depth > 20) return "…";
  if (!isJsonObject(value)) {
    const items: JsonValue[] = [];
    for (const item of value) {
      if (budget.left <= 0) break;
      items.push(pruned(item, budget, depth + 1));
    }
    return items;
  }
  const entries: [string, JsonValue][] = [];
  for (const key in value) {
    if (budget.left <= 0) break;
    const field = value[key];
    if (Object.hasOwn(value, key) && field !== undefined) entries.push([clip(key), pruned(field, budget, depth + 1)]);
  }
  return Object.fromEntries(entries);
}
