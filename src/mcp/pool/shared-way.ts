// The way to a log-in on a connection that several sessions use: through one of those that are there at the time.
import { TenonError } from "../../base/errors.js";
import type { LoginWay } from "../oauth/port.js";

/** `ways`: those of the sessions, the one that needs it first. All are of the same kind by key. */
export function sharedWay(kind: LoginWay["kind"], ways: () => readonly LoginWay[]): LoginWay {
  if (kind === "device") {
    return { kind, show: async (prompt) => await ofKind(ways(), "device").show(prompt) };
  }
  return { kind, start: async (start, signal) => await ofKind(ways(), "redirect").start(start, signal) };
}

function ofKind<K extends LoginWay["kind"]>(ways: readonly LoginWay[], kind: K): Extract<LoginWay, { kind: K }> {
  const found = ways.find((way): way is Extract<LoginWay, { kind: K }> => way.kind === kind);
  if (!found) throw new TenonError("mcp.unauthorized", "nobody is there any more who could log in");
  return found;
}
