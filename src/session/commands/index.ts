// The slash commands of a session, and which of them a prompt is.
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { markForeign } from "../../base/text/marking.js";
import type { CommandInfo } from "../events.js";
import { type Command, type CommandContext, oneLine } from "./command.js";
import { mcpCommand } from "./mcp.js";
import { permissionsCommand } from "./permissions.js";
import { toolsCommand } from "./tools.js";

const whyCommand: Command = {
  name: "why",
  description: "Why a tool is, or is not, in front of the model",
  input: "<tool>",
  async run(words, { tools }) {
    const name = words.trim();
    if (name === "")
      return "Say which tool: `/why <tool>`, by its own name, `server/tool`, or the name the model sees.";
    const { text, candidates = [] } = tools.why(name);
    const more = candidates.length === 0 ? [] : ["", ...candidates.map((path) => `- ${markForeign(path)}`)];
    return [markForeign(text), ...more].join("\n");
  },
};

const modelCommand: Command = {
  name: "model",
  description: "The model of this session; changes it, or asks the providers for all they have",
  input: "[provider/name | all]",
  async run(words, context) {
    const wanted = words.trim();
    if (wanted === "") return modelOverview(context);
    if (wanted === "all") return await modelsOfProviders(context);
    try {
      context.settings.set("model", wanted);
      return `${oneLine(wanted)} answers from the next model call on.`;
    } catch (error) {
      return `Nothing changed: ${oneLine(messageOf(error), 500)}`;
    }
  },
};

function modelOverview({ settings }: CommandContext): string {
  const { model = "", models, thinking } = settings.view;
  const lines = models.map((id) => `- \`${oneLine(id)}\`${id === model ? " (in use)" : ""}`);
  const more = settings.available
    ? ["", "Any `provider/name` will do; `/model all` asks the providers for theirs."]
    : [];
  return [`**${oneLine(model)}**, thinking: ${thinking}`, ...lines, ...more].join("\n");
}

async function modelsOfProviders({ settings }: CommandContext): Promise<string> {
  const { ids = [], problems = [] } = (await settings.available?.ask()) ?? {};
  const failed = problems.map((problem) => `- could not be asked: ${oneLine(problem, 500)}`);
  const lines = [...ids.map((id) => `- \`${oneLine(id)}\``), ...failed];
  return lines.length === 0 ? "There is no provider that could be asked: no key is set." : lines.join("\n");
}

const compactCommand: Command = {
  name: "compact",
  description: "Summarises the conversation so far, to make room in the model's window",
  async run(_words, { compact }) {
    await compact();
    return "";
  },
};

const costCommand: Command = {
  name: "cost",
  description: "Tokens this session used, and what they cost where the price is known",
  async run(_words, { usage }) {
    const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, costUsd } = usage;
    const cached = cachedInputTokens > 0 ? `, ${cachedInputTokens} of them from the provider's cache` : "";
    const written = cacheWriteTokens > 0 ? `, ${cacheWriteTokens} written to it` : "";
    const cost = costUsd === undefined ? "The price of this model is not known." : `About $${costUsd.toFixed(4)}.`;
    return `${inputTokens} tokens in${cached}${written}; ${outputTokens} out. ${cost}`;
  },
};

const helpCommand: Command = {
  name: "help",
  description: "These commands",
  async run(_words, { commands }) {
    const lines = commands.map(({ name, input, description }) => {
      return `- \`/${input === undefined ? name : `${name} ${input}`}\` ${description}`;
    });
    return lines.join("\n");
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

/** Tenon's own, without the prompts of servers. */
export const OWN_COMMANDS: readonly CommandInfo[] = COMMANDS.map(({ name, description, input }) => {
  return { name, description, ...defined({ input }) };
});

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
  const run = async () => `There is no command /${name}. /help lists them.`;
  return words === "" ? { command: { name, description: "", run }, words } : undefined;
}

/** `/server:prompt words`, as it is typed; whether there is such a prompt only its server can say. */
export function promptNameIn(typed: string): { readonly server: string; name: string; words: string } | undefined {
  const [, server, prompt, words = ""] = /^\/([^\s/:]+):(\S+)(?:\s+([\s\S]*))?$/u.exec(typed.trim()) ?? [];
  if (server === undefined || prompt === undefined) return undefined;
  return { server, name: `${server}:${prompt}`, words: words.trim() };
}
