// The door of the MCP room: one server, from its spec to its answers.
export type { CallOptions, CallOutcome, CallProgress } from "./call.js";
export { type ConnectionOptions, McpConnection } from "./connection.js";
export type { RemoteSpec, ServerSpec, StdioSpec } from "./spec.js";
export type { ConnectionState, ServerIdentity } from "./state.js";
export type { McpTool, McpToolAnnotations } from "./tolerate.js";
