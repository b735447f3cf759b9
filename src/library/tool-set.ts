// A set of tools with one way to call them: what a session has, what `openTools` gives, and what adapters are made from.
import type { ErrorCode } from "../base/errors.js";
import type { JsonObject, JsonSchema, JsonValue } from "../base/json/json.js";
import type { ContentBlock } from "../base/text/content.js";
import type { ToolAnnotations } from "../tools/index.js";

/**
 * One tool, as a model is shown it.
 *
 * @example
 * for (const { name, source, originalName } of session.tools.list()) console.log(name, "is", originalName, "of", source);
 */
export interface ToolInfo {
  /** The name to call it by: unique in the set, and valid for every provider. */
  readonly name: string;
  /** The server's name, or that of the source that registered it. */
  readonly source: string;
  /** The name by which its source is called. */
  readonly originalName: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  /** What the server says about its own tool: hints, not facts. */
  readonly annotations?: ToolAnnotations;
  /** By provider (`openai`, `anthropic`, `google`): sent with the tool in that provider's own form. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
}

/**
 * How a call ended; a call never rejects because a tool failed.
 *
 * @example
 * const { status, text } = await session.tools.call("echo", { text: "hi" });
 * if (status !== "done") console.error(status, text);
 */
export interface ToolResult {
  /** `unknown`: the call was sent, and nobody can say whether it took effect. */
  readonly status: "done" | "failed" | "refused" | "cancelled" | "unknown";
  /** For a model: the text of the content, or why there is none. */
  readonly text: string;
  readonly content: readonly ContentBlock[];
  readonly structured?: JsonValue;
  /** For what Tenon itself found wrong: `tool.unknown`, `tool.denied`, `mcp.not_ready` and so on. */
  readonly code?: ErrorCode;
}

/**
 * Options of one call.
 *
 * @example
 * await tools.call("slow", {}, { signal: AbortSignal.timeout(1_000) });
 */
export interface CallOptions {
  /** Aborting it ends the call with the status `cancelled`. */
  readonly signal?: AbortSignal;
}

/**
 * Tools, and the way to call them.
 *
 * @example
 * const tools: ToolSet = session.tools;
 * tools.onChange(() => console.log(tools.list().length, "tools"));
 */
export interface ToolSet {
  /** The tools a model may be offered now. */
  list(): readonly ToolInfo[];
  /** Makes one call, under the policy and the limits of every call. */
  call(name: string, args: JsonObject, options?: CallOptions): Promise<ToolResult>;
  /** Calls `listener` after the list has changed; returns the way to stop. */
  onChange(listener: () => void): () => void;
}
