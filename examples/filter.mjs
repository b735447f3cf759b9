// Which tools of a server there are: by the entry, or by code that leaves tools out.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime } from "tenon";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const own = ({ tools }) => tools.bySource("notes").map(({ originalName }) => originalName);

const runtime = await createRuntime({
  model: "offline/operator",
  mcpServers: { notes: { ...notes, deny: ["delete_*", "crash"] } },
});
const session = await runtime.createSession({ cwd: process.cwd() });
await session.ready();
assert.deepEqual(own(session), ["add_note", "list_notes"]);
assert.notEqual((await session.tools.call("delete_notes", {})).status, "done");
await runtime.close();

/** Only what says of itself that it reads. */
const readersOnly = { name: "readers only", transform: (tool) => (tool.annotations?.readOnlyHint ? tool : null) };
const careful = await createRuntime({ model: "offline/operator", mcpServers: { notes }, transformers: [readersOnly] });
const reader = await careful.createSession({ cwd: process.cwd() });
await reader.ready();
assert.deepEqual(own(reader), ["list_notes"]);
await careful.close();
