// A tool as the rest of Tenon sees it: opaque id, definition, where it came from, and the one outcome of a call.

import type { ReadonlyCell } from "../base/async/cell.js";
import type { ErrorCode } from "../base/errors.js";
import type { Brand } from "../base/id.js";
import type { IncludeMode } from "../base/include-mode.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject, JsonSchema, JsonValue } from "../base/json/json.js";
import { type ContentBlock, text } from "../base/text/content.js";
import type { RpcErrorBody } from "../mcp/index.js";

/** The name a model calls a tool by. Looked up in the catalog's table, never parsed. */
export type ToolId = Brand<string, "ToolId">;

/** Which layer a tool came from; approvals and precedence depend on it. */
export type ToolOrigin = "client" | "project" | "user" | "builtin" | "extra";

export type { IncludeMode };

/**
 * Hints by the server about its own tool. They count only for servers the user trusts.
 *
 * @example
 * const isSafe = ({ readOnlyHint }: ToolAnnotations) => readOnlyHint === true;
 */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/**
 * A tool as its source defines it, under the source's own name.
 *
 * @example
 * const definition: ToolDefinition = { name: "ping", description: "Answers", inputSchema: { type: "object" } };
 */
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
  /**
   * `isOwn`: these are Tenon's words about the call, not the source's; `code` says what kind of failure, where there is one.
   * `protocolError`: of a server, as it came.
   */
  | ({
      readonly kind: "failed";
      readonly isOwn?: boolean;
      readonly code?: ErrorCode;
      readonly protocolError?: RpcErrorBody;
    } & ToolAnswer)
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "cancelled" }
  | { readonly kind: "unknown"; readonly reason: string; readonly code?: ErrorCode };

/** In Tenon's own words. */
export function failed(words: string, code?: ErrorCode): ToolOutcome {
  return { kind: "failed", isOwn: true, content: [text(words)], ...defined({ code }) };
}

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

// The port every tool comes through, whether a server, Tenon itself or an embedder provides it.
/** What is enough to ask a source again for a call it goes on with by itself, also from another process. */
export interface LastingCall {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly startedMs: number;
  /** How long the source keeps it, from its start; for ever unless given. */
  readonly ttlMs?: number;
}

export interface SourceCall {
  /** By which clients know the call. */
  readonly toolCallId?: string | undefined;
  /** The source's own name of the tool. */
  readonly tool: string;
  readonly arguments: JsonObject;
  /** The source's own definition that was decided about: a call that waits for its source is for no other. */
  readonly definition?: ToolDefinition | undefined;
  readonly signal: AbortSignal;
  /** What the person was shown the change of: it must not be made from anything else. For Tenon's own tools. */
  readonly expected?: string | undefined;
  readonly onProgress: (progress: ToolProgress) => void;
  /** The source goes on with it whatever becomes of the connection, or of us: kept before anything else happens. */
  readonly onLasting?: ((lasting: LastingCall) => void) | undefined;
}

/** Where a source stands, for those that can fail. Its tools stay listed whatever it is. */
export type SourceState =
  /** It starts for the first time; `doing` says what goes on, for people and models. */
  | { readonly kind: "connecting"; readonly doing?: string }
  | { readonly kind: "ready" }
  /** Broken, and being brought back; `isAwaited`: by nobody here, the reason says who has to. */
  | { readonly kind: "broken"; readonly reason: string; readonly isAwaited?: boolean }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "closed" };

/** What a source says about itself: words of a server, so data, never instructions. */
export interface SourceAbout {
  readonly title?: string;
  readonly instructions?: string;
}

export interface ToolSource {
  readonly name: string;
  readonly origin: ToolOrigin;
  /** Ready at all times unless given. */
  readonly state?: ReadonlyCell<SourceState>;
  /** Waits while it starts, within its own limit. Why it cannot be used; undefined when it can. */
  ready?(signal: AbortSignal): Promise<string | undefined>;
  /** Whether it is a process of its own on this machine. */
  readonly isProcess?: boolean;
  about?(): SourceAbout;
  /** Its tools are called by their own names where those are free: for the program around Tenon. */
  readonly hasPlainNames?: boolean;
  /** Any other source of its name counts before it, whatever the layers are. */
  readonly givesWay?: boolean;
  /** Entries of its list that cannot be used, each with the reason in one sentence. */
  leftOut?(): readonly { readonly name: string; readonly text: string }[];
  /** The live list; the catalog takes a snapshot of it between model calls. */
  readonly tools: ReadonlyCell<readonly ToolDefinition[]>;
  /** How many calls it takes at the same time; `LIMITS.callsInParallel` unless given. */
  readonly callsAtOnce?: number;
  /** Rejects only for a bug: every expected failure is an outcome. */
  call(call: SourceCall): Promise<ToolOutcome>;
  /** The user's word that calling the tool twice is as calling it once. Of no tool unless given. */
  mayRepeat?(tool: string): boolean;
  /** What a call that lasts comes to. Nothing is called again. Only for sources whose calls may last. */
  resume?(call: Omit<SourceCall, "arguments" | "onLasting">, lasting: LastingCall): Promise<ToolOutcome>;
}
