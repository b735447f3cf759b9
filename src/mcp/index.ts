// The door of the MCP room: one server, from its spec to its answers.

export type { ChannelAnswer, ChannelRequest, McpChannel } from "./acp/channel.js";
export type { CallOptions, CallOutcome, CallProgress } from "./call/call.js";
export { compilePattern } from "./call/linear-pattern.js";
export { checkAgainstSchema, type SchemaFit } from "./call/schema-fit.js";
export { McpConnection } from "./connection.js";
export type { Link } from "./era/link.js";
export { launchFingerprint, poolKey } from "./fingerprint.js";
export { type DiskCacheOptions, diskCache } from "./lists/cache.js";
export type { Listing } from "./lists/list.js";
export { Pace } from "./lists/pace.js";
export {
  type Completion,
  type CompletionRequest,
  type CompletionTarget,
  complete,
  getPrompt,
  listPrompts,
  type McpPrompt,
  type McpPromptArgument,
  type McpPromptMessage,
  type McpPromptText,
} from "./lists/prompts.js";
export {
  type AskOptions,
  listResources,
  listResourceTemplates,
  type McpResource,
  type McpResourceTemplate,
  readResource,
} from "./lists/resources.js";
export type { McpTool, McpToolAnnotations } from "./lists/tolerate.js";
export type { CachedTools, ConnectionOptions, ServerCache, ServerLimits, ToolOverrides } from "./options.js";
export type { ElicitAnswer, ElicitRequest, Peer, Root, ServerLog } from "./peer.js";
export { RpcRefusal } from "./rpc/rpc.js";
export type { Agreement } from "./rpc/wire.js";
export type { AcpSpec, BearerAuth, RemoteSpec, ServerSpec, StdioSpec } from "./spec.js";
export type { ConnectionState, ServerIdentity } from "./state.js";
