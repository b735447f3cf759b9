// What people see of a connection, derived from its state.
import { unreachable } from "../base/brand.js";
import type { ConnectionState, McpConnection } from "../mcp/index.js";
import type { ToolOrigin } from "../tools/index.js";
import type { ServerStatus } from "./event.js";

export function statusOf(connection: McpConnection, origin: ToolOrigin): ServerStatus {
  const state: ConnectionState = connection.state.value;
  const { spec } = connection;
  const note = spec.kind === "stdio" || spec.note === undefined ? [] : [spec.note];
  const told = [...note, ...connection.problems];
  const problems = told.length === 0 ? {} : { problems: told };
  const base = { name: spec.name, origin, toolCount: connection.tools.value.length, ...problems };
  switch (state.kind) {
    case "idle":
    case "connecting":
      return { ...base, state: "connecting" };
    case "ready":
      return { ...base, state: "ready", connectMs: state.connectMs, server: state.server, ...state.agreement };
    case "waiting":
      return { ...base, state: "reconnecting", error: state.cause.message, hint: state.cause.hint };
    case "failed":
      return { ...base, state: "failed", error: state.cause.message, hint: state.cause.hint };
    case "closing":
    case "closed":
      return { ...base, state: "closed" };
    default:
      return unreachable(state);
  }
}
