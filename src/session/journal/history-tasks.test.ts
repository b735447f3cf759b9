// A call that goes on at its server: what a journal with it comes to, and what the model is given of it.
import { expect, test } from "vitest";
import { text } from "../../base/text/content.js";
import { transcriptProblems } from "../../engine/index.js";
import { mcpToolId } from "../../tools/index.js";
import type { JournalEntry, OpenTask } from "./entry.js";
import { History } from "./history.js";

const TASK: OpenTask = {
  toolCallId: "1-1",
  server: "s",
  origin: "client",
  mark: "m",
  tool: "work",
  lasting: { id: "task-1", startedMs: 5 },
};
const subject = { name: "mcp__s__work" };
const BEGUN: readonly JournalEntry[] = [
  { kind: "prompt", turn: 1, content: [text("go")] },
  { kind: "transcript", change: { kind: "added", messages: [{ role: "user", content: [text("go")] }] } },
  { kind: "call", toolCallId: "1-1", subject, arguments: {} },
  { kind: "call", toolCallId: "1-2", subject, arguments: {} },
  { kind: "intent", toolCallId: "1-1", definitionHash: "h" },
  { kind: "intent", toolCallId: "1-2", definitionHash: "h" },
  { kind: "task", ...TASK },
];
const RESULT = { callId: "1-1", name: subject.name, isError: false, content: [text("the result")], origin: "s / work" };

function read(entries: readonly JournalEntry[]): { history: History; repairs: readonly JournalEntry[] } {
  const history = new History();
  for (const entry of entries) history.add(entry);
  const repairs = history.end();
  expect(transcriptProblems(history.restored.messages)).toEqual([]);
  return { history, repairs };
}

/** As the next reader finds them. */
const written = (entries: readonly JournalEntry[]) => [...entries, ...read(entries).repairs];
const said = (entries: readonly JournalEntry[]) => JSON.stringify(read(entries).history.restored.messages);

test("after a crash it still runs: no outcome is made up, and the model is told that the result follows", () => {
  const { history, repairs } = read(BEGUN);
  expect(repairs.filter(({ kind }) => kind === "outcome")).toEqual([
    { kind: "outcome", toolCallId: "1-2", outcome: expect.objectContaining({ kind: "unknown" }), elapsedMs: 0 },
  ]);
  expect(history.restored.tasks).toEqual([{ kind: "task", ...TASK, subject }]);
  const results = history.restored.messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  expect(results[0]).toMatchObject({
    isError: false,
    content: [{ text: expect.stringContaining("do not call it again") }],
  });
  const shown = [...history.events()].flatMap((event) => (event.kind === "turn" ? [event.event.kind] : []));
  expect(shown).toEqual(["call_started", "call_running", "call_started", "call_ended"]);
});

test("loaded again and again it is the same, until it has an outcome", () => {
  const once = written(BEGUN);
  expect(read(once).repairs).toEqual([]);
  expect(read(once).history.restored.tasks).toHaveLength(1);
  const outcome: JournalEntry = {
    kind: "outcome",
    toolCallId: "1-1",
    outcome: { kind: "done", content: [] },
    elapsedMs: 9,
  };
  expect(read([...once, outcome]).history.restored.tasks).toEqual([]);
});

test("a result before the next prompt takes the place of the promise, also when it is written twice", () => {
  const resolved: JournalEntry = { kind: "transcript", change: { kind: "resolved", result: RESULT } };
  const entries = [...written(BEGUN), resolved];
  expect(said(entries)).toContain("the result");
  expect(said(entries)).not.toContain("do not call it again");
  expect(said([...entries, resolved])).toBe(said(entries));
});

test("a result after it changes nothing that was said", () => {
  const later: JournalEntry[] = [
    { kind: "prompt", turn: 2, content: [text("and?")] },
    { kind: "transcript", change: { kind: "added", messages: [{ role: "user", content: [text("and?")] }] } },
  ];
  const entries = [...written(BEGUN), ...later];
  const resolved: JournalEntry = { kind: "transcript", change: { kind: "resolved", result: RESULT } };
  expect(said([...entries, resolved])).toBe(said(entries));
});

test("a note waits for the prompt that takes it along, through crashes and prompts that were dropped", () => {
  const note: JournalEntry = { kind: "note", toolCallId: "1-1", content: [text("late result")] };
  const prompt: JournalEntry = { kind: "prompt", turn: 2, content: [text("and?")] };
  const messages = [{ role: "user" as const, content: [text("late result"), text("and?")] }];
  const taken: JournalEntry = { kind: "transcript", change: { kind: "added", messages }, notes: ["1-1"] };
  const cut: JournalEntry = {
    kind: "transcript",
    change: { kind: "cut", length: read(written(BEGUN)).history.restored.messages.length },
  };
  const base = [...written(BEGUN), note];
  const notes = (entries: readonly JournalEntry[]) =>
    read(entries).history.restored.notes.map(({ toolCallId }) => toolCallId);
  expect(notes(base)).toEqual(["1-1"]);
  expect(notes([...base, prompt])).toEqual(["1-1"]);
  expect(notes([...base, prompt, taken])).toEqual([]);
  expect(notes([...base, prompt, taken, cut])).toEqual(["1-1"]);
});

test("after a crash Tenon's own words about a failed call are not headed as the server's, and an error without words says so", () => {
  const id = mcpToolId("s", "work");
  const tool = { id, origin: "client", source: "s", label: "s / work", definitionHash: "h" } as const;
  const definition = { name: "work", description: "", inputSchema: {} };
  const entries: JournalEntry[] = [
    ...BEGUN.slice(0, 2),
    ...["1-1", "1-2"].flatMap((toolCallId, index): JournalEntry[] => {
      const own = { kind: "failed", isOwn: true, content: [text("s cannot be reached")] } as const;
      const outcome = index === 0 ? own : ({ kind: "failed", content: [] } as const);
      return [
        { kind: "call", toolCallId, subject: { ...subject, tool: { ...tool, definition } }, arguments: {} },
        { kind: "intent", toolCallId, definitionHash: "h" },
        { kind: "outcome", toolCallId, outcome, elapsedMs: 1 },
      ];
    }),
  ];
  const { messages } = read(entries).history.restored;
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  expect(results).toMatchObject([
    { isError: true, content: [text("s cannot be reached")] },
    { isError: true, origin: "s / work", content: [{ text: expect.stringContaining("no details") }] },
  ]);
  expect(results[0]).not.toHaveProperty("origin");
});
