// The door of the configuration room.
export { type McpConfig, parseMcpConfig } from "./mcp-config.js";
export { type Paths, tenonPaths } from "./paths.js";
