// ask_person: a question to the person, with answers to choose from.
import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import type { ToolOutcome } from "../tools/index.js";
import { choiceField, listField, optionalTextField, textField } from "./fields.js";
import { BUILTIN_LIMITS } from "./limits.js";
import type { AskAnswer, AskOption, PlanEntry } from "./ports.js";
import { type BuiltinTool, builtinTool, done, failed } from "./tool.js";

const { maxChars, maxOptions } = BUILTIN_LIMITS.ask;
const question = textField("question", "The question, in plain words.", { maxChars });
const label = textField("label", "The answer, in a few words.", { maxChars: 200 });
const description = optionalTextField("description", "What choosing it means.", { maxChars: 1_000 });
const options = listField<AskOption>("options", "Answers to choose from; without any the person types one.", {
  min: 0,
  max: maxOptions,
  fields: [label, description],
  read: (given) => {
    const about = description.from(given);
    return { label: label.from(given), ...defined({ description: about }) };
  },
});

export const askPerson: BuiltinTool<"ask_person"> = builtinTool({
  name: "ask_person",
  title: "Ask the person",
  description:
    "Asks the person something only they can decide, and waits for the answer. Do not ask what you can find out, nor for " +
    "permission: that is asked by itself.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  fields: [question, options],
  parse: (given) => ({ question: question.from(given), options: options.from(given) }),
  isOffered: (ports) => ports.ask !== undefined,
  describe: (args) => ({ kind: "other", title: args.question, locations: [] }),
  run: async (args, { signal, toolCallId }, { ports }) => {
    if (!ports.ask) return failed("There is nobody to ask.");
    const labels = new Set(args.options.map((option) => option.label));
    if (labels.size < args.options.length) return failed("Two of the options have the same label.");
    const answer = await ports.ask(args.question, args.options, signal, toolCallId);
    signal.throwIfAborted();
    return outcomeOf(answer);
  },
});

function outcomeOf(answer: AskAnswer): ToolOutcome {
  switch (answer.kind) {
    case "chosen":
      return done(`The person chose: ${answer.label}`);
    case "typed":
      return done(`The person answered: ${answer.text}`);
    case "declined":
      return done("The person does not want to answer: go on as you think best, or say why you cannot.");
    case "unavailable":
      return failed(`The person cannot be asked: ${answer.reason}`);
    default:
      return unreachable(answer);
  }
}

// update_plan: the agent's plan, where the person can see it.
const content = textField("content", "What is to be done, in a few words.", { maxChars: BUILTIN_LIMITS.plan.maxChars });
const priority = choiceField("priority", "How much it matters.", {
  values: ["high", "medium", "low"],
  fallback: "medium",
});
const status = choiceField("status", "Where it stands.", { values: ["pending", "in_progress", "completed"] });
const entries = listField<PlanEntry>("entries", "The whole plan, in order; it replaces the earlier one.", {
  min: 0,
  max: BUILTIN_LIMITS.plan.maxEntries,
  fields: [content, priority, status],
  read: (given) => ({ content: content.from(given), priority: priority.from(given), status: status.from(given) }),
});

export const updatePlan: BuiltinTool<"update_plan"> = builtinTool({
  name: "update_plan",
  title: "Update the plan",
  description:
    "Shows the person your plan for a task of several steps. Send the whole plan each time a step begins or is done; " +
    "at most one entry is in progress.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  fields: [entries],
  parse: (given) => ({ entries: entries.from(given) }),
  isOffered: (ports) => ports.plan !== undefined,
  describe: () => ({ kind: "think", title: "Update the plan", locations: [] }),
  run: async (args, _, { ports }) => {
    if (!ports.plan) return failed("There is nobody to show a plan to.");
    ports.plan(args.entries);
    const completed = args.entries.filter((entry) => entry.status === "completed").length;
    return done(`The plan is shown: ${completed} of ${args.entries.length} done.`);
  },
});
