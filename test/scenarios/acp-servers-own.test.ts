// Servers of the client's own, over the ACP connection itself, served by the ACP SDK's and the MCP SDK's own code.
import { type ClientApp, RequestError } from "@agentclientprotocol/sdk";
import { fromMcpServer, type McpServerAdapter } from "@agentclientprotocol/sdk/experimental/mcp-server";
import { McpOverAcpProvider, type McpServerRegistration } from "@agentclientprotocol/sdk/unstable";
import { McpServer } from "@modelcontextprotocol/server";
import { expect } from "vitest";
import * as z from "zod/v4";
import { isJsonObject, type JsonObject } from "../../src/base/json/json.js";
import { type AcpClient, acpSchemaValidator, scriptedAcpServer } from "../../src/testing/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { scenario } from "./scenario.js";

const raw = (params: unknown): JsonObject => (isJsonObject(params) ? params : {});

interface Editor {
  readonly client: AcpClient;
  readonly provider: McpOverAcpProvider;
}

/** An editor that serves MCP over the connection, with the SDK's provider behind `mcp/message`. */
async function editor(home: TemporaryFolder): Promise<Editor> {
  const provider = new McpOverAcpProvider();
  const extend = (app: ClientApp) =>
    app.onRequest("mcp/message", raw, ({ params, signal, agent }) => {
      const { serverId, requestId, method } = params;
      const inner = params["params"];
      return provider.handleRequest({
        params: {
          serverId: String(serverId),
          requestId: String(requestId),
          method: String(method),
          ...(isJsonObject(inner) ? { params: inner } : {}),
        },
        signal,
        agent,
      });
    });
  const client = await startTenon(home, { validate: await acpSchemaValidator({ unstable: true }), extend });
  return { client, provider };
}

interface Project {
  readonly adapter: McpServerAdapter;
  readonly cancelled: string[];
  hasExtra: boolean;
}

/** What an editor might offer: something at once, something slow that reports, something that appears later. */
function project(): Project {
  const state: { hasExtra: boolean; cancelled: string[] } = { hasExtra: false, cancelled: [] };
  const adapter = fromMcpServer(() => {
    const server = new McpServer({ name: "project", version: "1.0.0" });
    const inputSchema = z.object({ message: z.string() });
    server.registerTool("echo", { description: "Echoes a message", inputSchema }, async ({ message }) => ({
      content: [{ type: "text", text: `editor says: ${message}` }],
    }));
    server.registerTool("index", { description: "Indexes the project slowly" }, async (context) => {
      const { signal, notify, _meta } = context.mcpReq;
      const progressToken = _meta?.progressToken;
      if (progressToken !== undefined) {
        const params = { progressToken, progress: 1, total: 3, message: "reading" };
        await notify({ method: "notifications/progress", params });
      }
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      state.cancelled.push("index");
      return { content: [] };
    });
    if (state.hasExtra) {
      server.registerTool("refactor", { description: "Refactors" }, async () => ({
        content: [{ type: "text", text: "refactored" }],
      }));
    }
    return server;
  });
  return Object.assign(state, { adapter });
}

function offer({ client, provider }: Editor, { adapter }: Project): McpServerRegistration {
  return provider.registerServer(client.connection.agent, { name: "project", handler: adapter.handler });
}

const open = async ({ client }: Editor, home: TemporaryFolder, mcpServers: unknown[]) => {
  const answer = raw(await client.request("session/new", { cwd: home.path, mcpServers }));
  return String(answer["sessionId"]);
};

const servers = async (client: AcpClient, sessionId: string) => {
  const status = raw(await client.request("_tenon/mcp/status", { sessionId }));
  return Array.isArray(status["servers"]) ? status["servers"].map(raw) : [];
};

scenario(["P40", "A9"], "a server inside the editor is called like any other, in two sessions at once", async () => {
  using home = new TemporaryFolder();
  const one = await editor(home);
  await using client = one.client;
  const { agentCapabilities } = await client.initialize();
  expect(agentCapabilities?.mcpCapabilities).toEqual({ http: true, sse: true, acp: true });
  const own = project();
  const { declaration } = offer(one, own);
  const sessions = [await open(one, home, [declaration]), await open(one, home, [declaration])];
  await Promise.all(sessions.map((id) => client.prompt(id, "please echo hello")));
  for (const id of sessions) expect(client.text(id)).toContain("editor says: hello");
  expect(await servers(client, sessions[0] ?? "")).toMatchObject([
    { name: "project", state: "ready", toolCount: 2, era: "modern", protocolVersion: "2026-07-28" },
  ]);
  await own.adapter.close();
});

