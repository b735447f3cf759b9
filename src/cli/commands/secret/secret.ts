// `tenon secret`: puts into the keyring what `keyring:<name>` in the user's configuration stands for, and never shows it.
import { createInterface } from "node:readline";
import { type Readable, Writable } from "node:stream";
import { LIMITS } from "../../../base/limits.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, report } from "../../context.js";
import { visibleLine } from "../../terminal/text.js";
import type { LineSource } from "../mcp/login.js";

const HOW_TO_GIVE = "Type the value when asked for it, or pipe it in.";

export function runSecret(verb: "set" | "remove" | "check"): Run<Values<"json">> {
  return async ({ values, words }, context) => {
    const name = checkedName(words[0] ?? "");
    const value = verb === "set" ? await valueFor(name, context) : "";
    using deadline = context.world.deadline(LIMITS.secretTimeoutMs);
    const { keyring } = context;
    const { signal } = deadline;
    const tell = (answer: object, line: string) => report(context, values.json, { name, ...answer }, [line]);
    const shown = context.palette.bold(visibleLine(name));
    const missing = () =>
      refused(`the keyring has no entry ${JSON.stringify(name)}`, "tenon secret set <name> puts one there.");
    switch (verb) {
      case "set":
        await keyring.set(name, value, signal);
        return tell({ change: "set" }, `${shown} is in the keyring: "keyring:${visibleLine(name)}" stands for it`);
      case "remove":
        if (!(await keyring.remove(name, signal))) throw missing();
        return tell({ change: "removed" }, `${shown} is removed from the keyring`);
      case "check":
        if ((await keyring.get(name, signal)) === undefined) throw missing();
        return tell({ isThere: true }, `${shown} is in the keyring`);
    }
  };
}

/** Refuses names that `keyring:<name>` cannot refer to. */
function checkedName(name: string): string {
  if (name === "" || name.trim() !== name) throw misused("a name is not empty and has no spaces around it");
  if (/\p{Cc}/u.test(name)) throw misused("a name has no control characters");
  return name;
}

async function valueFor(name: string, context: CommandContext): Promise<string> {
  const given = await readSecret(`Value of ${visibleLine(name)} (not shown): `, context);
  const value = given?.replace(/\r?\n$/u, "") ?? "";
  if (value === "") throw refused("nothing was given, so nothing was kept", HOW_TO_GIVE);
  if (value.includes("\0")) throw refused("a value with a NUL character cannot be given to a server", HOW_TO_GIVE);
  if (Buffer.byteLength(value) > LIMITS.configValueMaxBytes) {
    throw refused(`a value of more than ${LIMITS.configValueMaxBytes} bytes would not be read back`, HOW_TO_GIVE);
  }
  return value;
}

/** Typed without echo at a terminal, or everything that is piped in. Undefined when the person gave up. */
export async function readSecret(question: string, { readValue }: CommandContext): Promise<string | undefined> {
  const { stdin, stderr } = process;
  if (readValue) return await readValue(question);
  return await readSecretValue(question, { input: stdin, isTerminal: stdin.isTTY === true, output: stderr });
}

/** Undefined when the person ended the input or interrupted it. The question is put to a person, in a terminal. */
export async function readSecretValue(
  question: string,
  { input, isTerminal, output }: Omit<LineSource, "onInterrupt">,
): Promise<string | undefined> {
  // Two more for the end of its line.
  const maxBytes = LIMITS.configValueMaxBytes + 2;
  const tooLong = `what is piped in is longer than ${LIMITS.configValueMaxBytes} bytes`;
  if (!isTerminal) return await readPiped(input, maxBytes, () => refused(tooLong, "Pipe in the value alone."));
  // With a terminal on one side only, readline edits the line and has nowhere to show it.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  output.write(question);
  try {
    return await new Promise<string | undefined>((resolve) => {
      reader.once("line", resolve);
      reader.once("close", () => resolve(undefined)); // also by Ctrl-C and Ctrl-D
    });
  } finally {
    reader.close();
    output.write("\n");
  }
}

/** The whole input; throws what `tooLong` makes for more bytes than allowed. */
export async function readPiped(input: Readable, maxBytes: number, tooLong: () => Error): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > maxBytes) throw tooLong();
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
