// `/model`: which model answers, which others there are, and changing to one of them.
import { messageOf } from "../../base/errors.js";
import type { Command, CommandContext } from "./command.js";
import { oneLine } from "./words.js";

export const modelCommand: Command = {
  name: "model",
  description: "The model of this session; changes it, or asks the providers for all they have",
  input: "[provider/name | all]",
  async run(words, context) {
    const wanted = words.trim();
    if (wanted === "") return overview(context);
    if (wanted === "all") return await everything(context);
    try {
      context.settings.set("model", wanted);
      return `${oneLine(wanted)} answers from the next model call on.`;
    } catch (error) {
      return `Nothing changed: ${oneLine(messageOf(error), 500)}`;
    }
  },
};

function overview({ settings }: CommandContext): string {
  const { model = "", models, thinking } = settings.view;
  const lines = models.map((id) => `- \`${oneLine(id)}\`${id === model ? " (in use)" : ""}`);
  const more = settings.available
    ? ["", "Any `provider/name` will do; `/model all` asks the providers for theirs."]
    : [];
  return [`**${oneLine(model)}**, thinking: ${thinking}`, ...lines, ...more].join("\n");
}

async function everything({ settings }: CommandContext): Promise<string> {
  const asked = await settings.available?.ask();
  if (!asked || (asked.ids.length === 0 && asked.problems.length === 0)) {
    return "There is no provider that could be asked: no key is set.";
  }
  const lines = asked.ids.map((id) => `- \`${oneLine(id)}\``);
  return [...lines, ...asked.problems.map((problem) => `- could not be asked: ${oneLine(problem, 500)}`)].join("\n");
}