scenario(["P40", "S16"], "its progress is shown on the call, and a cancel reaches it", async () => {
  using home = new TemporaryFolder();
  const one = await editor(home);
  await using client = one.client;
  await client.initialize();
  const own = project();
  const sessionId = await open(one, home, [offer(one, own).declaration]);
  const turn = client.prompt(sessionId, "mcp__project__index");
  await client.waitForUpdate(sessionId, (update) => JSON.stringify(update).includes("1/3 reading"));
  await client.cancel(sessionId);
  expect((await turn).stopReason).toBe("cancelled");
  await expect.poll(() => own.cancelled).toEqual(["index"]);
  await own.adapter.close();
});

scenario(["P40", "E4"], "tools it adds later are there in the next turn; taken back, it is told", async () => {
  using home = new TemporaryFolder();
  const one = await editor(home);
  await using client = one.client;
  await client.initialize();
  const own = project();
  const registration = offer(one, own);
  const sessionId = await open(one, home, [registration.declaration]);
  await client.prompt(sessionId, "please echo first");
  own.hasExtra = true;
  own.adapter.notify.toolsChanged();
  await expect.poll(async () => (await servers(client, sessionId))[0]?.["toolCount"]).toBe(3);
  await client.prompt(sessionId, "mcp__project__refactor");
  expect(client.text(sessionId)).toContain("refactored");

  await registration.dispose();
  await client.prompt(sessionId, "please echo second");
  expect(client.text(sessionId)).not.toContain("editor says: second");
  const told = (update: object) => JSON.stringify(update).includes("does not offer this server any more");
  await client.waitForUpdate(sessionId, told);
  await own.adapter.close();
});

scenario(
  ["P40", "A6"],
  "an editor that names such a server and cannot speak to it costs the others nothing",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home, { validate: await acpSchemaValidator({ unstable: true }) });
    await client.initialize();
    const hello = scriptedAcpServer("hello", {
      tools: [{ name: "greet", description: "Greets", reply: { kind: "text", text: "good morning" } }],
    });
    const mcpServers = [{ type: "acp", name: "draft", id: "of-an-earlier-draft" }, { type: "acp", name: "odd" }, hello];
    const answer = raw(await client.request("session/new", { cwd: home.path, mcpServers }));
    const sessionId = String(answer["sessionId"]);
    await client.prompt(sessionId, "greet");
    expect(client.text(sessionId)).toContain("good morning");
    expect(await servers(client, sessionId)).toMatchObject([
      { name: "draft", state: "failed", error: expect.stringContaining("mcp/message") },
      { name: "hello", state: "ready" },
      { name: "odd", state: "failed", error: expect.stringContaining("serverId") },
    ]);
  },
);

scenario(["P40", "A1"], "it is there in load, resume and fork as in new, each time as it is given then", async () => {
  using home = new TemporaryFolder();
  const one = await editor(home);
  await using client = one.client;
  await client.initialize();
  const own = project();
  const registration = offer(one, own);
  const given = { cwd: home.path, mcpServers: [registration.declaration] };
  const sessionId = await open(one, home, []);
  await client.prompt(sessionId, "hello");
  const fork = raw(await client.request("session/fork", { sessionId, ...given }));
  await client.closeSession(sessionId);
  await client.request("session/load", { sessionId, ...given });
  for (const id of [String(fork["sessionId"]), sessionId]) {
    await client.prompt(id, "please echo again");
    expect(client.text(id)).toContain("editor says: again");
  }
  await client.closeSession(sessionId);
  const resumed = raw(await client.request("session/resume", { sessionId, ...given }));
  expect(resumed["_meta"]).toMatchObject({ tenon: { mcp: { servers: [{ name: "project", state: "connecting" }] } } });
  await client.prompt(sessionId, "please echo resumed");
  expect(client.text(sessionId)).toContain("editor says: resumed");
  await own.adapter.close();
});

scenario(["P40"], "an error of the carrier ends the one call, and the server goes on", async () => {
  using home = new TemporaryFolder();
  const codes = [-33_000, -33_002];
  const extend = (app: ClientApp) =>
    app.onRequest("mcp/message", raw, ({ params: { method } }) => {
      if (method === "server/discover") {
        return { result: { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, resultType: "complete" } };
      }
      if (method === "tools/list") return { result: { tools: [{ name: "greet", inputSchema: { type: "object" } }] } };
      const code = codes.shift();
      if (code !== undefined) throw new RequestError(code, "not now");
      return { result: { content: [{ type: "text", text: "third time lucky" }] } };
    });
  await using client = await startTenon(home, { validate: await acpSchemaValidator({ unstable: true }), extend });
  await client.initialize();
  const mcpServers = [{ type: "acp", name: "flaky", serverId: "s" }];
  const sessionId = String(raw(await client.request("session/new", { cwd: home.path, mcpServers }))["sessionId"]);
  for (const _ of [1, 2, 3]) await client.prompt(sessionId, "mcp__flaky__greet");
  const ended = client.updates(sessionId).filter((update) => "status" in update && update.status !== "in_progress");
  const words = JSON.stringify(ended);
  expect(words).toContain("takes no more requests");
  expect(words).toContain("Outcome unknown");
  expect(client.text(sessionId)).toContain("third time lucky");
});
