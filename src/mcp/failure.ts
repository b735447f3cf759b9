// Turns the way a server's process ended into an error a person can act on.
import { TenonError } from "../base/errors.js";
import type { ChildExit } from "../base/world.js";
import type { ServerSpec } from "./spec.js";

export function connectError(spec: ServerSpec, exit: ChildExit, stderrTail: string): TenonError {
  const command = spec.kind === "stdio" ? spec.command : spec.url;
  if (exit.kind === "not_started") {
    return new TenonError("mcp.spawn_failed", `cannot start "${command}": ${exit.error.message}`, {
      cause: exit.error,
      hint: `Check that "${command}" exists and can be run from the session's directory.`,
    });
  }
  const how = exit.signal === null ? `with code ${exit.code}` : `by ${exit.signal}`;
  const said = stderrTail === "" ? "" : `; its stderr ends: ${stderrTail}`;
  return new TenonError("mcp.connect_failed", `"${command}" ended ${how} before it was ready${said}`);
}
