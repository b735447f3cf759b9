// The in-memory server, driven by the real MCP client.
import { Client } from "@modelcontextprotocol/client";
import { afterEach, expect, test } from "vitest";
import { Feed } from "../feed.js";
import { fakeWorld } from "../world/world.js";
import { BAD_TOOLS, type Behaviour, echoTool, type ToolScript } from "./behaviour.js";
import { type MemoryServer, type MemoryServerOptions, memoryServer } from "./memory.js";

const open: AsyncDisposable[] = [];

afterEach(async () => {
  for (const owned of open.splice(0).reverse()) await owned[Symbol.asyncDispose]();
});

function serverWith(behaviour: Behaviour, options?: MemoryServerOptions): MemoryServer {
  const server = memoryServer(behaviour, options);
  open.push(server);
  return server;
}

async function connected(server: MemoryServer, clientOptions = {}): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, clientOptions);
  await client.connect(server.transport);
  open.push({ [Symbol.asyncDispose]: () => client.close() });
  return client;
}

function tool(name: string, script: Omit<ToolScript, "name">): ToolScript {
  return { name, ...script };
}

test("it initialises, lists and calls as a good server does", async () => {
  const server = serverWith({ serverName: "good", instructions: "be kind", tools: [echoTool()] });
  const client = await connected(server);
  expect(client.getServerVersion()).toMatchObject({ name: "good" });
  expect(client.getInstructions()).toBe("be kind");
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo"]);
  const result = await client.callTool({ name: "echo", arguments: { text: "hi" } });
  expect(result.content).toEqual([{ type: "text", text: '{"text":"hi"}' }]);
  expect(server.received.map((message) => message["method"])).toEqual([
    "initialize",
    "notifications/initialized",
    "tools/list",
    "tools/call",
  ]);
});

test("a held call waits for the test, which sees its arguments and answers it", async () => {
  const server = serverWith({ tools: [tool("ask", { reply: { kind: "held" } })] });
  const client = await connected(server);
  const first = client.callTool({ name: "ask", arguments: { n: 1 } });
  const second = client.callTool({ name: "ask", arguments: { n: 2 } });
  const one = await server.awaitCall("ask");
  const two = await server.awaitCall("ask");
  expect([one.arguments, two.arguments]).toEqual([{ n: 1 }, { n: 2 }]);
  two.respondWithError("no");
  one.respondWith("yes");
  expect(await second).toMatchObject({ isError: true, content: [{ text: "no" }] });
  expect(await first).toMatchObject({ content: [{ text: "yes" }] });
});

test("a held call can fail as a request and can report progress", async () => {
  const server = serverWith({ tools: [tool("ask", { reply: { kind: "held" } })] });
  const client = await connected(server);
  const seen = new Feed<unknown>("progress");
  const answer = client.callTool({ name: "ask" }, { onprogress: (progress) => seen.push(progress) });
  const call = await server.awaitCall();
  call.progress({ progress: 1, total: 2, message: "half" });
  await seen.find(() => true); // the SDK drops progress that arrives together with the response
  call.respondWithProtocolError(-32050, "broken");
  await expect(answer).rejects.toMatchObject({ code: -32050 });
  expect(seen.items).toEqual([{ progress: 1, total: 2, message: "half" }]);
});

test("a cancelled call of an ordinary tool is never answered", async () => {
  const server = serverWith({ tools: [tool("slow", { steps: [{ do: "never" }], reply: { kind: "echo" } })] });
  const client = await connected(server);
  const errors: Error[] = [];
  client.onerror = (error) => errors.push(error);
  const controller = new AbortController();
  const answer = client.callTool({ name: "slow" }, { signal: controller.signal });
  await server.awaitMessage("tools/call");
  controller.abort();
  await expect(answer).rejects.toThrow("aborted");
  expect(await server.awaitMessage("notifications/cancelled")).toMatchObject({
    params: { requestId: expect.anything() },
  });
  await client.ping();
  expect(errors).toEqual([]);
});

test("a held call sees its cancellation, and may reply all the same", async () => {
  const server = serverWith({ tools: [tool("ask", { reply: { kind: "held" } })] });
  const client = await connected(server);
  const errors: Error[] = [];
  client.onerror = (error) => errors.push(error);
  const controller = new AbortController();
  const answer = client.callTool({ name: "ask" }, { signal: controller.signal });
  const call = await server.awaitCall();
  controller.abort();
  await expect(answer).rejects.toThrow("aborted");
  await call.untilCancelled();
  call.respondWith("too late");
  await client.ping();
  expect(errors.map(String).join()).toContain("unknown message ID");
});

