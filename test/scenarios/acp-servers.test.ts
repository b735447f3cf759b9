// Servers an editor hands over: as it writes them, as they change, and what they ask of the person.
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClientApp, type CreateElicitationRequest, methods } from "@agentclientprotocol/sdk";
import { expect } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/base/json/json.js";
import {
  type AcpClient,
  type Behaviour,
  echoTool,
  scriptedAcpServer,
  scriptedHttpServer,
} from "../../src/testing/index.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { agentNode, node24, peerFile, TENON } from "./peers.js";
import { EVERYTHING, program, RemotePeer } from "./real-server.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const raw = (params: unknown): JsonObject => (isJsonObject(params) ? params : {});

const everything = () => ({ name: "everything", command: process.execPath, args: [program(EVERYTHING)], env: [] });

const greeter = (name: string, text: string) =>
  scriptedAcpServer(name, { tools: [{ name: "greet", description: "Greets", reply: { kind: "text", text } }] });

async function open(client: AcpClient, cwd: string, mcpServers: unknown): Promise<string> {
  return String(raw(await client.request("session/new", { cwd, mcpServers }))["sessionId"]);
}

async function standing(client: AcpClient, sessionId: string): Promise<Record<string, unknown>> {
  const { servers } = raw(await client.request("_tenon/mcp/status", { sessionId }));
  return Object.fromEntries(
    (Array.isArray(servers) ? servers : []).map((one) => [raw(one)["name"], raw(one)["state"]]),
  );
}

scenario(["P41", "A6", "B5"], "servers as real editors write them connect, and the rest is named", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize({ clientCapabilities: {} });
  const { command, args, env } = greeter("x", "hello");
  const table = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const mcpServers = [
    { name: "lua", command, args, env: table },
    { name: "list", command: [command, ...args], env },
    { name: "v2", type: "stdio", command, args, env },
    { name: "bare", command: "no-such-command-anywhere" },
    { name: "pigeon", type: "carrier-pigeon" },
    "not an object",
  ];
  const sessionId = await open(client, home.path, mcpServers);
  await client.prompt(sessionId, "mcp__lua__greet");
  expect(client.text(sessionId)).toContain("hello");
  expect(await standing(client, sessionId)).toEqual({
    lua: "ready",
    list: "ready",
    v2: "ready",
    bare: "failed",
    pigeon: "failed",
    "#6": "failed",
  });
  // A client without notices sees each as a call that failed, exactly once.
  const failed = client
    .updates(sessionId)
    .filter((update) => update.sessionUpdate === "tool_call" && update.status === "failed");
  expect(failed.map((update) => ("title" in update ? update.title : ""))).toEqual(
    expect.arrayContaining(["bare: not connected", "pigeon: not connected", "#6: not connected"]),
  );
  expect(failed).toHaveLength(3);

  const mapped = await open(client, home.path, { named: { command, args, env: table } });
  await client.prompt(mapped, "mcp__named__greet");
  expect(client.text(mapped)).toContain("hello");
});

scenario(["P42"], "programs learn where servers stand from answers and updates", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const answer = raw(
    await client.request("session/new", { cwd: home.path, mcpServers: [greeter("a", "hi"), { name: "b" }] }),
  );
  expect(answer["_meta"]).toMatchObject({
    tenon: {
      mcp: {
        servers: [
          { name: "a", state: "connecting" },
          { name: "b", state: "failed", error: "a stdio server needs a command" },
        ],
      },
    },
  });
  const sessionId = String(answer["sessionId"]);
  const about = (update: { readonly _meta?: unknown }) => JSON.stringify(raw(update._meta)["tenon"] ?? null);
  const tells = (name: string, state: string) => (update: { readonly _meta?: unknown }) =>
    about(update).includes(`"name":"${name}"`) && about(update).includes(`"state":"${state}"`);
  await client.waitForUpdate(sessionId, tells("a", "ready"));
  await client.waitForUpdate(sessionId, tells("b", "failed"));
});

