// An agent in ten lines: a model, a server, a question, its answer.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime } from "tenon";

const args = [fileURLToPath(new URL("notes-server.mjs", import.meta.url))];
const runtime = await createRuntime({
  model: "offline/operator",
  mcpServers: { notes: { command: process.execPath, args } },
});
const session = await runtime.createSession({ cwd: process.cwd() });
const { text, stopReason } = await session.prompt("add note: buy milk");
console.log(text);
await runtime.close();

assert.equal(stopReason, "end_turn");
assert.match(text, /add_note kept 1/);
