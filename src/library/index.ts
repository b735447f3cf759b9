// `tenon`: a runtime with sessions, servers and tools in a program of your own.
export { ERROR_CODES, type ErrorCode, TenonError } from "../base/errors.js";
export type { JsonObject, JsonSchema, JsonValue } from "../base/json/json.js";
export type { Log, World } from "../base/ports/world.js";
export type { ContentBlock } from "../base/text/content.js";
export type { GrantStore } from "../mcp/index.js";
export type {
  AiSdkOptions,
  Model,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  ModelTool,
} from "../models/index.js";
export { aiSdkModel } from "../models/index.js";
export type { BuiltinName, LineStore as SessionStore, ServerStatus } from "../session/index.js";
export type { Embedder, ToolAnnotations, ToolDefinition, ToolPlace, ToolTransformer } from "../tools/index.js";
export type { EventListener, PromptResult, SessionEvent, TokenUsage } from "./events.js";
export {
  type CreateSessionOptions,
  createRuntime,
  type Runtime,
  type RuntimeOptions,
  type RuntimeTools,
  type SystemPrompt,
  type ToolSearch,
} from "./runtime.js";
export type { NamedServerEntry, SaveOptions, ServerEntries, ServerEntry } from "./servers.js";
export type {
  ApprovalAnswer,
  ApprovalRequest,
  Approve,
  PromptOptions,
  ReadyOptions,
  Session,
  SessionTools,
} from "./session.js";
export type { ToolSource } from "./source.js";
export { type OwnTool, type Tool, type ToolContext, type ToolReply, tool } from "./tool.js";
export type { CallOptions, ToolInfo, ToolResult, ToolSet } from "./tool-set.js";
