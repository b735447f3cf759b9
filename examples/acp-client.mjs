// An ACP client, as an editor is one: starts `tenon acp`, hands over a server, prompts, and answers the question.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { startAgent } from "tenon/testing";

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const notes = { name: "notes", command: process.execPath, args: [file("notes-server.mjs")], env: [] };
const args = [file("../dist/cli/main.js"), "acp", "--model", "offline/operator"];

const client = startAgent({ command: process.execPath, args, env: process.env }); // answers questions with yes
const { agentCapabilities } = await client.initialize();
const { sessionId } = await client.newSession({ cwd: process.cwd(), mcpServers: [notes] });
const { stopReason } = await client.prompt(sessionId, "add note: from an editor");
const said = client.text(sessionId);
const [question] = client.permissionRequests;
const { code } = await client.end();
console.log(said);

assert.equal(agentCapabilities.mcpCapabilities.http, true);
assert.equal(stopReason, "end_turn");
assert.match(said, /add_note kept 1/);
assert.equal(question.toolCall.rawInput.text, "from an editor");
assert.equal(code, 0);
