// What people see of a connection, derived from its state.
import { unreachable } from "../base/brand.js";
import type { TenonError } from "../base/errors.js";
import type { ConnectionState, McpConnection } from "../mcp/index.js";
import type { ToolOrigin } from "../tools/index.js";
import type { ServerStatus } from "./event.js";

/** What is looked at of a connection. */
export type StatusSource = Pick<McpConnection, "spec" | "state" | "tools" | "problems">;

export function statusOf(connection: StatusSource, origin: ToolOrigin): ServerStatus {
  const state: ConnectionState = connection.state.value;
  const { spec } = connection;
  const note = "note" in spec && spec.note !== undefined ? [spec.note] : [];
  const told = [...note, ...connection.problems];
  const problems = told.length === 0 ? {} : { problems: told };
  const base = { name: spec.name, origin, toolCount: connection.tools.value.length, ...problems };
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

type Trouble = Pick<ServerStatus, "error" | "hint" | "needsLogin">;

function troubleOf({ code, message, hint }: TenonError, { spec }: StatusSource, origin: ToolOrigin): Trouble {
  if (code !== "mcp.unauthorized") return { error: message, hint };
  return { error: message, hint: loginHint(spec.name, origin), needsLogin: true };
}

/** Only what can be done with this version: a log-in through a browser is not among it. */
function loginHint(name: string, origin: ToolOrigin): string {
  const where =
    origin === "client"
      ? "give the server an Authorization header with a token in your editor's settings"
      : `give it a token, for instance with: tenon mcp add ${JSON.stringify(name)} <url> --replace --header "Authorization=Bearer <token>"`;
  return `It needs a log-in: ${where}. Logging in through a browser (tenon mcp login) comes with a later version.`;
}
