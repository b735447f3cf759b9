// What an agent says of itself in its answer to `initialize`, as far as checks depend on it.
import type { JsonObject } from "../../../base/json/json.js";
import { objectIn, wordOf } from "../fields.js";

export interface Introduction {
  readonly protocolVersion: number;
  readonly name: string;
  readonly version: string;
  readonly mayLoad: boolean;
  readonly mayResume: boolean;
  readonly mayFork: boolean;
  readonly mayClose: boolean;
  /** Kinds of MCP servers besides stdio. */
  readonly kinds: readonly ("http" | "sse" | "acp")[];
  readonly authMethods: readonly string[];
}

const KINDS = ["http", "sse", "acp"] as const;

export function readIntroduction(result: JsonObject): Introduction {
  const { protocolVersion, authMethods } = result;
  const info = objectIn(result["agentInfo"]);
  const capabilities = objectIn(result["agentCapabilities"]);
  const session = objectIn(capabilities["sessionCapabilities"]);
  const mcp = objectIn(capabilities["mcpCapabilities"]);
  const may = (name: string) => session[name] !== undefined && session[name] !== null && session[name] !== false;
  return {
    protocolVersion: typeof protocolVersion === "number" ? protocolVersion : 0,
    name: wordOf(info["name"] ?? "(unnamed)"),
    version: wordOf(info["version"] ?? "?"),
    mayLoad: capabilities["loadSession"] === true,
    mayResume: may("resume"),
    mayFork: may("fork"),
    mayClose: may("close"),
    kinds: KINDS.filter((kind) => mcp[kind] === true),
    authMethods: Array.isArray(authMethods)
      ? authMethods.flatMap((method) => {
          const { id } = objectIn(method);
          return typeof id === "string" ? [id] : [];
        })
      : [],
  };
}
