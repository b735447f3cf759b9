// update_plan: the agent's plan, where the person can see it.

import { choiceField, listField, textField } from "../fields.js";
import { BUILTIN_LIMITS } from "../limits.js";
import type { PlanEntry } from "../ports.js";
import { type BuiltinTool, builtinTool, done, failed } from "../tool.js";

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
