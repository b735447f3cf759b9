// A server that dies is started again by itself; the call that killed it ends as unknown, the next one works.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime } from "tenon";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const seen = [];
const onEvent = ({ type, willReconnect }) => {
  if (type.startsWith("server_")) seen.push(willReconnect ? `${type}, comes back` : type);
};
const runtime = await createRuntime({ model: "offline/operator", mcpServers: { notes }, onEvent });
const session = await runtime.createSession({ cwd: process.cwd() });
await session.ready({ server: "notes" });
const crashed = await session.tools.call("crash", {});
const after = await session.tools.call("add_note", { text: "alive again" });
await runtime.close();
console.log(seen);

assert.equal(crashed.status, "unknown");
assert.equal(after.text, "add_note kept 1");
assert.deepEqual(seen.slice(0, 3), ["server_connected", "server_disconnected, comes back", "server_connected"]);
