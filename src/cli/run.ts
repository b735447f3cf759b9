// Runs a command line: finds the command in the table, shows help, and turns failures into messages and exit codes.
import { type TenonError, toTenonError } from "../base/errors.js";
import { nearest } from "../base/text/nearest.js";
import { VERSION } from "../base/version.js";
import { type Command, misused, type TableEntry } from "./command.js";
import { type CommandContext, printJson, realContext } from "./context.js";
import { EXIT, exitCodeOf, onUncaught } from "./exit.js";
import { helpLines, usageLine } from "./help.js";
import { TABLE } from "./table.js";
import { visible } from "./terminal/text.js";

/** Every command but a plain `tenon acp`. `serve` runs that one: it is part of the start chunk and must exist once. */
export async function runCommandLine(
  words: readonly string[],
  serve: NonNullable<CommandContext["serve"]>,
): Promise<void> {
  // A reader that closed the output early does not change the exit code. `tenon acp` handles its own streams.
  if (words[0] !== "acp") {
    for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
    onUncaught((error) => {
      const details = process.env["TENON_LOG"] === "debug" ? (error.stack ?? error.message) : error.message;
      process.stderr.write(
        `tenon ${words[0] ?? ""}: internal error: ${details}\n  Report it with the output of TENON_LOG=debug.\n`,
      );
      process.exit(EXIT.failed);
    });
  }
  process.exitCode = await runWords(TABLE, words, () => ({ ...realContext(), serve }));
}

/** The entries that the words name, a group, then its command, none where none is named; and the words left for them. */
interface Found {
  readonly path: readonly TableEntry[];
  readonly rest: readonly string[];
}

/** Resolves with the exit code; rejects for a bug only. */
export async function runWords(
  table: readonly TableEntry[],
  words: readonly string[],
  context: () => CommandContext,
): Promise<number> {
  const end = words.indexOf("--");
  const own = end < 0 ? words : words.slice(0, end);
  let found: Found = { path: [], rest: words };
  try {
    if (own[0] === "version" && own.length === 1) return printVersion(context());
    // The bare word opens the chat.
    const named = words.length === 0 ? ["chat"] : words;
    found = findEntry(table, own[0] === "help" ? words.slice(1) : named);
    const isHelp = own[0] === "help" || (own[1] === "help" && found.path[0]?.kind === "group");
    if (!isHelp && !own.includes("--help") && !own.includes("-h")) {
      return await commandOf(found).run(found.rest, context);
    }
    const shown = context();
    shown.output.write(`${helpLines(table, found.path, shown).join("\n")}\n`);
    return EXIT.done;
  } catch (thrown) {
    return printFailure(toTenonError(thrown), found.path, own.includes("--json"), context());
  }
}

function printVersion({ output }: CommandContext): number {
  output.write(`${VERSION}\n`);
  return EXIT.done;
}

function printFailure(error: TenonError, path: Found["path"], isJson: boolean, context: CommandContext): number {
  const { code, message, hint } = error;
  const hints = hint === "" && code === "usage.invalid" ? usageHints(path) : [hint];
  if (isJson) printJson(context, { error: { code, message, hint: hints.join(" ") } });
  const name = ["tenon", ...path.slice(0, 1).map((entry) => entry.name)].join(" ");
  const below = hints.map((line) => `  ${visible(line)}\n`).join("");
  context.errorOutput.write(`${name}: ${visible(message)}\n${below}`);
  return exitCodeOf(code);
}

function usageHints(path: Found["path"]): readonly string[] {
  const words = ["tenon", ...path.map(({ name }) => name)];
  const last = path.at(-1);
  const usage = last?.kind === "command" ? [`Usage: ${usageLine(last, words.slice(0, -1))}`] : [];
  return [...usage, `See ${words.join(" ")} --help.`];
}

/** Throws `usage.invalid` for a word that names nothing. Words that begin with "-" are options and stay. */
function findEntry(table: readonly TableEntry[], words: readonly string[]): Found {
  const [first, ...rest] = words;
  if (first === undefined || first === "--help" || first === "-h") return { path: [], rest: words };
  if (first.startsWith("-")) {
    const near = nearest(first.replace(/^-+/u, ""), ["help", "version"]);
    throw misused(`there is no option ${first}${near === undefined ? "" : `; did you mean --${near}?`}`);
  }
  const entry = entryNamed(table, first, "tenon");
  if (entry.kind === "command") return { path: [entry], rest };
  const [second, ...more] = rest;
  if (second === undefined || second.startsWith("-")) return { path: [entry], rest };
  if (second === "help") return findEntry(table, [first, ...more]);
  return { path: [entry, entryNamed(entry.commands, second, `tenon ${entry.name}`)], rest: more };
}

/** The command to run; a group's fallback where none is named. Throws `usage.invalid` where there is none. */
function commandOf({ path }: Found): Command {
  const entry = path.at(-1);
  if (!entry) throw misused("say what to do");
  if (entry.kind === "command") return entry;
  const { commands, fallback, name } = entry;
  const found = commands.find((one) => one.name === fallback);
  if (found) return found;
  throw misused(`say what to do: tenon ${name} ${commands.map((one) => one.name).join("|")}`);
}

function entryNamed<E extends TableEntry>(entries: readonly E[], word: string, before: string): E {
  const found = entries.find(({ name }) => name === word);
  if (found) return found;
  const known = entries.map(({ name }) => name);
  const near = nearest(word, known);
  const meant = near === undefined ? `; there is ${known.join(", ")}` : `; did you mean ${before} ${near}?`;
  throw misused(`there is no command ${JSON.stringify(`${before} ${word}`)}${meant}`);
}
