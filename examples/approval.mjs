// A function that decides about calls: what it refuses is not sent, and the model is told.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime } from "tenon";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const asked = [];
const approve = ({ tool, arguments: args }) => {
  asked.push([tool.originalName, args]);
  return tool.originalName !== "delete_notes";
};
const runtime = await createRuntime({ model: "offline/operator", mcpServers: { notes }, approve });
const session = await runtime.createSession({ cwd: process.cwd() });
await session.ready();
const added = await session.tools.call("add_note", { text: "keep me" });
const deleted = await session.tools.call("delete_notes", {});
const listed = await session.tools.call("list_notes", {});
await runtime.close();

assert.equal(added.status, "done");
assert.equal(deleted.status, "refused");
assert.equal(listed.text, "list_notes: keep me");
assert.deepEqual(asked[0], ["add_note", { text: "keep me" }]);
