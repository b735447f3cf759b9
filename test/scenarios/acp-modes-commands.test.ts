// Slash commands over ACP: announced, followed as servers come and go, and prompts and resources of real servers.
import { expect } from "vitest";
import { type AcpClient, type AcpServerEntry, echoTool, scriptedAcpServer } from "../../src/testing/index.js";
import { answerText, fakeProvider } from "../../src/testing/lab/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { conversationIn, KEY } from "./providers/target.js";
import { EVERYTHING, program } from "./real-server.js";
import { scenario } from "./scenario.js";

const EVERYTHING_SERVER: AcpServerEntry = {
  name: "everything",
  command: process.execPath,
  args: [program(EVERYTHING)],
  env: [],
};

/** The names of the last announcement. */
function commandsNow(client: AcpClient, sessionId: string): readonly string[] {
  const all = client.updates(sessionId).flatMap((update) => {
    return update.sessionUpdate === "available_commands_update" ? [update.availableCommands] : [];
  });
  return all.at(-1)?.map(({ name }) => name) ?? [];
}

async function said(client: AcpClient, sessionId: string, prompt: string): Promise<string> {
  const before = client.text(sessionId).length;
  await client.prompt(sessionId, prompt);
  return client.text(sessionId).slice(before);
}

scenario(["P22"], "commands are announced at once, and /mcp changes the servers of the session only", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const { sessionId } = await client.newSession({
    cwd: home.path,
    mcpServers: [scriptedAcpServer("s", { tools: [echoTool()] })],
  });
  await client.waitForUpdate(sessionId, ({ sessionUpdate }) => sessionUpdate === "available_commands_update");
  expect(commandsNow(client, sessionId)).toEqual([
    "mcp",
    "tools",
    "why",
    "permissions",
    "model",
    "compact",
    "cost",
    "help",
  ]);
  expect(await said(client, sessionId, "/mcp")).toContain("**s** (client): ready, 1 tool");
  expect(await said(client, sessionId, "/mcp disable s")).toContain("off for this session");
  expect(await said(client, sessionId, "please echo while it is off")).not.toContain("Echo");
  expect(await said(client, sessionId, "/why s/echo")).toContain("switched off in this session");
  expect(await said(client, sessionId, "/mcp enable s")).toContain("ready, 1 tool");
  expect(await said(client, sessionId, "please echo after it came back")).toContain("after it came back");
  expect(await said(client, sessionId, "/mcp restart s")).toContain("ready, 1 tool");
  expect(await said(client, sessionId, "please echo once more")).toContain("once more");
  const other = scriptedAcpServer("other", { tools: [echoTool()] });
  const words = [other.command, ...other.args].map((word) => JSON.stringify(word)).join(" ");
  expect(await said(client, sessionId, `/mcp add other ${words}`)).toContain("**other** (client)");
  const status = await client.request("_tenon/mcp/status", { sessionId });
  expect(JSON.stringify(status)).toContain('"name":"other"');
  expect(await said(client, sessionId, "/mcp remove other")).toContain("removed from this session");
  expect(await said(client, sessionId, "/mcp")).not.toContain("other");
  expect(await said(client, sessionId, "/mcp restart nobody")).toContain("no connected server");
  expect(await said(client, sessionId, "/model nonsense")).toContain("Nothing changed");
  expect(await said(client, sessionId, "/model")).toContain("offline/operator");
});

scenario(["P23", "E11"], "prompts of server-everything are commands: listed, filled in, and helped along", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider();
  const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: provider.origin };
  await using client = await startTenon(home, { env });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [EVERYTHING_SERVER] });
  // Typed before anybody knows what prompts there are.
  const missing = await said(client, sessionId, "/everything:args-prompt");
  expect(missing).toContain("it needs city");
  expect(provider.requests).toHaveLength(0);
  await client.waitForUpdate(sessionId, (update) => JSON.stringify(update).includes("everything:simple-prompt"));
  const commands = commandsNow(client, sessionId);
  expect(commands).toEqual(expect.arrayContaining(["everything:simple-prompt", "everything:args-prompt", "mcp"]));

  provider.reply(answerText("Sunny."), answerText("Noted."));
  expect(await said(client, sessionId, "/everything:args-prompt city=Paris state=Texas")).toBe("Sunny.");
  const sent = JSON.stringify(conversationIn(await provider.awaitRequest(0)));
  expect(sent).toContain("Paris");
  expect(sent).toContain("Texas");
  expect(sent).not.toContain("/everything:args-prompt");

  const suggested = await said(client, sessionId, "/everything:completable-prompt");
  expect(suggested).toMatch(/one of: .*Engineering/u);
  expect(await said(client, sessionId, "/everything:nothing")).toContain("has no such prompt");
  expect(await said(client, sessionId, "/nobody:prompt is just a text")).toBe("Noted.");
  expect(await said(client, sessionId, "/help")).toContain("`/everything:args-prompt <city> [state]`");
  await client.prompt(sessionId, "/mcp disable everything");
  expect(commandsNow(client, sessionId).some((name) => name.startsWith("everything:"))).toBe(false);
});

scenario(
  ["P24", "E11"],
  "resources of a server are attached by link and by @server:uri; a failure is told",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: provider.origin };
    await using client = await startTenon(home, { env });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [EVERYTHING_SERVER] });
    provider.reply(answerText("I see."), answerText("Again."));
    const uri = "demo://resource/static/document/architecture.md";
    await client.prompt(sessionId, `Look at @everything:${uri}, and at @everything:demo://nothing/there.`);
    const first = JSON.stringify(conversationIn(await provider.awaitRequest(0)));
    expect(first).toContain(`<resource uri=\\"${uri}`);
    expect(first).toContain("Everything Server");
    const notices = client.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === "notice");
    expect(JSON.stringify(notices)).toContain("demo://nothing/there was mentioned and is not attached");
    await client.prompt(sessionId, [
      { type: "text", text: "and these" },
      { type: "resource_link", uri: "demo://resource/dynamic/text/7", name: "seven" },
      { type: "resource_link", uri: "https://example.org/page", name: "page" },
    ]);
    const second = JSON.stringify(conversationIn(await provider.awaitRequest(1)));
    expect(second).toContain(String.raw`the resource \"demo://resource/dynamic/text/7\" of the server`);
    expect(second).not.toContain(String.raw`the resource \"https://example.org/page`);
  },
);
