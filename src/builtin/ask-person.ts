// Tools that reach the person: update_plan shows a plan, ask_person asks a question.
import { defined } from "../base/json/defined.js";
import { choiceField, listField, optionalTextField, textField } from "./fields.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { type BuiltinTool, builtinTool, done, failed, READ_ONLY } from "./tool.js";

const { plan, ask } = BUILTIN_LIMITS;

export const askPerson: BuiltinTool = builtinTool({
  name: "ask_person",
  title: "Ask the person",
  description:
    "Asks the person something only they can decide, and waits for the answer. Do not ask what you can find out, nor for " +
    "permission: that is asked by itself.",
  annotations: READ_ONLY,
  fields: {
    question: textField("The question, in plain words.", { maxChars: ask.maxChars }),
    options: listField("Answers to choose from; without any the person types one.", {
      min: 0,
      max: ask.maxOptions,
      fields: {
        label: textField("The answer, in a few words.", { maxChars: 200 }),
        description: optionalTextField("What choosing it means.", { maxChars: 1_000 }),
      },
    }),
  },
  isOffered: (ports) => ports.ask !== undefined,
  look: ({ question }) => ({ kind: "other", title: question }),
  run: async ({ question, options }, { signal, toolCallId }, { ports }) => {
    if (!ports.ask) return failed("There is nobody to ask.");
    const labels = new Set(options.map(({ label }) => label));
    if (labels.size < options.length) return failed("Two of the options have the same label.");
    const choices = options.map(({ label, description }) => ({ label, ...defined({ description }) }));
    const answer = await ports.ask(question, choices, signal, toolCallId);
    signal.throwIfAborted();
    if (answer.kind === "chosen") return done(`The person chose: ${answer.label}`);
    if (answer.kind === "typed") return done(`The person answered: ${answer.text}`);
    if (answer.kind === "unavailable") return failed(`The person cannot be asked: ${answer.reason}`);
    return done("The person does not want to answer: go on as you think best, or say why you cannot.");
  },
});

export const updatePlan: BuiltinTool = builtinTool({
  name: "update_plan",
  title: "Update the plan",
  description:
    "Shows the person your plan for a task of several steps. Send the whole plan each time a step begins or is done; " +
    "at most one entry is in progress.",
  annotations: READ_ONLY,
  fields: {
    entries: listField("The whole plan, in order; it replaces the earlier one.", {
      min: 0,
      max: plan.maxEntries,
      fields: {
        content: textField("What is to be done, in a few words.", { maxChars: plan.maxChars }),
        priority: choiceField("How much it matters.", ["high", "medium", "low"], "medium"),
        status: choiceField("Where it stands.", ["pending", "in_progress", "completed"]),
      },
    }),
  },
  isOffered: (ports) => ports.plan !== undefined,
  look: () => ({ kind: "think", title: "Update the plan" }),
  run: async ({ entries }, _, { ports }) => {
    if (!ports.plan) return failed("There is nobody to show a plan to.");
    ports.plan(entries);
    const completed = entries.filter(({ status }) => status === "completed").length;
    return done(`The plan is shown: ${completed} of ${entries.length} done.`);
  },
});
