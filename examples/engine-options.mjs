// Servers in the options of the runtime: every session has their tools, nothing is registered by hand.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime } from "tenon";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const runtime = await createRuntime({ model: "offline/operator", mcpServers: { notes } });
const session = await runtime.createSession({ cwd: process.cwd() });
await session.ready();
console.log(session.tools.list().map(({ name }) => name));

const events = [];
for await (const event of session.stream("add note: water the plants")) events.push(event.type);
const listed = await session.tools.call("list_notes", {});
await runtime.close();

assert.equal(listed.text, "list_notes: water the plants");
assert.deepEqual(
  ["tool_call", "tool_result", "text", "done"].filter((type) => !events.includes(type)),
  [],
);
