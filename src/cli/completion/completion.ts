// `tenon completion`: what completes the words of the table in a shell.
import { type CommandContext, readConfig } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import { allSessions } from "../sessions/find.js";
import type { Given } from "../table/command.js";
import { misused } from "../table/parse.js";
import { visibleLine } from "../terminal/visible.js";
import { bashScript } from "./bash.js";
import { fishScript } from "./fish.js";
import { wordsOf } from "./words.js";
import { zshScript } from "./zsh.js";

interface Values {
  readonly names?: string | undefined;
}

export async function runCompletion({ values, words }: Given<Values>, context: CommandContext): Promise<number> {
  if (values.names !== undefined) {
    for (const name of await namesOf(values.names, context)) context.output.write(`${visibleLine(name)}\n`);
    return EXIT.done;
  }
  const { TABLE } = await import("../table/commands.js");
  context.output.write(scriptFor(words[0] ?? "", wordsOf(TABLE)));
  return EXIT.done;
}

/** Asked by the scripts while somebody types, so nothing is started and nobody is asked. */
async function namesOf(kind: string, context: CommandContext): Promise<readonly string[]> {
  if (kind === "session") return (await allSessions(context)).map(({ id }) => id);
  const { servers } = await readConfig(context);
  return [...new Set(servers.map(({ name }) => name))].filter((name) => /^[\w.:@/+-]+$/u.test(name));
}

function scriptFor(shell: string, table: ReturnType<typeof wordsOf>): string {
  switch (shell) {
    case "bash":
      return bashScript(table);
    case "zsh":
      return zshScript(table);
    case "fish":
      return fishScript(table);
    default:
      throw misused("SHELL must be bash, zsh or fish");
  }
}
