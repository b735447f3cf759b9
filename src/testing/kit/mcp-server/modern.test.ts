// The modern era of the scripted server, checked by the SDK's own client and by raw requests.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../../base/json/json.js";
import { type Behaviour, echoTool } from "./behaviour.js";
import { scriptedHttpServer } from "./http.js";
import { type MemoryServer, memoryServer } from "./memory.js";

const META = "io.modelcontextprotocol/";
const ENVELOPE = {
  [`${META}protocolVersion`]: "2026-07-28",
  [`${META}clientInfo`]: { name: "raw", version: "0" },
  [`${META}clientCapabilities`]: {},
};

const open: AsyncDisposable[] = [];

afterEach(async () => {
  for (const owned of open.splice(0).reverse()) await owned[Symbol.asyncDispose]();
});

/** A raw client in memory: every message of the server, and the answer to one request. */
function raw(behaviour: Behaviour): {
  ask: (method: string, params?: JsonObject) => Promise<JsonObject>;
  heard: JsonObject[];
  server: MemoryServer;
} {
  const server = memoryServer(behaviour);
  open.push(server);
  const heard: JsonObject[] = [];
  const waiting = new Map<unknown, (message: JsonObject) => void>();
  const { transport } = server;
  transport.onmessage = (message) => {
    const plain: JsonObject = JSON.parse(JSON.stringify(message));
    heard.push(plain);
    waiting.get(plain["id"])?.(plain);
  };
  let count = 0;
  const started = transport.start();
  return {
    server,
    heard,
    ask: async (method, params = { _meta: ENVELOPE }) => {
      await started;
      const id = ++count;
      const answer = new Promise<JsonObject>((resolve) => waiting.set(id, resolve));
      await transport.send({ jsonrpc: "2.0", id, method, params });
      return await answer;
    },
  };
}

describe("the SDK's client", () => {
  test.each(["modern", "dual"] as const)(
    "finds the modern era of a %s server over HTTP, lists and calls",
    async (era) => {
      const server = await scriptedHttpServer({ era, serverName: "new", instructions: "be kind", tools: [echoTool()] });
      open.push(server);
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
      await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
      open.push({ [Symbol.asyncDispose]: () => client.close() });
      expect(client.getProtocolEra()).toBe("modern");
      expect(client.getInstructions()).toBe("be kind");
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo"]);
      const result = await client.callTool({ name: "echo", arguments: { text: "hi" } });
      expect(result.content).toEqual([{ type: "text", text: '{"text":"hi"}' }]);
      expect(server.sessionCount).toBe(0);
    },
  );

  test("of the legacy era still gets on with a dual server, over HTTP with a session", async () => {
    const server = await scriptedHttpServer({ era: "dual", tools: [echoTool()] });
    open.push(server);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
    open.push({ [Symbol.asyncDispose]: () => client.close() });
    expect(client.getProtocolEra()).toBe("legacy");
    expect((await client.listTools()).tools).toHaveLength(1);
    expect(server.sessionCount).toBe(1);
  });

  test("answers what a tool asks for, round by round", async () => {
    const inputRequests = {
      q: {
        method: "elicitation/create",
        params: { message: "?", requestedSchema: { type: "object", properties: {} } },
      },
    };
    const reply = { kind: "ask_input", inputRequests, requestState: "s", rounds: 2 } as const;
    const server = await scriptedHttpServer({ era: "modern", tools: [{ name: "ask", reply }] });
    open.push(server);
    const capabilities = { elicitation: { form: {} } };
    const client = new Client({ name: "t", version: "1" }, { capabilities, versionNegotiation: { mode: "auto" } });
    client.setRequestHandler("elicitation/create", async () => ({ action: "decline" as const }));
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
    open.push({ [Symbol.asyncDispose]: () => client.close() });
    const { content } = await client.callTool({ name: "ask", arguments: {} });
    const given = { inputResponses: { q: { action: "decline" } }, requestState: "s#2" };
    expect(content).toEqual([{ type: "text", text: JSON.stringify(given) }]);
  });
});

