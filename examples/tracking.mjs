// Which tool is of which server, and taking out all of one server; what happens is told as events.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime } from "tenon";
import { connect } from "tenon/mcp";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const changes = [];
const onEvent = (event) => {
  if (event.type === "tools_changed") changes.push([event.source, event.added.length, event.removed.length]);
};
const runtime = await createRuntime({ model: "offline/operator", mcpServers: { work: notes }, onEvent });
const session = await runtime.createSession({ cwd: process.cwd(), mcpServers: { home: notes } });
await session.ready();
assert.equal(runtime.tools.bySource("work").length, 4);
assert.equal(session.tools.bySource("home").length, 4);
for (const { name, source, originalName } of session.tools.list()) console.log(name, "is", originalName, "of", source);

const server = await connect({ name: "extra", ...notes });
for (const tool of await server.discover()) session.register(tool);
assert.equal(session.tools.bySource("extra").length, 4);
session.unregister("extra");
assert.equal(session.tools.bySource("extra").length, 0);
await server.close();

await session.removeServer("home");
assert.equal(session.tools.bySource("home").length, 0);
assert.equal(session.tools.bySource("work").length, 4);
await runtime.close();
assert.ok(changes.some(([source, added]) => source === "home" && added === 4));
assert.ok(changes.some(([source, , removed]) => source === "home" && removed === 4));
