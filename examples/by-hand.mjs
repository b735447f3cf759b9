// By hand: connect a server, look at its tools, choose and change some, register them in a session.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime } from "tenon";
import { connect } from "tenon/mcp";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const server = await connect({ name: "notes", ...notes });
const discovered = await server.discover();
console.log(discovered.map(({ name }) => name));

const runtime = await createRuntime({ model: "offline/operator" });
const session = await runtime.createSession({ cwd: process.cwd() });
for (const tool of discovered.filter(({ name }) => name !== "crash")) {
  session.register({ ...tool, name: `notes_${tool.name}`, description: `[notes] ${tool.description}` });
}
const { text } = await session.tools.call("notes_add_note", { text: "by hand" });
const names = session.tools.bySource("notes").map(({ name }) => name);
await runtime.close();
await server.close();

assert.equal(text, "add_note kept 1"); // the server is called by its own name
assert.deepEqual(names, ["notes_add_note", "notes_list_notes", "notes_delete_notes"]);
