// Tools under other names and with other descriptions. The server is still called by its own names.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime } from "tenon";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const prefixed = {
  name: "prefix",
  transform: (tool) => ({ ...tool, name: `my_${tool.name}`, description: `[notes] ${tool.description}` }),
};
const runtime = await createRuntime({ model: "offline/operator", mcpServers: { notes }, transformers: [prefixed] });
const session = await runtime.createSession({ cwd: process.cwd() });
await session.ready();

const tool = session.tools.bySource("notes").find(({ originalName }) => originalName === "add_note");
const { text } = await session.tools.call(tool.name, { text: "renamed" });
console.log(tool.name, "->", text);
await runtime.close();

assert.match(tool.name, /my_add_note$/);
assert.equal(tool.description, "[notes] Adds a note.");
assert.equal(text, "add_note kept 1"); // what the server says it was called by
