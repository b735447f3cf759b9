// The words of `tenon secret` -> what to do. A value is never one of them: every process on the machine could read it.
import { parseArgs } from "node:util";
import { messageOf } from "../../base/errors.js";
import type { Parsed } from "../arguments.js";

const VERBS = ["set", "remove", "check"] as const;

export interface SecretArguments {
  readonly verb: (typeof VERBS)[number];
  readonly name: string;
  readonly json: boolean;
}

const OPTIONS = { json: { type: "boolean", default: false } } as const;

export function parseSecretArguments(words: readonly string[]): Parsed<SecretArguments> {
  try {
    const [first, ...args] = words;
    if (first === undefined) throw new Error(`say what to do: ${VERBS.join(", ")}`);
    const verb = VERBS.find((known) => known === first);
    if (!verb) throw new Error(`there is no ${JSON.stringify(first)}, only ${VERBS.join(", ")}`);
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    const [name, ...more] = positionals;
    if (name === undefined) throw new Error(`name the secret to ${verb}: keyring:<name> in your configuration`);
    // Not repeated: it may well be the secret.
    if (more.length > 0) throw new Error("one name is all it takes; the value is typed when asked for, or piped in");
    return { ok: true, options: { verb, name: checked(name), json: values.json } };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

/** What `keyring:<name>` could not ask for is not kept either. */
function checked(name: string): string {
  if (name === "" || name.trim() !== name) throw new Error("a name is not empty and has no spaces around it");
  if (/\p{Cc}/u.test(name)) throw new Error("a name has no control characters");
  return name;
}
