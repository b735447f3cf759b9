// An application on the AI SDK keeps its own loop and takes only the tools from Tenon.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { openTools, toAiSdkTools } from "tenon/tools";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const set = await openTools({ mcpServers: { notes } });
await set.ready();
const { tools } = toAiSdkTools(set);

// Stands for `anthropic("claude-…")` and the like: calls a tool, then says what it heard.
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const name = Object.keys(tools).find((key) => key.endsWith("add_note"));
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    if (last.role === "tool") {
      const heard = last.content[0].output.value;
      return {
        content: [{ type: "text", text: `done: ${heard}` }],
        finishReason: { unified: "stop" },
        usage,
        warnings: [],
      };
    }
    const call = {
      type: "tool-call",
      toolCallId: "1",
      toolName: name,
      input: JSON.stringify({ text: "from the AI SDK" }),
    };
    return { content: [call], finishReason: { unified: "tool-calls" }, usage, warnings: [] };
  },
});
const { text, steps } = await generateText({ model, prompt: "Keep a note.", tools, stopWhen: stepCountIs(3) });
await set.close();

assert.equal(text, "done: add_note kept 1");
assert.equal(steps.length, 2);
