// Servers of one session only: another session of the same runtime neither sees nor shares them.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime } from "tenon";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const runtime = await createRuntime({ model: "offline/operator" });
const mine = await runtime.createSession({ cwd: process.cwd(), mcpServers: { notes } });
const yours = await runtime.createSession({ cwd: process.cwd(), mcpServers: { notes } });
const bare = await runtime.createSession({ cwd: process.cwd() });
await Promise.all([mine.ready(), yours.ready()]);
await mine.tools.call("add_note", { text: "only mine" });

assert.equal((await mine.tools.call("list_notes", {})).text, "list_notes: only mine");
assert.equal((await yours.tools.call("list_notes", {})).text, "list_notes: none"); // a process of its own
assert.equal((await bare.tools.call("list_notes", {})).code, "tool.unknown");

await bare.addServer("notes", notes);
await bare.ready({ server: "notes" });
assert.equal((await bare.tools.call("list_notes", {})).status, "done");
await bare.removeServer("notes");
assert.deepEqual(bare.tools.bySource("notes"), []);
await runtime.close();
