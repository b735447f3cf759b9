// One prompt all the way: ACP client -> agent -> session -> model -> real MCP server and back.
import { realpathSync } from "node:fs";
import { expect } from "vitest";
import { echoTool, scriptedAcpServer, scriptedHttpServer } from "../../src/testing/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { peerFile } from "./peers.js";
import { scenario } from "./scenario.js";

const everything = () => ({
  name: "everything",
  command: process.execPath,
  args: [peerFile("@modelcontextprotocol/server-everything", "dist/index.js")],
  env: [],
});

scenario(["S19", "D10", "S9"], "a prompt calls server-everything's echo and streams every step in order", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  const { agentInfo } = await client.initialize();
  expect(agentInfo?.name).toBe("tenon");
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [everything()] });
  const { stopReason } = await client.prompt(sessionId, "please echo hello from the editor");
  expect(stopReason).toBe("end_turn");

  const kinds = client.updates(sessionId).map((update) => update.sessionUpdate);
  const calls = client.updates(sessionId).filter((update) => update.sessionUpdate.startsWith("tool_call"));
  expect(calls.map((update) => ("status" in update ? update.status : ""))).toEqual([
    "pending",
    "in_progress",
    "completed",
  ]);
  expect(JSON.stringify(calls.at(-1))).toContain("Echo: hello from the editor");
  expect(kinds.lastIndexOf("agent_message_chunk")).toBeGreaterThan(kinds.lastIndexOf("tool_call_update"));
  expect(client.text(sessionId)).toContain("hello from the editor");
  expect(client.permissionRequests).toHaveLength(1);
});

scenario(["S8"], "the offline model says once per session that it is offline and how to set a real one", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: home.path });
  await client.prompt(sessionId, "hello");
  await client.prompt(sessionId, "hello again");
  expect(client.text(sessionId).match(/offline/gi)).toHaveLength(1);
  expect(client.text(sessionId)).toMatch(/ANTHROPIC_API_KEY.*--model/s);
});

scenario(
  ["S9"],
  "when nothing fits it names the tools, when an argument is missing it names the argument",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    await client.initialize();
    const inputSchema = {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city", "days"],
    } as const;
    const server = scriptedAcpServer("weather", {
      tools: [{ name: "forecast", description: "Weather forecast for a city", inputSchema, reply: { kind: "echo" } }],
    });
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
    await client.prompt(sessionId, "qwzx");
    expect(client.text(sessionId)).toContain("forecast");
    await client.prompt(sessionId, "forecast");
    expect(client.text(sessionId)).toContain("city");
    expect(client.permissionRequests).toHaveLength(0);
  },
);

scenario(["S17"], "a tool runs only after permission, and a refusal reaches the person and the model", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home, { permissions: "deny" });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [everything()] });
  const { stopReason } = await client.prompt(sessionId, "please echo secret");
  expect(stopReason).toBe("end_turn");
  const ended = client.updates(sessionId).filter((update) => update.sessionUpdate === "tool_call_update");
  expect(ended).toMatchObject([{ status: "failed" }]);
  expect(JSON.stringify(ended)).toContain("the person said no");
  expect(client.text(sessionId)).not.toContain("Echo: secret");
  const [question] = client.permissionRequests;
  expect(question?.toolCall).toMatchObject({
    title: expect.stringContaining("everything / "),
    rawInput: { message: "secret" },
  });

  client.answerPermissions("always");
  await client.prompt(sessionId, "please echo one");
  await client.prompt(sessionId, "please echo two");
  expect(client.permissionRequests).toHaveLength(2);
  expect(client.text(sessionId)).toContain("Echo: two");
});

scenario(["A10"], "the session's cwd is the server's directory and its root", async () => {
  using home = new TemporaryFolder();
  using project = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const server = scriptedAcpServer("where", {
    tools: [
      { name: "directory", description: "Tells the directory", reply: { kind: "cwd" } },
      { name: "roots", description: "Tells the roots", reply: { kind: "ask_client", method: "roots/list" } },
    ],
  });
  const { sessionId } = await client.newSession({ cwd: project.path, mcpServers: [server] });
  await client.prompt(sessionId, "directory");
  expect(client.text(sessionId)).toContain(realpathSync(project.path));
  await client.prompt(sessionId, "roots");
  expect(client.text(sessionId)).toContain(`file://${project.path}`);
});

scenario(["C5"], "two servers with the same tool coexist under names of their own", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const named = (name: string, text: string) =>
    scriptedAcpServer(name, { tools: [{ name: "greet", description: "Greets", reply: { kind: "text", text } }] });
  const mcpServers = [named("first", "from the first"), named("second one", "from the second")];
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers });
  await client.prompt(sessionId, "mcp__first__greet");
  const status = await client.request("_tenon/mcp/status", { sessionId });
  expect(JSON.stringify(status)).toMatch(/mcp__first__greet.*mcp__second_one__greet"/);
  expect(client.text(sessionId)).toContain("from the first");
  expect(client.text(sessionId)).not.toContain("from the second");
});

scenario(["S16"], "a cancelled turn says so, the server hears of it, and the next prompt works", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const server = scriptedAcpServer("slow", {
    tools: [
      { name: "wait", description: "Waits for ever", steps: [{ do: "never" }], reply: { kind: "echo" } },
      echoTool(),
    ],
  });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
  const answer = client.prompt(sessionId, "wait");
  await client.waitForUpdate(sessionId, (update) => "status" in update && update.status === "in_progress");
  await client.cancel(sessionId);
  expect((await answer).stopReason).toBe("cancelled");
  expect((await client.prompt(sessionId, "please echo alive")).stopReason).toBe("end_turn");
  expect(client.text(sessionId)).toContain("alive");
});

scenario(["A2"], "a server over Streamable HTTP works beside a stdio one", async () => {
  using home = new TemporaryFolder();
  await using server = await scriptedHttpServer({
    tools: [{ name: "greet", description: "Greets", reply: { kind: "text", text: "over http" } }],
  });
  await using client = await startTenon(home);
  await client.initialize();
  const web = { type: "http" as const, name: "web", url: server.url, headers: [] };
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [web, everything()] });
  await client.prompt(sessionId, "greet");
  expect(client.text(sessionId)).toContain("over http");
  await client.prompt(sessionId, "please echo both");
  expect(client.text(sessionId)).toContain("Echo: both");
});
