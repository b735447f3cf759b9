// The door of the tools room: one catalog per session, one outcome per call.
export { type Catalog, type CatalogEntry, snapshot } from "./catalog.js";
export { mcpSource } from "./mcp-source.js";
export { type ModelResult, toModelResult } from "./result.js";
export { type Approval, type CallJournal, type PreparedCall, prepareCall, type RunPorts, runCall } from "./run.js";
export type { SourceCall, ToolSource } from "./source.js";
export type {
  CatalogTool,
  ToolAnnotations,
  ToolCall,
  ToolDefinition,
  ToolId,
  ToolOrigin,
  ToolOutcome,
  ToolProgress,
} from "./tool.js";
