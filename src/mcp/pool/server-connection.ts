// What whoever uses a server needs of it, whether it is a connection of their own or a part in a shared one.
import type { McpConnection } from "../connection.js";

export type ServerConnection = Pick<
  McpConnection,
  | "spec"
  | "state"
  | "tools"
  | "problems"
  | "lastError"
  | "link"
  | "callsAtOnce"
  | "closed"
  | "call"
  | "resume"
  | "restart"
  | "close"
>;
