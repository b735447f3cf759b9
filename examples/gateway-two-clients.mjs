// A gateway with two clients in one session: the second sees what the first did, and both hear what follows.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startAgent } from "tenon/testing";

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const tenon = (...words) => [file("../dist/cli/main.js"), ...words];
const env = { ...process.env, TENON_MODEL: "offline/operator" };
const editor = () => startAgent({ command: process.execPath, args: tenon("acp", "--gateway"), env });
const notes = { name: "notes", command: process.execPath, args: [file("notes-server.mjs")], env: [] };
const cwd = process.cwd();

const first = editor(); // starts the gateway of this machine
await first.initialize();
const { sessionId } = await first.newSession({ cwd, mcpServers: [notes] });
await first.prompt(sessionId, "add note: from the first");

const second = editor();
await second.initialize();
await second.request("session/load", { sessionId, cwd, mcpServers: [] });
const seen = second.text(sessionId);
await second.prompt(sessionId, "list notes");
const heard = await first.waitForUpdate(sessionId, (update) =>
  JSON.stringify(update).includes("list_notes: from the first"),
);

await second.end();
await first.end();
const [code] = await once(spawn(process.execPath, tenon("gateway", "stop", "--drain", "0"), { env }), "exit");

assert.match(seen, /add_note kept 1/);
assert.ok(heard);
assert.equal(code, 0);
