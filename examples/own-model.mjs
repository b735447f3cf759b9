// A model of your own: any code that streams text and tool calls.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime } from "tenon";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const requests = [];
const model = {
  id: "mine/scripted",
  async *stream({ messages, tools }) {
    requests.push(tools.map(({ name }) => name));
    const last = messages.at(-1);
    if (last.role === "tool") {
      yield { kind: "text", text: `It said: ${last.results[0].content[0].text}` };
      yield { kind: "finish", reason: "stop" };
      return;
    }
    const { name } = tools.find((tool) => tool.name.endsWith("add_note"));
    yield { kind: "tool_call", call: { callId: "1", name, argumentsJson: JSON.stringify({ text: "from my model" }) } };
    yield { kind: "finish", reason: "tool_calls", usage: { inputTokens: 12, outputTokens: 3 } };
  },
};
const runtime = await createRuntime({ model, mcpServers: { notes } });
const session = await runtime.createSession({ cwd: process.cwd() });
const { text, usage } = await session.prompt("remember me");
await runtime.close();

assert.match(text, /^It said: .*add_note kept 1/s);
assert.equal(usage.inputTokens, 12);
assert.equal(requests.length, 2);
