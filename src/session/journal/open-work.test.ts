// What of a session is not over: its state, its open turn and what waits, from records alone.
import { describe, expect, test } from "vitest";
import type { JournalEntry } from "./entry.js";
import { OpenWork } from "./open-work.js";

const by = { client: "c", name: "editor" };
const content = [{ type: "text", text: "hello" }] as const;
const prompt: JournalEntry = { kind: "prompt", turn: 1, content, promptId: "p", by };
const queued: JournalEntry = { kind: "queued", promptId: "q", by, content };
const end: JournalEntry = { kind: "end", turn: 1, stopReason: "end_turn" };
const question: JournalEntry = { kind: "question", id: "1", of: "permission", shown: {} };
const environment = { model: "test/one" };

function workOf(...entries: readonly JournalEntry[]): OpenWork {
  const work = new OpenWork();
  for (const entry of entries) work.add(entry);
  return work;
}

describe("what of a session is not over", () => {
  test.each([
    ["nothing was said", [], "idle", undefined],
    ["a turn runs", [prompt], "running", {}],
    ["a turn that no gateway's client began", [{ kind: "prompt", turn: 1, content }], "running", undefined],
    ["a turn ended", [prompt, end], "idle", undefined],
    ["a turn failed", [prompt, { kind: "error", turn: 1, code: "internal", message: "" }], "idle", undefined],
    ["a question is open", [prompt, question], "waiting", {}],
    ["a question was answered", [prompt, question, { kind: "answered", id: "1", answer: "once" }], "running", {}],
    ["a question of a turn that is over", [prompt, question, end], "idle", undefined],
    [
      "another owner goes on, and asks anew",
      [prompt, question, { kind: "continued", turn: 1, attempt: 1, reason: "" }],
      "running",
      {},
    ],
    ["a prompt waits", [queued], "running", {}],
    ["a prompt waited, and its turn began", [queued, { ...prompt, promptId: "q" }, end], "idle", undefined],
    ["a prompt was taken back", [queued, { kind: "unqueued", promptId: "q" }], "idle", undefined],
    ["a client's environment", [{ ...prompt, environment }], "running", { environment }],
    ["the environment of what waits", [prompt, end, { ...queued, environment }], "running", { environment }],
    ["it was closed in the middle", [prompt, question, { kind: "closed" }], "resting", undefined],
    ["it was opened again", [prompt, end, { kind: "closed" }, prompt], "running", {}],
  ] as const)("%s", (_, entries, state, left) => {
    const work = workOf(...entries);
    expect([work.state, work.left]).toEqual([state, left]);
  });
});
