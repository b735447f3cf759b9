// A conversation is the same whether it was followed live or read from its journal.
import { expect, test } from "vitest";
import type { JsonObject } from "../wire/json.js";
import { withVisibleText } from "../wire/json.js";
import { answeredText, Conversation, type Item } from "./conversation.js";
import { Journal } from "./journal.js";

const text = (words: string) => ({ type: "text", text: words });
const by = { client: "c2", name: "editor" };

const UPDATES: readonly JsonObject[] = [
  { sessionUpdate: "user_message_chunk", content: text("weather?"), _meta: { tenon: { by } } },
  { sessionUpdate: "agent_thought_chunk", content: text("hm") },
  { sessionUpdate: "agent_message_chunk", content: text("Look") },
  { sessionUpdate: "agent_message_chunk", content: text("ing.") },
  { sessionUpdate: "tool_call", toolCallId: "1", title: "s / weather", kind: "other", status: "pending" },
  { sessionUpdate: "tool_call_update", toolCallId: "1", rawInput: { town: "Berlin" } },
  { sessionUpdate: "tool_call_update", toolCallId: "1", status: "in_progress" },
  {
    sessionUpdate: "tool_call_update",
    toolCallId: "1",
    status: "completed",
    content: [{ type: "content", content: text("rain") }],
  },
  { sessionUpdate: "agent_message_chunk", content: text("It rains.") },
  { sessionUpdate: "plan", entries: [{ content: "look", status: "completed" }] },
];

const RECORDS: readonly JsonObject[] = [
  { kind: "prompt", content: [text("weather?")], by },
  { kind: "thought", text: "hm" },
  { kind: "text", text: "Look" },
  { kind: "text", text: "ing." },
  { kind: "announced", toolCallId: "1", subject: { name: "s__weather", tool: { label: "s / weather" } } },
  { kind: "call", toolCallId: "1", subject: { name: "s__weather" }, arguments: { town: "Berlin" } },
  { kind: "intent", toolCallId: "1" },
  {
    kind: "outcome",
    toolCallId: "1",
    outcome: { kind: "done", content: [{ type: "unknown", raw: { block: text(""), blob: "h" } }] },
  },
  { kind: "text", text: "It rains." },
  { kind: "plan", entries: [{ content: "look", status: "completed" }] },
];

function shown(items: readonly Item[]): readonly object[] {
  return items.map((item) => Object.fromEntries(Object.entries(item).filter(([name]) => name !== "key")));
}

test("updates and records of the same turn give the same items", () => {
  const [live, read] = [new Conversation(), new Conversation()];
  for (const update of UPDATES) live.apply(update);
  for (const record of RECORDS) read.applyRecord(record, new Map([["h", "rain"]]));
  const card = { id: "1", toolKind: "other", status: "completed", input: { town: "Berlin" } };
  expect(shown(live.items.value)).toEqual([
    { kind: "user", parts: [{ kind: "text", text: "weather?" }], by: "editor" },
    { kind: "thought", text: "hm" },
    { kind: "agent", text: "Looking." },
    { kind: "tool", card: { ...card, title: "s / weather", parts: [{ kind: "text", text: "rain" }] } },
    { kind: "agent", text: "It rains." },
  ]);
  expect(shown(read.items.value)).toEqual(shown(live.items.value));
  expect(read.plan.value).toEqual(live.plan.value);
});

test("what the page said itself has no name; changes, refusals, failures and answers of others are shown", () => {
  const conversation = new Conversation(undefined, () => "c2");
  conversation.apply(UPDATES[0] ?? {});
  const look = { title: "Edit a.txt", kind: "edit", diff: { path: "a.txt", oldText: "a", newText: "b" } };
  const records: readonly JsonObject[] = [
    { kind: "call", toolCallId: "2", subject: { name: "edit_file" }, arguments: {}, look },
    { kind: "answered", id: "q", answer: "no", by: { client: "c3", name: "phone" } },
    { kind: "outcome", toolCallId: "2", outcome: { kind: "refused", reason: "by phone" } },
    { kind: "error", code: "model.overloaded", message: "busy" },
    { kind: "end", stopReason: "cancelled" },
    { kind: "__proto__" },
    {},
  ];
  for (const record of records) conversation.applyRecord(record, new Map());
  expect(shown(conversation.items.value)).toMatchObject([
    { kind: "user", parts: [{ text: "weather?" }] },
    {
      kind: "tool",
      card: {
        status: "failed",
        parts: [
          { kind: "diff", before: "a", after: "b" },
          { kind: "text", text: "refused: by phone" },
        ],
      },
    },
    { kind: "mark", text: "denied by phone" },
    { kind: "notice", severity: "error", title: "busy", description: "model.overloaded" },
    { kind: "mark", text: "cancelled" },
  ]);
  expect(conversation.items.value[0]).not.toHaveProperty("by");
  expect(answeredText("constructor", "x")).toBe("constructor by x");
});

test("media that could carry code are named and not shown; hidden characters are visible in every text and name", () => {
  const conversation = new Conversation();
  for (const content of [
    { type: "image", mimeType: "image/svg+xml", data: "PHN2Zz4=" },
    { type: "image", mimeType: "image/png", data: 'x" onerror="y' },
    { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
  ]) {
    conversation.apply({ sessionUpdate: "user_message_chunk", content });
  }
  expect(conversation.items.value[0]).toMatchObject({
    parts: [{ kind: "text" }, { kind: "text" }, { kind: "image", data: "iVBORw0KGgo=" }],
  });
  const given = { "a\u202e": ["\u2066x", { cwd: "/a\u200b", b: "\u{e0041}" }] };
  expect(withVisibleText(given)).toEqual({ "a\\u{202E}": ["\\u{2066}x", { cwd: "/a\u200b", b: "\\u{E0041}" }] });
});

test("what a read that fails halfway has found is read again", async () => {
  const all = [1, 2, 3].map((seq) => ({ seq, kind: "text", text: String(seq) }));
  let fails = true;
  const journal = new Journal("s1", {
    request: async (method, params) => {
      if (method === "_tenon/session/view") return { seq: 3 };
      const after = params && "after" in params ? Number(params.after) : 0;
      const [record] = all.filter(({ seq }) => seq > after);
      if (record?.seq === 2 && fails) throw new Error("the connection broke");
      return record ? { records: [record], seq: record.seq, next: record.seq } : { records: [], seq: after };
    },
  });
  await expect(journal.read()).rejects.toThrow("the connection broke");
  fails = false;
  await journal.read();
  expect(journal.records.value).toEqual(all);
});
