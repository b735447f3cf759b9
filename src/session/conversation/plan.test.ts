// The plan as the model keeps it in sight while something of it is open.
import { expect, test } from "vitest";
import { plainText } from "../../base/text/content.js";
import { pinnedPlan } from "./conversation.js";

test("an open plan is pinned; an empty or a finished one is not", () => {
  const entry = { content: "Measure twice", priority: "high", status: "in_progress" } as const;
  expect(pinnedPlan([])).toEqual([]);
  expect(plainText(pinnedPlan([entry]))).toContain("- in_progress: Measure twice");
  expect(pinnedPlan([{ ...entry, status: "completed" }])).toEqual([]);
});
