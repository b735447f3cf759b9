// Runs what was typed: finds the command in the table, shows help where it is asked for, and turns failures into words and a code.
import { type ErrorCode, type TenonError, toTenonError } from "../../base/errors.js";
import { VERSION } from "../../base/version.js";
import { type CommandContext, printJson } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import { visible } from "../terminal/visible.js";
import type { TableEntry } from "./command.js";
import { commandOf, type Found, findEntry } from "./find.js";
import { commandHelp, groupHelp, tableHelp, usageLine } from "./help.js";

const TITLE: string = `tenon ${VERSION}: an agent that joins ACP editors and MCP tools`;

/** Resolves with the exit code; rejects for a bug only. */
export async function runWords(
  table: readonly TableEntry[],
  words: readonly string[],
  context: () => CommandContext,
): Promise<number> {
  const own = beforeTerminator(words);
  const isHelp = own[0] === "help" || own.some((word) => word === "--help" || word === "-h");
  let found: Found = { path: [], rest: words };
  try {
    found = findEntry(table, own[0] === "help" ? words.slice(1) : words);
    if (isHelp) return showHelp(table, found, context());
    return await commandOf(found).run(found.rest, context);
  } catch (thrown) {
    return tellFailure(toTenonError(thrown), { found, isJson: own.includes("--json") }, context());
  }
}

function showHelp(table: readonly TableEntry[], { path }: Found, context: CommandContext): number {
  const [first, second] = path;
  const lines =
    second?.kind === "command" && first
      ? commandHelp(second, ["tenon", first.name], context)
      : first?.kind === "command"
        ? commandHelp(first, ["tenon"], context)
        : first
          ? groupHelp(first, ["tenon"], context)
          : tableHelp(table, TITLE, context);
  context.output.write(`${lines.join("\n")}\n`);
  return EXIT.done;
}

function tellFailure(
  error: TenonError,
  { found, isJson }: { readonly found: Found; readonly isJson: boolean },
  context: CommandContext,
): number {
  const { code, message, hint } = error;
  const isUsage = code === "usage.invalid";
  const cure = hint === "" && isUsage ? usageHint(found) : [hint];
  if (isJson) printJson(context, { error: { code, message, hint: cure.join(" ") } });
  const whose = ["tenon", ...found.path.slice(0, 1).map(({ name }) => name)].join(" ");
  const below = cure.map((line) => `  ${visible(line)}\n`).join("");
  context.errorOutput.write(`${whose}: ${visible(message)}\n${below}`);
  return exitCodeOf(code);
}

/** How it is used, and where more is said. */
function usageHint({ path }: Found): readonly string[] {
  const words = ["tenon", ...path.map(({ name }) => name)];
  const last = path.at(-1);
  const usage = last?.kind === "command" ? [`Usage: ${usageLine(last, words.slice(0, -1))}`] : [];
  return [...usage, `See ${words.join(" ")} --help.`];
}

export function exitCodeOf(code: ErrorCode): number {
  if (code === "usage.invalid") return EXIT.usage;
  if (code === "cancelled") return EXIT.interrupted;
  if (code === "mcp.unauthorized" || code === "model.unauthorized") return EXIT.auth;
  return code.startsWith("config.") ? EXIT.config : EXIT.failed;
}

function beforeTerminator(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  return end < 0 ? words : words.slice(0, end);
}
