// What a command inherits: the person's environment, without what looks like a secret. A model reads whatever a command prints.
import type { World } from "../../base/world.js";

const SECRET_NAME =
  /(^|_)(API_?KEY|KEYS?|TOKENS?|SECRETS?|PASS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|BEARER|COOKIE|DSN|PAT)(_|$)/iu;
/** Names that look like secrets and are none: without them `git push` over ssh would not work. */
const HARMLESS: ReadonlySet<string> = new Set(["SSH_AUTH_SOCK", "XAUTHORITY"]);
/** Somebody's name and password inside a URL; and the forms in which providers hand out keys. */
const SECRET_VALUE = /:\/\/[^/\s:@]*:[^/\s@]+@|^(sk|pk|rk|ghp|gho|ghs|ghu|glpat|xox[abpr])[-_][A-Za-z0-9_-]{16,}$/u;

export function commandEnvironment(world: World): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(world.env)) {
    // Exported shell functions start with "()": they are code, not values.
    if (value === undefined || value.startsWith("()")) continue;
    if (isSecret(name, value)) continue;
    env[name] = value;
  }
  return env;
}

function isSecret(name: string, value: string): boolean {
  return (SECRET_NAME.test(name) && !HARMLESS.has(name)) || SECRET_VALUE.test(value);
}

/** Nobody sits in front of it: no pagers, no colours, no questions on a terminal. */
export const UNATTENDED: Readonly<Record<string, string>> = {
  TERM: "dumb",
  NO_COLOR: "1",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
};
