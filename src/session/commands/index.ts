// Every slash command of a session, and which of them a prompt is.
import { defined } from "../../base/json/defined.js";
import type { CommandInfo } from "../event.js";
import type { Command } from "./command.js";
import { compactCommand } from "./compact.js";
import { costCommand } from "./cost.js";
import { mcpCommand } from "./mcp.js";
import { modelCommand } from "./model.js";
import { permissionsCommand } from "./permissions.js";
import { argumentHint } from "./prompts/arguments.js";
import type { PromptCommand } from "./prompts/server-prompts.js";
import { toolsCommand } from "./tools.js";
import { whyCommand } from "./why.js";
import { oneLine } from "./words.js";

export { runPrompt } from "./prompts/run.js";
export { ServerPrompts } from "./prompts/server-prompts.js";

const helpCommand: Command = {
  name: "help",
  description: "These commands",
  async run(_words, { commands }) {
    return commands
      .map(({ name, input, description }) => {
        return `- \`/${name}${input === undefined ? "" : ` ${input}`}\` ${description}`;
      })
      .join("\n");
  },
};

const COMMANDS: readonly Command[] = [
  mcpCommand,
  toolsCommand,
  whyCommand,
  permissionsCommand,
  modelCommand,
  compactCommand,
  costCommand,
  helpCommand,
];

/** Tenon's own, then every prompt of a server. */
export function commandsWith(prompts: readonly PromptCommand[]): readonly CommandInfo[] {
  const own = COMMANDS.map(({ name, description, input }) => {
    return { name, description, ...defined({ input }) };
  });
  return [...own, ...prompts.map((prompt) => infoOf(prompt))];
}

function infoOf({ name, server, prompt }: PromptCommand): CommandInfo {
  const input = oneLine(argumentHint(prompt.arguments));
  const description = oneLine(prompt.description || prompt.title || `A prompt of the server ${server}`);
  return { name: oneLine(name), description, ...defined({ input: input === "" ? undefined : input }) };
}

/** `/server:prompt words`, as it is typed; whether there is such a prompt only its server can say. */
export function promptNameIn(typed: string): { readonly server: string; name: string; words: string } | undefined {
  const [, server, prompt, words = ""] = /^\/([^\s/:]+):(\S+)(?:\s+([\s\S]*))?$/u.exec(typed.trim()) ?? [];
  if (server === undefined || prompt === undefined) return undefined;
  return { server, name: `${server}:${prompt}`, words: words.trim() };
}

export interface Invocation {
  readonly command: Command;
  readonly words: string;
}

/**
 * The command a prompt is, or undefined when it is for the model: `/etc/hosts` is no command, and `/word and more` only
 * when there is such a command.
 */
export function commandOf(prompt: string): Invocation | undefined {
  const [, name, words = ""] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/u.exec(prompt.trim()) ?? [];
  if (name === undefined) return undefined;
  const command = COMMANDS.find((one) => one.name === name);
  if (command) return { command, words: words.trim() };
  return words === "" ? { command: unknownCommand(name), words } : undefined;
}

function unknownCommand(name: string): Command {
  const run = async () => `There is no command /${name}. /help lists them.`;
  return { name, description: "", run };
}
