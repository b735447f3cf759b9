// Inside a web server: one runtime for the process, one session per visitor, answers as they are written.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { Hono } from "hono";
import { createRuntime } from "tenon";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const runtime = await createRuntime({ model: "offline/operator", mcpServers: { notes } });
const sessions = new Map();

async function* textOf(events) {
  for await (const event of events) if (event.type === "text") yield new TextEncoder().encode(event.text);
}

const app = new Hono();
app.post("/chat/:visitor", async (context) => {
  const visitor = context.req.param("visitor");
  const session = sessions.get(visitor) ?? (await runtime.createSession({ cwd: process.cwd() }));
  sessions.set(visitor, session);
  const events = session.stream(await context.req.text(), { signal: context.req.raw.signal });
  const body = ReadableStream.from(textOf(events)); // leaving it ends the turn
  return new Response(body, { headers: { "content-type": "text/plain; charset=utf-8" } });
});

// What `serve(app)` of @hono/node-server does.
const respond = async (request, response) => {
  const { method, url, headers } = request;
  const init = { method, headers, body: request, duplex: "half" };
  const answer = await app.fetch(new Request(new URL(url, "http://localhost"), init));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  for await (const piece of answer.body) response.write(piece);
  response.end();
};
const server = createServer((request, response) => {
  respond(request, response).catch(() => response.destroy());
});
server.listen(0, "127.0.0.1");
await once(server, "listening");

const chat = async (visitor, text) => {
  const answer = await fetch(`http://127.0.0.1:${server.address().port}/chat/${visitor}`, {
    method: "POST",
    body: text,
  });
  return await answer.text();
};
const [ann, ben] = await Promise.all([chat("ann", "add note: tea"), chat("ben", "add note: coffee")]);
const again = await chat("ann", "list notes");
server.close();
await runtime.close();

assert.match(ann, /add_note kept 1/);
assert.match(ben, /add_note kept 1/);
assert.match(again, /tea/);
assert.doesNotMatch(again, /coffee/);
