// What one model call is offered, and what is behind every name: an immutable snapshot.
import type { JsonObject } from "../../base/json/json.js";
import type { ToolSource } from "../source.js";
import type { CatalogTool, ToolDefinition } from "../tool.js";

/** A tool a session knows, whether it is offered or not. */
export interface CatalogEntry {
  /** As it is now: where the model was shown an earlier definition, `Offer.tools` still has that one. */
  readonly tool: CatalogTool;
  readonly source: ToolSource;
  /** As its source defines it: the source is called by this name, and arguments are checked by this schema. */
  readonly raw: ToolDefinition;
  /** Put into every call, over whatever the model gave: the model is not shown these arguments. */
  readonly pinned: JsonObject;
  /** Put into a call where the model gave nothing. */
  readonly defaults: JsonObject;
  /** The model was shown an earlier definition: if the arguments do not fit, it needs the new one. */
  readonly isChanged: boolean;
  /** Why it cannot be called, for the model: its server is gone, or it was set aside. */
  readonly unavailable?: string;
  /** Why it is not offered until somebody approves of it: its definition changed. A call asks. */
  readonly held?: string;
}

export interface Offer {
  /** Only ever appended to within a session, in a stable order; a tool set aside is the one exception. */
  readonly tools: readonly CatalogTool[];
  /** Any tool the session knows, offered or not: a call of one that is not loaded loads it. */
  find(name: string): CatalogEntry | undefined;
}

/** What is really sent: defaults, then what the model gave, then what is pinned. */
export function callArguments(entry: Pick<CatalogEntry, "pinned" | "defaults">, given: JsonObject): JsonObject {
  return { ...entry.defaults, ...given, ...entry.pinned };
}
