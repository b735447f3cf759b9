// `tenon secret`: puts into the keyring what `keyring:<name>` in the user's configuration stands for, and never shows it.
import { TenonError } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { EXIT } from "../exit.js";
import type { Keyring } from "../keyring.js";
import type { Given } from "../table/command.js";
import { misused } from "../table/parse.js";
import { visibleLine } from "../terminal/visible.js";
import { type CommandContext, print, printJson } from "./context.js";

export interface SecretContext extends CommandContext {
  readonly keyring: Keyring;
  /** Typed by the person where nobody sees it, or piped in; undefined when they gave up. */
  readonly readValue: (question: string) => Promise<string | undefined>;
}

export type SecretVerb = "set" | "remove" | "check";

export interface SecretValues {
  readonly json?: boolean | undefined;
}

/** Resolves with the exit code. */
export async function runSecret(
  verb: SecretVerb,
  { values, words }: Given<SecretValues>,
  context: SecretContext,
): Promise<number> {
  await perform({ verb, name: checked(words[0] ?? ""), json: values.json === true }, context);
  return EXIT.done;
}

interface Order {
  readonly verb: SecretVerb;
  readonly name: string;
  readonly json: boolean;
}

/** What `keyring:<name>` could not ask for is not kept either. */
function checked(name: string): string {
  if (name === "" || name.trim() !== name) throw misused("a name is not empty and has no spaces around it");
  if (/\p{Cc}/u.test(name)) throw misused("a name has no control characters");
  return name;
}

async function perform({ verb, name, json }: Order, context: SecretContext): Promise<void> {
  const value = verb === "set" ? await valueFor(name, context) : "";
  using deadline = context.world.deadline(LIMITS.secretTimeoutMs);
  const { keyring } = context;
  const { signal } = deadline;
  const tell = (answer: Readonly<Record<string, string | boolean>>, line: string) =>
    json ? printJson(context, { name, ...answer }) : print(context, [line]);
  const shown = context.palette.bold(visibleLine(name));
  switch (verb) {
    case "set":
      await keyring.set(name, value, signal);
      return tell({ change: "set" }, `${shown} is in the keyring: "keyring:${visibleLine(name)}" stands for it`);
    case "remove":
      if (!(await keyring.remove(name, signal))) throw notThere(name);
      return tell({ change: "removed" }, `${shown} is removed from the keyring`);
    case "check":
      if ((await keyring.get(name, signal)) === undefined) throw notThere(name);
      return tell({ isThere: true }, `${shown} is in the keyring`);
  }
}

async function valueFor(name: string, { readValue }: SecretContext): Promise<string> {
  const value = (await readValue(`Value of ${visibleLine(name)} (not shown): `))?.replace(/\r?\n$/u, "");
  if (value === undefined || value === "") throw unusable("nothing was given, so nothing was kept");
  if (value.includes("\0")) throw unusable("a value with a NUL character cannot be given to a server");
  if (Buffer.byteLength(value) > LIMITS.configValueMaxBytes) {
    throw unusable(`a value of more than ${LIMITS.configValueMaxBytes} bytes would not be read back`);
  }
  return value;
}

function unusable(message: string): TenonError {
  return new TenonError("config.invalid", message, { hint: "Type the value when asked for it, or pipe it in." });
}

function notThere(name: string): TenonError {
  return new TenonError("config.invalid", `the keyring has no entry ${JSON.stringify(name)}`, {
    hint: "tenon secret set <name> puts one there.",
  });
}