test("await_cancel makes a late reply without the test's help", async () => {
  const server = serverWith({
    tools: [tool("late", { steps: [{ do: "await_cancel" }], reply: { kind: "text", text: "late" } })],
  });
  const client = await connected(server);
  const errors: Error[] = [];
  client.onerror = (error) => errors.push(error);
  const controller = new AbortController();
  const answer = client.callTool({ name: "late" }, { signal: controller.signal });
  await server.awaitMessage("tools/call");
  controller.abort();
  await expect(answer).rejects.toThrow("aborted");
  await client.ping();
  expect(errors.map(String).join()).toContain('"text":"late"');
});

test("a duplicate reply and a reply to nobody reach the client as errors, not as answers", async () => {
  const server = serverWith({
    tools: [tool("twice", { steps: [{ do: "stray_reply", id: 4711 }], reply: { kind: "echo" }, replies: 2 })],
  });
  const client = await connected(server);
  const errors: Error[] = [];
  client.onerror = (error) => errors.push(error);
  await client.callTool({ name: "twice", arguments: {} });
  await client.ping();
  expect(errors).toHaveLength(2);
  expect(String(errors[0])).toContain("4711");
});

test("delays follow the clock that was given", async () => {
  const world = fakeWorld();
  const server = serverWith(
    { tools: [tool("slow", { steps: [{ do: "delay", ms: 60_000 }], reply: { kind: "text", text: "done" } })] },
    { after: (delayMs, run) => world.after(delayMs, run) },
  );
  const client = await connected(server);
  let isDone = false;
  const answer = client.callTool({ name: "slow" }, { timeout: 3_600_000 }).then((result) => {
    isDone = true;
    return result;
  });
  await world.advance(59_999);
  expect(isDone).toBe(false);
  await world.advance(1);
  expect(await answer).toMatchObject({ content: [{ text: "done" }] });
  expect(world.clock.pendingTimers).toBe(0);
});

test("it hangs at a stage until the test releases it", async () => {
  const server = serverWith({ tools: [echoTool()], steps: { initialize: [{ do: "hold", name: "door" }] } });
  const connecting = connected(server);
  await server.awaitMessage("initialize");
  expect(server.received).toHaveLength(1);
  server.release("door");
  expect((await (await connecting).listTools()).tools).toHaveLength(1);
});

test("lists come in pages, and endless ones never end", async () => {
  const paged = await connected(serverWith({ fillerTools: 5, pageSize: 2 }));
  expect((await paged.listTools()).tools.map(({ name }) => name)).toEqual(
    Array.from({ length: 5 }, (_, n) => `filler_${n}`),
  );
  const endless = serverWith({ fillerTools: 3, pageSize: 2, endlessPages: true });
  const client = await connected(endless, { listMaxPages: 10 });
  await expect(client.listTools()).rejects.toThrow("exceeded listMaxPages");
  expect(endless.received.filter(({ method }) => method === "tools/list").length).toBeGreaterThanOrEqual(10);
});

test("one bad tool in the list is sent as it is, and a strict client loses the list over it", async () => {
  for (const bad of Object.values(BAD_TOOLS)) {
    const client = await connected(serverWith({ tools: [echoTool()], rawTools: [bad] }));
    await expect(client.listTools()).rejects.toThrow("Invalid result for tools/list");
  }
});

test("changed tools are told and listed; a storm is as many notifications as asked for", async () => {
  const server = serverWith({
    tools: [tool("storm", { steps: [{ do: "list_changed", count: 50 }], reply: { kind: "echo" } })],
  });
  const client = await connected(server);
  let count = 0;
  client.setNotificationHandler("notifications/tools/list_changed", () => {
    count++;
  });
  await client.callTool({ name: "storm" });
  expect(count).toBe(50);
  server.changeTools([echoTool("fresh")]);
  await client.ping();
  expect(count).toBe(51);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["fresh"]);
});

