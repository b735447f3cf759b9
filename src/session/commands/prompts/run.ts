// Runs a server's prompt: what it gives becomes the person's prompt; what is missing is asked for, with what the server suggests.

import { messageOf } from "../../../base/errors.js";
import { isJsonObject } from "../../../base/json/json.js";
import { text } from "../../../base/text/content.js";
import { alreadyMarked, type MarkedContent } from "../../../base/text/marking.js";
import { complete, getPrompt, type Link, type McpPromptMessage } from "../../../mcp/index.js";
import { SESSION_LIMITS } from "../../limits.js";
import { bounded } from "../../mentions/attach.js";
import { oneLine } from "../words.js";
import { argumentHint, readArguments } from "./arguments.js";
import type { PromptCommand } from "./server-prompts.js";

export type PromptRun =
  | { readonly kind: "content"; readonly content: MarkedContent }
  /** Nothing for the model: words for the person, in Markdown. */
  | { readonly kind: "said"; readonly text: string };

export async function runPrompt(command: PromptCommand, words: string, signal: AbortSignal): Promise<PromptRun> {
  const link = command.link();
  if (!link) return said(`The server "${oneLine(command.server)}" is not connected; \`/mcp\` says why.`);
  const read = readArguments(words, command.prompt.arguments);
  if (!read.ok) {
    const suggestions = await suggested(command, link, { names: read.missing, given: {} }, signal);
    return said([`${usage(command)}: ${read.reason}.`, ...suggestions].join("\n"));
  }
  try {
    const { messages } = await getPrompt(link, command.prompt.name, read.given, { signal });
    const content = contentOf(messages);
    return content.length === 0 ? said("The prompt is empty: nothing was sent.") : { kind: "content", content };
  } catch (error) {
    signal.throwIfAborted();
    const names = Object.keys(read.given);
    const suggestions = await suggested(command, link, { names, given: read.given }, signal);
    return said([`${usage(command)} failed: ${oneLine(messageOf(error), 500)}`, ...suggestions].join("\n"));
  }
}

function said(words: string): PromptRun {
  return { kind: "said", text: words };
}

function usage({ name, prompt }: PromptCommand): string {
  return `\`/${oneLine(`${name} ${argumentHint(prompt.arguments)}`.trim())}\``;
}

/** Of each argument what the server would complete it to; nothing where it offers none. */
async function suggested(
  { prompt }: PromptCommand,
  link: Link,
  { names, given }: { readonly names: readonly string[]; readonly given: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { name, description = "" } of prompt.arguments.filter((argument) => names.includes(argument.name))) {
    const values = await completions(link, { prompt: prompt.name, name, value: given[name] ?? "", given }, signal);
    const told = [description, values.length === 0 ? "" : `one of: ${values.join(", ")}`].filter((part) => part !== "");
    if (told.length > 0) lines.push(`- ${oneLine(`${name}: ${told.join("; ")}`, 500)}`);
  }
  return lines;
}

async function completions(
  link: Link,
  about: { prompt: string; name: string; value: string; given: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (!isJsonObject(link.capabilities["completions"])) return [];
  const { prompt, name, value } = about;
  const given = Object.fromEntries(Object.entries(about.given).filter(([other]) => other !== name));
  const ask = async (start: string) => {
    const target = { kind: "prompt", name: prompt } as const;
    const request = { target, argument: { name, value: start }, given };
    return (await complete(link, request, { signal, timeoutMs: SESSION_LIMITS.completionTimeoutMs })).values;
  };
  const values = await ask(value);
  // A wrong value has no completion: then the first ones of all are of more use.
  const all = values.length === 0 && value !== "" ? await ask("") : values;
  return all.slice(0, SESSION_LIMITS.completionsShown);
}

/** One voice is the person's own; of several, each says who speaks. */
function contentOf(messages: readonly McpPromptMessage[]): MarkedContent {
  const isDialogue = messages.some(({ role }) => role === "assistant");
  return alreadyMarked(
    messages.flatMap(({ role, content }) => {
      const words = content.flatMap((block) => bounded(block));
      return isDialogue ? [text(role === "assistant" ? "Assistant:" : "User:"), ...words] : words;
    }),
  );
}
