// A tool as the rest of Tenon sees it: opaque id, definition, where it came from, and the one outcome of a call.
import type { Brand } from "../base/id.js";
import type { JsonObject, JsonSchema, JsonValue } from "../base/json/json.js";
import type { ContentBlock } from "../base/text/content.js";

/** The name a model calls a tool by. Looked up in the catalog's table, never parsed. */
export type ToolId = Brand<string, "ToolId">;

/** Which layer a tool came from; approvals and precedence depend on it. */
export type ToolOrigin = "client" | "project" | "user" | "builtin" | "extra";

/** How a tool comes before the model: always, when the person adds it, or when a search finds it. */
export type IncludeMode = "always" | "manual" | "search";

/** Hints by the server about its own tool. They count only for servers the user trusts. */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool as its source defines it, under the source's own name. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: ToolAnnotations;
  /** By provider (`openai`, `anthropic`, …): passed on to the model adapter as they are. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
}

/** A tool in a session's catalog. */
export interface CatalogTool {
  readonly id: ToolId;
  readonly origin: ToolOrigin;
  /** Name of the source: the server's name for MCP tools. */
  readonly source: string;
  /** `server / Tool title`, for people. */
  readonly label: string;
  /** As the model is shown it: shaped by configuration and code. What the source said is `CatalogEntry.raw`. */
  readonly definition: ToolDefinition;
  /** Arguments by the definition as it is shown, with the source's own names and values where those had to be marked. */
  toOwn?(args: JsonObject): JsonObject;
  /**
   * Of the definition the source gave: name, title, description, schemas and annotations. Approvals are bound to it.
   * Computed when first read: of ten thousand tools a session needs a few.
   */
  readonly definitionHash: string;
}

/** A tool with the definition its source gave. */
export interface SourcedTool {
  readonly tool: CatalogTool;
  readonly raw: ToolDefinition;
}

/** What a tool answered, well or not. */
export interface ToolAnswer {
  readonly content: readonly ContentBlock[];
  readonly structured?: JsonValue;
  /** What the person should know of it that is no part of the answer: a result that does not fit its schema, for one. */
  readonly warnings?: readonly string[];
}

/** Exactly one of these ends every call. `unknown`: the call was sent and nobody can say whether it took effect. */
export type ToolOutcome =
  | ({ readonly kind: "done" } & ToolAnswer)
  | ({ readonly kind: "failed" } & ToolAnswer)
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "cancelled" }
  | { readonly kind: "unknown"; readonly reason: string };

export interface ToolProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
  /** What its source logged during the call: the last lines, words of a server. */
  readonly log?: readonly string[];
}

/** What a model asked for, as the run sees it. */
export interface ToolCall {
  /** `<turn>-<n>`: the id that journal, events and clients know. */
  readonly toolCallId: string;
  readonly name: string;
  readonly argumentsJson: string;
}

export type ToolArguments = JsonObject;
