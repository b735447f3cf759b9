// The environment of commands: the person's own, without secrets. A model reads whatever a command prints.

import type { World } from "../../base/ports/world.js";
import { isSecretVariable } from "../../base/text/secrets.js";

export interface CommandEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** Names of the variables that commands do not get, sorted. */
  readonly withheld: readonly string[];
}

/** `allow` names variables that commands get all the same (`commands.env.allow` of the user's configuration). */
export function commandEnvironment(
  { env: all }: Pick<World, "env">,
  allow: readonly string[] = [],
): CommandEnvironment {
  const env: Record<string, string> = {};
  const withheld: string[] = [];
  for (const [name, value] of Object.entries(all)) {
    // Exported shell functions start with "()": they are code, not values.
    if (value === undefined || value.startsWith("()")) continue;
    if (isSecretVariable(name, value) && !allow.includes(name)) withheld.push(name);
    else env[name] = value;
  }
  return { env, withheld: withheld.sort() };
}

const NAMED_VARIABLES = 8;

/** For the result of a command that failed: what it may have missed, and where that is allowed. Empty when nothing is withheld. */
export function withheldNote(withheld: readonly string[]): string {
  if (withheld.length === 0) return "";
  const names = withheld.slice(0, NAMED_VARIABLES).join(", ");
  const rest = withheld.length > NAMED_VARIABLES ? ` and ${withheld.length - NAMED_VARIABLES} more` : "";
  return `\n[not passed to commands because they look like secrets: ${names}${rest}. The person can allow one by name with commands.env.allow in their configuration.]`;
}

/** Nobody sits in front of it: no pagers, no colours, no questions on a terminal. */
export const UNATTENDED: Readonly<Record<string, string>> = {
  TERM: "dumb",
  NO_COLOR: "1",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
};
