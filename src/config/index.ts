// The door of the configuration room.
export { parseMcpConfig } from "./mcp-config.js";
export { tenonPaths } from "./paths.js";
