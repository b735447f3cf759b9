// Exports: nothing that was said can become markup, whatever it is.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSessionId } from "../../../base/id.js";
import { conversationHtml, conversationMarkdown } from "./export.js";
import { itemsOf, type StoredConversation } from "./sessions.js";

const ID = "s1";

function conversation(text: string): StoredConversation {
  if (!isSessionId(ID)) throw new Error("no id");
  const session = { id: ID, cwd: text, additionalDirectories: [], title: text, updatedMs: 0 };
  const call = { kind: "call", tool: text, arguments: text, outcome: "done", text } as const;
  const said = (["prompt", "answer", "thought", "note"] as const).map((kind) => ({ kind, text }));
  return { session, items: [...said, call], problems: [] };
}

const tricky = fc
  .array(
    fc.oneof(
      fc.constantFrom("<", ">", "&", '"', "'", "`", "```", "<script>", "</pre>", "\n", "# ", "\u202e", "\u0000", "]]>"),
      fc.string({ maxLength: 5 }),
    ),
  )
  .map((parts) => parts.join(""));

describe("the HTML page", () => {
  it("has only the tags it is made of", () => {
    const tags = (html: string) => html.match(/<\/?[a-z!][^>]*>/giu) ?? [];
    const plain = tags(conversationHtml(conversation("x")));
    fc.assert(
      fc.property(tricky, (text) => {
        const html = conversationHtml(conversation(text));
        expect(tags(html).length).toBe(plain.length - (text === "" ? 2 : 0));
        expect(html).not.toContain("\u202e");
        expect(html).not.toContain("\u0000");
      }),
    );
  });
});

describe("the Markdown text", () => {
  it("keeps prompts and results inside their fences", () => {
    fc.assert(
      fc.property(tricky, (text) => {
        const prompt = { ...conversation("x"), items: [{ kind: "prompt", text } as const] };
        const [, fence = "", inside = ""] = /\n(`{3,})text\n([\s\S]*)\n\1\n$/u.exec(conversationMarkdown(prompt)) ?? [];
        expect(inside).toBe(text);
        expect(inside.includes(fence)).toBe(false);
      }),
    );
  });

  it("has no HTML outside of fences", () => {
    const markdown = conversationMarkdown({
      ...conversation("<b>x</b>"),
      items: [{ kind: "answer", text: "<img src=x>" }],
    });
    expect(markdown.replaceAll(/`[^`]*`/gu, "")).not.toMatch(/<(?:b|img)/u);
  });
});

describe("what a conversation comes to", () => {
  it("has one item for a call, with what became of it", () => {
    const items = itemsOf([
      { kind: "user", content: [{ type: "text", text: "hi" }] },
      {
        kind: "turn",
        event: {
          kind: "call_started",
          toolCallId: "1-1",
          subject: { name: "t" },
          arguments: { a: 1 },
          wasAnnounced: false,
        },
      },
      { kind: "turn", event: { kind: "text", text: "ok" } },
      {
        kind: "turn",
        event: { kind: "call_ended", toolCallId: "1-1", outcome: { kind: "refused", reason: "no" }, elapsedMs: 0 },
      },
    ]);
    expect(items).toEqual([
      { kind: "prompt", text: "hi" },
      { kind: "call", tool: "t", arguments: '{\n  "a": 1\n}', outcome: "refused", text: "no" },
      { kind: "answer", text: "ok" },
    ]);
  });
});