test("replies carry images, structured content, unknown blocks and protocol errors", async () => {
  const server = serverWith({
    tools: [
      tool("picture", { reply: { kind: "image" } }),
      tool("data", { reply: { kind: "structured", value: { total: 3 } } }),
      tool("strange", { reply: { kind: "content", content: [{ type: "hologram" }] } }),
      tool("broken", { reply: { kind: "protocol_error", code: -32099, message: "out of order" } }),
      tool("failed", { reply: { kind: "error", text: "disk full" } }),
      tool("big", { reply: { kind: "bytes", bytes: 100_000 } }),
    ],
  });
  const client = await connected(server);
  expect(await client.callTool({ name: "picture" })).toMatchObject({
    content: [{ type: "image", mimeType: "image/png" }],
  });
  expect(await client.callTool({ name: "data" })).toMatchObject({ structuredContent: { total: 3 } });
  await expect(client.callTool({ name: "strange" })).rejects.toThrow("Invalid result for tools/call");
  await expect(client.callTool({ name: "broken" })).rejects.toThrow("out of order");
  expect(await client.callTool({ name: "failed" })).toMatchObject({ isError: true, content: [{ text: "disk full" }] });
  expect(await client.callTool({ name: "big" })).toMatchObject({ content: [{ text: "x".repeat(100_000) }] });
  await expect(client.callTool({ name: "none" })).rejects.toThrow('Unknown tool: "none"');
});

test("it asks the client, from a script or from the test", async () => {
  const server = serverWith({ tools: [tool("roots", { reply: { kind: "ask_client", method: "roots/list" } })] });
  const client = await connected(server, { capabilities: { roots: {} } });
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///a" }] }));
  expect(await client.callTool({ name: "roots" })).toMatchObject({
    content: [{ text: '{"roots":[{"uri":"file:///a"}]}' }],
  });
  expect(await server.request("ping")).toMatchObject({ result: {} });
});

test("a crash closes the connection, and a new one starts afresh", async () => {
  const server = serverWith({
    tools: [echoTool(), tool("die", { steps: [{ do: "crash" }], reply: { kind: "echo" } })],
  });
  const client = await connected(server);
  await expect(client.callTool({ name: "die" })).rejects.toThrow("Connection closed");
  const again = new Client({ name: "test", version: "1" });
  await again.connect(server.connect());
  expect((await again.listTools()).tools).toHaveLength(2);
  expect(server.connectionCount).toBe(2);
  await server.disconnect();
  await expect(again.listTools()).rejects.toThrow(/Not connected|not connected/i);
});

test("it claims the protocol version it is told to, and otherwise the client's own", async () => {
  const claims = serverWith({ protocolVersion: "1999-01-01" });
  await expect(connected(claims)).rejects.toThrow("1999-01-01");
  const agrees = serverWith({});
  const answers: unknown[] = [];
  agrees.transport.onmessage = (message) => answers.push(message);
  await agrees.transport.start();
  await agrees.transport.send({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2024-11-05" },
  });
  await expect.poll(() => answers).toMatchObject([{ id: 1, result: { protocolVersion: "2024-11-05" } }]);
});

test("a reply can wait for a notification, change the tools on the way and be any JSON at all", async () => {
  const server = serverWith({
    tools: [
      tool("swap", {
        steps: [
          { do: "await_notification", method: "notifications/roots/list_changed" },
          { do: "set_tools", tools: [tool("odd", { reply: { kind: "raw", result: { content: [], extra: 1 } } })] },
          { do: "notify", method: "notifications/message", params: { level: "info", data: "swapped" } },
        ],
        reply: { kind: "text", text: "swapped" },
      }),
    ],
  });
  const client = await connected(server, { capabilities: { roots: { listChanged: true } } });
  let isAnswered = false;
  const answer = client.callTool({ name: "swap" }).finally(() => {
    isAnswered = true;
  });
  await server.awaitMessage("tools/call");
  await client.ping();
  expect(isAnswered).toBe(false);
  await client.notification({ method: "notifications/roots/list_changed" });
  expect(await answer).toMatchObject({ content: [{ text: "swapped" }] });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["odd"]);
  expect(await client.callTool({ name: "odd" })).toMatchObject({ content: [], extra: 1 });
});

test("what memory cannot carry is refused at once", () => {
  expect(() => memoryServer({ garbageBetween: "x" })).toThrow("cannot be done by a server in memory");
  expect(() => memoryServer({ steps: { start: [{ do: "stderr", text: "x" }] } })).toThrow('the step "stderr"');
});

test("controls before the first connection say what is missing", () => {
  expect(() => memoryServer({}).notify("notifications/message")).toThrow("no client has connected yet");
});
