// `/tools`: what is in front of the model, what a search finds, and putting more in front of it.
import { LIMITS } from "../../base/limits.js";
import type { CatalogView, IncludeMode, Selection, ViewedTool } from "../../tools/index.js";
import { type Command, type CommandContext, oneLine } from "./command.js";

const MODES: readonly string[] = ["always", "manual", "search"];

export const toolsCommand: Command = {
  name: "tools",
  description: "The tools of this session; searches them, adds one, or changes how they come before the model",
  input: "[words to search for | add <tool> | always|manual|search <tool or server>]",
  async run(words, context) {
    const [verb = "", ...rest] = words.split(/\s+/u).filter((word) => word !== "");
    const name = rest.join(" ");
    if (verb === "") return overview(context.tools.inspect());
    if (verb === "add" && name !== "") {
      return answer(context.tools.include(name), (what) => `${what} is offered from the next model call on.`);
    }
    if (isMode(verb) && name !== "") {
      return answer(context.tools.setInclude(name, verb), (what) => `${what} is now in mode "${verb}".`);
    }
    return await found(words, context);
  },
};

function isMode(word: string): word is IncludeMode {
  return MODES.includes(word);
}

function answer(selection: Selection, say: (what: string) => string): string {
  return selection.ok ? say(selection.what) : `Nothing changed: ${selection.reason}.`;
}

function overview({ session, request, behindSearch, shadowed }: CatalogView): string {
  const picked = request.slice(session.length);
  const lines = [`**${session.length} tools in front of the model**`, ...session.map(toolLine)];
  if (picked.length > 0) lines.push("", `**${picked.length} found for this conversation**`, ...picked.map(toolLine));
  if (behindSearch.length > 0) {
    const total = behindSearch.reduce((sum, { count }) => sum + count, 0);
    const shares = behindSearch.map(({ server, count }) => `${oneLine(server)} (${count})`).join(", ");
    lines.push("", `${total} more are behind search: ${shares}. The model finds them with tenon_search_tools.`);
  }
  for (const { server, origin, by } of shadowed) {
    lines.push("", `The server "${oneLine(server)}" of the layer "${origin}" is shadowed by the one of "${by}".`);
  }
  return lines.join("\n");
}

function toolLine({ tool, how, score }: ViewedTool): string {
  const why = how === "always" ? "" : ` (${how.replace("_", " ")}${score === undefined ? "" : ` ${score.toFixed(2)}`})`;
  return `- \`${tool.id}\` ${oneLine(tool.definition.title ?? tool.definition.description, 80)}${why}`;
}

async function found(query: string, { tools, signal }: CommandContext): Promise<string> {
  const result = await tools.search({ query, limit: LIMITS.toolSearchResults.most }, signal);
  if (result.kind === "no_server") return "There is no such server.";
  if (result.tools.length === 0) return `Nothing of this session's tools matches "${oneLine(query, 80)}".`;
  return result.tools
    .map(({ tool, score, isOffered }) => {
      const state = isOffered ? "offered" : "behind search";
      return `- \`${tool.id}\` ${oneLine(tool.definition.description, 80)} (${score.toFixed(2)}, ${state})`;
    })
    .join("\n");
}