scenario(["P43", "A12"], "servers are changed in mid-session, in mid-turn too", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  const { agentCapabilities } = await client.initialize();
  expect(JSON.stringify(agentCapabilities?._meta)).toContain("_tenon/session/set_mcp_servers");
  const waiting = scriptedAcpServer("waiting", {
    tools: [{ name: "wait", description: "Waits for ever", steps: [{ do: "never" }], reply: { kind: "echo" } }],
  });
  const kept = greeter("kept", "still here");
  const sessionId = await open(client, home.path, [waiting, kept]);
  const turn = client.prompt(sessionId, "mcp__waiting__wait");
  await client.waitForUpdate(sessionId, (update) => "status" in update && update.status === "in_progress");
  const set = (mcpServers: unknown) => client.request("_tenon/session/set_mcp_servers", { sessionId, mcpServers });
  expect(raw(await set([kept, greeter("new", "newly come"), { name: "odd" }]))["servers"]).toMatchObject([
    { name: "kept", state: "ready" },
    { name: "new", state: "connecting" },
    { name: "odd", state: "failed" },
  ]);
  expect((await turn).stopReason).toBe("end_turn");
  const ended = client.updates(sessionId).filter((update) => "status" in update && update.status === "failed");
  expect(JSON.stringify(ended)).toContain("Outcome unknown");

  await client.waitForUpdate(sessionId, (update) => /"name":"new".*"state":"ready"/.test(JSON.stringify(update._meta)));
  await client.prompt(sessionId, "mcp__new__greet");
  await client.prompt(sessionId, "mcp__kept__greet");
  expect(client.text(sessionId)).toContain("newly come");
  expect(client.text(sessionId)).toContain("still here");
  await set([]);
  expect(await standing(client, sessionId)).toEqual({});
  await expect(client.request("_tenon/session/set_mcp_servers", { sessionId: "nobody" })).rejects.toThrow(/nobody/);
});

/** Answers every elicitation, and remembers what was asked. */
function person(answer: (request: CreateElicitationRequest) => JsonObject) {
  const asked: CreateElicitationRequest[] = [];
  const extend = (app: ClientApp) =>
    app.onRequest(methods.client.elicitation.create, ({ params }) => {
      asked.push(params);
      const { action, content } = answer(params);
      return { action: String(action), ...(isJsonObject(content) ? { content } : {}) };
    });
  return { asked, extend };
}

const SHOWS_ALL = { session: { notices: {} }, elicitation: { form: {}, url: {} } };

scenario(["P44", "A13"], "server-everything's form and page reach the person, and the answers the server", async () => {
  using home = new TemporaryFolder();
  const { asked, extend } = person(({ mode }) =>
    mode === "form" ? { action: "accept", content: { name: "Ada", check: true } } : { action: "accept" },
  );
  await using client = await startTenon(home, { extend });
  await client.initialize({ clientCapabilities: SHOWS_ALL });
  const sessionId = await open(client, home.path, [everything()]);
  await client.prompt(sessionId, "mcp__everything__trigger-elicitation-request");
  expect(client.text(sessionId)).toContain("Name: Ada");
  const [form] = asked;
  expect(form).toMatchObject({ mode: "form", sessionId, toolCallId: expect.any(String) });
  expect(form?.message).toContain('The MCP server "everything" asks');

  await client.prompt(sessionId, 'mcp__everything__trigger-url-elicitation {"url":"https://example.com/log-in"}');
  expect(client.text(sessionId)).toContain("User completed the URL elicitation flow");
  expect(asked.at(-1)).toMatchObject({ mode: "url", url: "https://example.com/log-in" });
  expect(asked.at(-1)?.message).toContain("https://example.com/log-in");

  // The other way of servers: the call is refused until the person has been there.
  const path = "mcp__everything__trigger-url-elicitation";
  await client.prompt(sessionId, `${path} {"url":"https://example.com/again","errorPath":true}`);
  expect(asked.at(-1)).toMatchObject({ mode: "url", url: "https://modelcontextprotocol.io/" });
  expect(JSON.stringify(client.updates(sessionId))).toContain("the person was shown the page; call again");
});

const ASKS: Behaviour = {
  tools: [
    {
      name: "ask",
      description: "Asks the person",
      reply: { kind: "ask_client", method: "elicitation/create", params: { message: "who?" } },
    },
  ],
};

scenario(
  ["P44"],
  "a client without elicitation is declared to no server, and declines at once with a notice",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    await client.initialize();
    const sessionId = await open(client, home.path, [everything(), scriptedAcpServer("pushy", ASKS)]);
    await client.prompt(sessionId, "mcp__pushy__ask");
    expect(client.text(sessionId)).toContain("decline");
    const status = JSON.stringify(await client.request("_tenon/mcp/status", { sessionId }));
    expect(status).toContain("mcp__everything__echo");
    expect(status).not.toContain("trigger-elicitation");
    expect(status).not.toContain("trigger-url");
    const notices = client.updates(sessionId).filter((update) => update.sessionUpdate === "notice");
    expect(JSON.stringify(notices)).toContain('the server \\"pushy\\" asks for input, which was declined');
  },
);

scenario(["P44", "S16"], "a question that is open when the turn is cancelled is taken back", async () => {
  using home = new TemporaryFolder();
  const signals: AbortSignal[] = [];
  let onAsked: (signal: AbortSignal) => void = () => {};
  const asked = new Promise<AbortSignal>((resolve) => {
    onAsked = resolve;
  });
  const extend = (app: ClientApp) =>
    app.onRequest(methods.client.elicitation.create, ({ signal }) => {
      signals.push(signal);
      onAsked(signal);
      return new Promise<never>(() => {});
    });
  await using client = await startTenon(home, { extend });
  await client.initialize({ clientCapabilities: SHOWS_ALL });
  const sessionId = await open(client, home.path, [scriptedAcpServer("pushy", ASKS)]);
  const turn = client.prompt(sessionId, "mcp__pushy__ask");
  const question = await asked;
  const takenBack = once(question, "abort");
  await client.cancel(sessionId);
  expect((await turn).stopReason).toBe("cancelled");
  await takenBack;
  expect(signals).toEqual([question]);
});

