// Where a conversation is cut: what stays always makes a valid conversation, and nothing falls between the parts.
import fc from "fast-check";
import { expect, test } from "vitest";
import { text } from "../base/text/content.js";
import type { ModelMessage } from "../models/index.js";
import { cutRecent, summaryMessages } from "./compact.js";
import { transcriptProblems } from "./transcript.js";

interface Planned {
  /** Calls of each step of the turn. */
  readonly steps: readonly number[];
  readonly hasAnswer: boolean;
}

function conversation(plan: readonly Planned[]): readonly ModelMessage[] {
  return plan.flatMap(({ steps, hasAnswer }, turn): ModelMessage[] => [
    { role: "user", content: [text(`prompt ${turn}`)] },
    ...steps.flatMap((count, step): ModelMessage[] => {
      const toolCalls = Array.from({ length: count }, (_, index) => ({
        callId: `${turn}-${step}-${index}`,
        name: "t",
        argumentsJson: "{}",
      }));
      const results = toolCalls.map(({ callId }) => ({ callId, name: "t", isError: false, content: [text("r")] }));
      return [
        { role: "assistant", text: "", toolCalls },
        { role: "tool", results },
      ];
    }),
    // Only the last turn may still be without one.
    ...(hasAnswer || turn < plan.length - 1
      ? [{ role: "assistant", text: "answer", toolCalls: [] } satisfies ModelMessage]
      : []),
  ]);
}

test("whatever is cut, a summary with what stays is a conversation any provider takes, and nothing is lost", () => {
  const planned = fc.record({
    steps: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 6 }),
    hasAnswer: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(planned, { minLength: 1, maxLength: 6 }), fc.nat({ max: 60 }), (plan, keepTokens) => {
      const messages = conversation(plan);
      const cut = cutRecent(messages, { keepTokens, tokensOf: () => 1 });
      if (!cut) return;
      expect([...cut.old, ...cut.recent]).toEqual(messages);
      expect(cut.old.length).toBeGreaterThan(0);
      expect(cut.recent.length).toBeGreaterThan(0);
      const rest = [...summaryMessages("s", "", []), ...(cut.prompt ? [cut.prompt] : []), ...cut.recent];
      expect(transcriptProblems(rest)).toEqual([]);
      const lastPrompt = messages.findLast(({ role }) => role === "user");
      expect(rest).toContain(lastPrompt);
    }),
    { numRuns: 500 },
  );
});

test("as many whole turns stay as fit", () => {
  const messages = conversation(Array.from({ length: 10 }, () => ({ steps: [], hasAnswer: true })));
  expect(cutRecent(messages, { keepTokens: 5, tokensOf: () => 1 })?.recent).toEqual(messages.slice(-4));
});

test("of a turn that does not fit, the prompt and the last steps stay", () => {
  const messages = conversation([{ steps: [1, 1, 1, 1, 1], hasAnswer: false }]);
  const cut = cutRecent(messages, { keepTokens: 5, tokensOf: () => 1 });
  expect(cut?.prompt).toBe(messages[0]);
  expect(cut?.recent).toEqual(messages.slice(-4));
});

test("a conversation that fits, or that is one prompt, is not cut", () => {
  expect(
    cutRecent(conversation([{ steps: [1], hasAnswer: true }]), { keepTokens: 99, tokensOf: () => 1 }),
  ).toBeUndefined();
  expect(
    cutRecent(conversation([{ steps: [], hasAnswer: false }]), { keepTokens: 0, tokensOf: () => 1 }),
  ).toBeUndefined();
  expect(cutRecent([], { keepTokens: 0, tokensOf: () => 1 })).toBeUndefined();
});
