// `/why`: what became of a tool.
import { markForeign } from "../../base/text/marking.js";
import type { Command } from "./command.js";

export const whyCommand: Command = {
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