scenario(["P45", "O3"], "server-everything's sampling is asked about and answered by the session's model", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const sessionId = await open(client, home.path, [everything()]);
  await client.prompt(sessionId, 'mcp__everything__trigger-sampling-request {"prompt":"say something kind"}');
  expect(client.text(sessionId)).toContain("LLM sampling result");
  const asked = client.permissionRequests.map(({ toolCall }) => JSON.stringify(toolCall));
  expect(asked).toHaveLength(2);
  expect(asked[1]).toContain("everything / wants to use the model");
  expect(asked[1]).toContain("say something kind");
});

scenario(["P46"], "progress and log lines are shown on the running call, however many there are", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const say = (data: string) =>
    ({ do: "notify", method: "notifications/message", params: { level: "info", data } }) as const;
  const lines = Array.from({ length: 300 }, (_, index) => say(`line ${index}`));
  const chatty = scriptedAcpServer("chatty", {
    tools: [
      {
        name: "build",
        description: "Builds",
        steps: [say("begun"), { do: "delay", ms: 300 }],
        reply: { kind: "text", text: "built" },
      },
      {
        name: "flood",
        description: "Floods",
        steps: [...lines, { do: "delay", ms: 300 }],
        reply: { kind: "text", text: "dry" },
      },
    ],
  });
  const sessionId = await open(client, home.path, [everything(), chatty]);
  await client.prompt(sessionId, 'mcp__everything__trigger-long-running-operation {"duration":1,"steps":2}');
  const shown = () =>
    client.updates(sessionId).filter((update) => "status" in update && update.status === "in_progress");
  expect(JSON.stringify(shown())).toMatch(/1\/2/);

  await client.prompt(sessionId, "mcp__chatty__build");
  expect(JSON.stringify(shown())).toContain("[info] begun");
  const before = shown().length;
  await client.prompt(sessionId, "mcp__chatty__flood");
  expect(JSON.stringify(shown().at(-1))).toContain("line 299");
  expect(shown().length - before).toBeLessThan(10);
  expect(client.text(sessionId)).toContain("dry");
});

scenario(["P47"], "a server that wants a log-in says so, and what to do", async () => {
  using home = new TemporaryFolder();
  await using server = await scriptedHttpServer({ tools: [echoTool()] }, { bearer: "a-token-nobody-has" });
  await using client = await startTenon(home);
  await client.initialize();
  const sessionId = await open(client, home.path, [{ type: "http", name: "web", url: server.url, headers: [] }]);
  const update = await client.waitForUpdate(sessionId, (one) => JSON.stringify(one).includes("failed"));
  expect(update).toMatchObject({ sessionUpdate: "notice", severity: "error" });
  const words = JSON.stringify(update);
  expect(words).toContain("It needs a log-in");
  expect(words).toContain("your editor's settings");
  expect(words).toContain('"needsLogin":true');
});

async function acpx(home: TemporaryFolder, server: object, prompt: string) {
  const config = join(home.path, "mcp.json");
  writeFileSync(config, JSON.stringify({ mcpServers: [server] }));
  const agent = `${agentNode()} ${TENON} acp`;
  const args = [peerFile("acpx", "dist/cli.js"), "--mcp-config", config, "--approve-all", "--format", "json"];
  args.push("--agent", agent, "exec", prompt);
  return await runCommand(node24(), args, { env: cleanEnv(home.path, { HOME: home.path }), cwd: home.path });
}

scenario(
  ["P48", "S2", "A1"],
  "acpx hands over server-everything over stdio, http and sse",
  async () => {
    await using http = await RemotePeer.start(EVERYTHING, (port) => ({
      args: ["streamableHttp"],
      env: { PORT: port },
    }));
    await using sse = await RemotePeer.start(EVERYTHING, (port) => ({ args: ["sse"], env: { PORT: port } }));
    const { env: _, ...stdio } = everything();
    for (const server of [
      stdio,
      { type: "http", name: "everything", url: `${http.origin}/mcp` },
      { type: "sse", name: "everything", url: `${sse.origin}/sse` },
    ]) {
      using home = new TemporaryFolder();
      const { code, stdout, stderr } = await acpx(home, server, "please echo hi from acpx");
      expect(stderr + stdout).toContain("Echo: hi from acpx");
      expect(code).toBe(0);
    }
  },
  { timeoutMs: 120_000 },
);
