// What people see of a connection, derived from its state.

import type { TenonError } from "../base/errors.js";
import { unreachable } from "../base/id.js";
import type { ConnectionState, McpConnection, ServerSpec } from "../mcp/index.js";
import type { ToolOrigin } from "../tools/index.js";
import type { ServerStatus } from "./event.js";
import { isLogInable, loginCommand } from "./login/server-login.js";

/** What is looked at of a connection. */
export type StatusSource = Pick<McpConnection, "spec" | "state" | "tools" | "problems">;

export function statusOf(connection: StatusSource, origin: ToolOrigin): ServerStatus {
  const state: ConnectionState = connection.state.value;
  const { spec } = connection;
  const note = "note" in spec && spec.note !== undefined ? [spec.note] : [];
  const told = [...note, ...connection.problems];
  const problems = told.length === 0 ? {} : { problems: told };
  const base = { name: spec.name, origin, toolCount: connection.tools.value.length, ...sandboxIn(spec), ...problems };
  switch (state.kind) {
    case "resting":
      return { ...base, state: "idle" };
    case "idle":
    case "connecting":
      return { ...base, state: "connecting" };
    case "ready":
      return { ...base, state: "ready", connectMs: state.connectMs, server: state.server, ...state.agreement };
    case "waiting":
      return { ...base, state: "reconnecting", ...troubleOf(state.cause, connection, origin) };
    case "failed":
      return { ...base, state: "failed", ...troubleOf(state.cause, connection, origin) };
    case "closing":
    case "closed":
      return { ...base, state: "closed" };
    default:
      return unreachable(state);
  }
}

function sandboxIn(spec: StatusSource["spec"]): Pick<ServerStatus, "sandbox"> {
  if (spec.kind !== "stdio" || !spec.sandbox) return {};
  const { mode, network } = spec.sandbox;
  return { sandbox: { mode, network } };
}

type Trouble = Pick<ServerStatus, "error" | "hint" | "needsLogin">;

function troubleOf({ code, message, hint }: TenonError, { spec }: StatusSource, origin: ToolOrigin): Trouble {
  if (code !== "mcp.unauthorized") return { error: message, hint };
  return { error: message, hint: loginHint(spec, origin), needsLogin: true };
}

/** A server that is given a token has no use for a log-in: the token is what is wrong. */
function loginHint(spec: ServerSpec, origin: ToolOrigin): string {
  const where = origin === "client" ? "in your editor's settings" : `in its entry (tenon mcp get ${spec.name})`;
  if (isLogInable(spec)) {
    const ways = `/mcp login ${spec.name} here, or ${loginCommand(spec, origin)} in a terminal`;
    return `It needs a log-in: ${ways}; or an Authorization header ${where}.`;
  }
  return `It needs a log-in, and refused the token it is given: correct that one ${where}.`;
}
