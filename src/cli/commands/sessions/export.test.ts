// Exports: nothing that was said can become markup, whatever it is.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSessionId } from "../../../base/id.js";
import { conversationMarkdown } from "./export.js";
import { conversationHtml } from "./export-html.js";
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

const ALLOWED =
  /^<(?:\/?(?:html|head|title|style|body|h[1-6]|p|pre|div|details|summary|code|span|ul|li|ol|table|tr|td|th|blockquote|strong|em|del|time|a)|!doctype html|hr|br|meta charset="utf-8"|meta name="viewport" content="width=device-width"|html lang="en"|details open|ol start="\d+"|(?:p|pre|div|span) class="[a-z]+"|meta http-equiv="Content-Security-Policy" content="[^"<>]*"|a href="(?:https?|mailto):[^"<>\s]*" rel="noreferrer noopener")>$/u;

describe("the HTML page", () => {
  it("has only the tags it is made of, whatever was said", () => {
    fc.assert(
      fc.property(tricky, (text) => {
        const html = conversationHtml(conversation(text));
        for (const tag of html.match(/<[^>]*>?/gu) ?? []) expect(tag).toMatch(ALLOWED);
        expect(html).not.toContain("\u202e");
        expect(html).not.toContain("\u0000");
      }),
      { numRuns: 300 },
    );
  });

  it("renders Markdown of answers, with plain links only", () => {
    const text =
      "# Head\n\n**bold** [a](https://a.example/x) [b](javascript:alert(1)) <script>\n\n- one\n- two\n\n| h |\n|---|\n| c |\n\n```ts\n<b>\n```";
    const html = conversationHtml({ ...conversation("x"), items: [{ kind: "answer", text }] });
    expect(html).toContain("<h2>Head</h2>");
    expect(html).toContain("<strong>bold</strong>");
    expect(html).toContain('<a href="https://a.example/x" rel="noreferrer noopener">a</a> (a.example)');
    expect(html).not.toContain('href="javascript');
    expect(html).toContain("<li>one</li><li>two</li>");
    expect(html).toContain("<th>h</th>");
    expect(html).toContain("<pre>&lt;b&gt;</pre>");
    expect(html).toContain("&lt;script&gt;");
  });

  it("has times, tokens, cost, and changes of files in colour", () => {
    const diff = { path: "/p/a.ts", text: "@@ -1 +1 @@\n-old\n+new" };
    const call = {
      kind: "call",
      tool: "edit_file",
      arguments: "{}",
      outcome: "done",
      text: "",
      elapsedMs: 1_234,
      diff,
    } as const;
    const prompt = { kind: "prompt", text: "change it", t: Date.UTC(2026, 10, 18, 9, 30) } as const;
    const usage = { inputTokens: 12_345, outputTokens: 67, costUsd: 0.25 };
    const html = conversationHtml({ ...conversation("x"), items: [prompt, call], usage });
    expect(html).toContain("<time>2026-11-18 09:30 UTC</time>");
    expect(html).toContain("12,345 tokens in, 67 out, about $0.25");
    expect(html).toContain("<code>edit_file</code> done, 1.2 s");
    expect(html).toContain('<span class="cut">-old</span>\n<span class="add">+new</span>');
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
      { kind: "call", tool: "t", arguments: '{\n  "a": 1\n}', outcome: "refused", text: "no", elapsedMs: 0 },
      { kind: "answer", text: "ok" },
    ]);
  });
});