describe("a modern server", () => {
  test("tells who it is and what it speaks, and its results say that they are complete", async () => {
    const { ask } = raw({ era: "modern", serverName: "new", tools: [echoTool()] });
    expect(await ask("server/discover")).toMatchObject({
      result: {
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: { listChanged: true } },
        _meta: { [`${META}serverInfo`]: { name: "new", version: "1.0.0" } },
      },
    });
    expect(await ask("tools/list")).toMatchObject({ result: { resultType: "complete" } });
  });

  test("refuses initialize, ping, a missing envelope and another version", async () => {
    const { ask } = raw({ era: "modern" });
    const unsupported = { error: { code: -32022, data: { supported: ["2026-07-28"] } } };
    expect(await ask("initialize", { protocolVersion: "2025-11-25" })).toMatchObject(unsupported);
    const other = { _meta: { ...ENVELOPE, [`${META}protocolVersion`]: "2099-01-01" } };
    expect(await ask("tools/list", other)).toMatchObject(unsupported);
    expect(await ask("ping")).toMatchObject({ error: { code: -32601 } });
    expect(await ask("tools/list", {})).toMatchObject({ error: { code: -32602 } });
    const bare = { _meta: { [`${META}protocolVersion`]: "2026-07-28" } };
    expect(await ask("tools/list", bare)).toMatchObject({ error: { code: -32602 } });
  });

  test("sends changes to who listens for them, and to nobody else", async () => {
    const { ask, heard, server } = raw({ era: "modern" });
    server.changeTools([]); // nobody has asked for it
    const listening = ask("subscriptions/listen", { _meta: ENVELOPE, notifications: { toolsListChanged: true } });
    expect(await ask("tools/list")).toMatchObject({ result: { tools: [] } });
    server.changeTools([echoTool()]);
    expect(await ask("tools/list")).toMatchObject({ result: { tools: [{ name: "echo" }] } });
    const _meta = { [`${META}subscriptionId`]: 1 };
    expect(heard.filter((message) => message["method"] !== undefined)).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: { notifications: { toolsListChanged: true }, _meta },
      },
      { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: { _meta } },
    ]);
    await server.transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    await ask("tools/list");
    server.changeTools([]);
    await ask("tools/list");
    expect(heard.filter((message) => message["method"] === "notifications/tools/list_changed")).toHaveLength(1);
    listening.catch(() => {});
  });

  test.each<[Behaviour["listen"], JsonObject, number]>([
    ["refuse", { error: { code: -32603 } }, 0],
    ["end", { result: { resultType: "complete", _meta: { [`${META}subscriptionId`]: 1 } } }, 1],
  ])("told to %s a listener does so", async (listen, answer, acknowledgements) => {
    const { ask, heard } = raw({ era: "modern", ...(listen && { listen }) });
    const params = { _meta: ENVELOPE, notifications: { toolsListChanged: true } };
    expect(await ask("subscriptions/listen", params)).toMatchObject(answer);
    expect(heard.filter((message) => message["method"] !== undefined)).toHaveLength(acknowledgements);
  });
});

describe("a dual server", () => {
  test("lets the client begin with initialize after the probe, and keeps to the legacy era then", async () => {
    const { ask } = raw({ era: "dual" });
    expect(await ask("server/discover")).toHaveProperty("result");
    const begun = await ask("initialize", { protocolVersion: "2025-11-25" });
    expect(isJsonObject(begun["result"]) && begun["result"]["protocolVersion"]).toBe("2025-11-25");
    expect(await ask("server/discover")).toMatchObject({ error: { code: -32601 } });
  });

  test("keeps to the modern era once it was used", async () => {
    const { ask } = raw({ era: "dual" });
    await ask("tools/list");
    expect(await ask("initialize", { protocolVersion: "2025-11-25" })).toMatchObject({ error: { code: -32022 } });
  });
});

test("over HTTP, headers that do not say what the body says are refused, and a client that leaves has cancelled", async () => {
  const server = await scriptedHttpServer({ era: "modern", tools: [{ name: "slow", reply: { kind: "held" } }] });
  open.push(server);
  const post = async (headers: Record<string, string>, signal?: AbortSignal) => {
    const params = { name: "slow", arguments: {}, _meta: ENVELOPE };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    return await fetch(server.url, { method: "POST", headers, body, ...(signal && { signal }) });
  };
  const right = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "slow" };
  for (const name of Object.keys(right)) {
    const response = await post({ ...right, [name]: "wrong" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32020 } });
  }
  const leaving = new AbortController();
  const two = [post(right), post(right, leaving.signal)]; // with the same id, as two clients would
  const first = await server.awaitCall();
  const second = await server.awaitCall();
  leaving.abort();
  await expect(two[1]).rejects.toMatchObject({ name: "AbortError" });
  await Promise.race([first.untilCancelled(), second.untilCancelled()]);
  for (const call of [first, second]) if (!call.cancelled.aborted) call.respondWith("done");
  expect(await (await two[0])?.json()).toMatchObject({ id: 1, result: { content: [{ text: "done" }] } });
});
