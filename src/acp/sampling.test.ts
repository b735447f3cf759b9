// The question whether a server may use the model, as editors see it.
import { expect, test } from "vitest";
import { type SamplingRequest, SESSION_LIMITS } from "../session/index.js";
import { describeSampling } from "./permission.js";

const request: SamplingRequest = {
  id: "3",
  server: "books",
  model: "anthropic/x",
  system: "Be brief.",
  messages: [
    { role: "user", content: [{ type: "text", text: "Sum up:\ntext" }] },
    { role: "assistant", content: [{ type: "text", text: "y".repeat(SESSION_LIMITS.questionArgumentChars + 7) }] },
  ],
  maxTokens: 512,
  callsLeft: 4,
};

test("it names the server, the model, the limit, what is left, and shows what is sent", () => {
  const { title, content, toolCallId, status } = describeSampling(request);
  expect([title, toolCallId, status]).toEqual(["books / wants to use the model", "sampling-3", "pending"]);
  const [block] = content ?? [];
  const words = block?.type === "content" && block.content.type === "text" ? block.content.text : "";
  expect(words).toContain('The server "books" asks anthropic/x for an answer of at most 512 tokens');
  expect(words).toContain("may ask 4 more times");
  expect(words).toContain("system: Be brief.\nuser: Sum up:\ntext");
  expect(words).toMatch(/y… \(7 more characters\)$/);
});

test("our own chat gets the same as lines, and a prompt of the server's without a system prompt has no such line", () => {
  const { _meta } = describeSampling({ ...request, system: "" });
  expect(_meta).toMatchObject({ tenon: { sampling: true, server: "books", notes: expect.arrayContaining(["text"]) } });
  expect(JSON.stringify(_meta)).not.toContain("system:");
});
