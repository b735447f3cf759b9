// The modes of a session: which there are, and which one is in force.
import type { PermissionMode } from "../tools/index.js";

/** From the most careful to the least. */
const MODES: readonly PermissionMode[] = ["ask", "plan", "auto-edit", "bypass"];

/** `bypass` is for whoever's own configuration allows it. */
export function modesFor(mayBypass: boolean): readonly PermissionMode[] {
  return MODES.filter((mode) => mode !== "bypass" || mayBypass);
}

/** What was chosen for the session, else what the configuration says; what is not to be had any more is `ask`. */
export function modeInForce(
  chosen: PermissionMode | undefined,
  configured: PermissionMode,
  mayBypass: boolean,
): PermissionMode {
  const wanted = chosen ?? configured;
  return modesFor(mayBypass).includes(wanted) ? wanted : "ask";
}

export function readMode(value: unknown, mayBypass: boolean): PermissionMode | undefined {
  return modesFor(mayBypass).find((mode) => mode === value);
}
