// Servers that others wrote, in full: list, call, progress, cancel, structured output, image, resource, prompt,
// elicitation, sampling, list_changed; and the whole way through the built agent.
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { listPrompts, listResources, type McpConnection } from "../../src/mcp/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import {
  CONTEXT7,
  callOptions,
  connected,
  EVERYTHING,
  FILESYSTEM,
  GIT,
  program,
  RemotePeer,
  remoteSpec,
  stdioSpec,
  unending,
} from "./real-server.js";
import { expectEverything, expectFilesystem, expectMemory, linkOf, text } from "./real-server-checks.js";
import { scenario } from "./scenario.js";

scenario(["M10", "D3", "M8", "E4"], "server-everything works in full over stdio", async () => {
  await expectEverything(stdioSpec("everything", [program(EVERYTHING), "stdio"]));
});

scenario(["M10", "D3", "M8", "E4"], "server-everything works in full over Streamable HTTP", async () => {
  await using server = await RemotePeer.start(EVERYTHING, (PORT) => ({ args: ["streamableHttp"], env: { PORT } }));
  await expectEverything(remoteSpec("everything", `${server.origin}/mcp`));
});

scenario(["M10", "D3", "M8", "E4"], "server-everything works in full over SSE", async () => {
  await using server = await RemotePeer.start(EVERYTHING, (PORT) => ({ args: ["sse"], env: { PORT } }));
  await expectEverything(remoteSpec("everything", `${server.origin}/sse`, "sse"));
});

scenario(["M10", "M5"], "an SSE server given as http is found out and works", async () => {
  await using server = await RemotePeer.start(EVERYTHING, (PORT) => ({ args: ["sse"], env: { PORT } }));
  using folder = new TemporaryFolder();
  await using connection = await connected(remoteSpec("everything", `${server.origin}/sse`), folder.path);
  expect(await text(connection, "echo", { message: "older" })).toContain("Echo: older");
});

scenario(["M10", "M8"], "a server is told of no capability that nobody answers for", async () => {
  using folder = new TemporaryFolder();
  const spec = stdioSpec("everything", [program(EVERYTHING), "stdio"]);
  await using connection = await connected(spec, folder.path);
  const names = connection.tools.value.map(({ name }) => name);
  expect(names).toContain("echo");
  // It offers these only to clients that declare what they need.
  expect(names.filter((name) => /roots|elicitation|sampling/.test(name))).toEqual([]);
});

scenario(
  ["M10"],
  "server-filesystem takes its directories from our roots, and its output fits its schemas",
  async () => {
    await expectFilesystem();
  },
);

scenario(["M10"], "server-memory keeps a graph and gives it back as structured output", async () => {
  await expectMemory();
});

async function expectContext7(connection: McpConnection): Promise<void> {
  expect(connection.state.value).toMatchObject({
    kind: "ready",
    server: { name: "Context7", version: "4.1.1" },
    agreement: { era: "modern", protocolVersion: "2026-07-28" },
  });
  expect(connection.tools.value.map(({ name }) => name).sort()).toEqual(["query-docs", "resolve-library-id"]);
  // Its service is on the internet and may be out of reach: the answer then says so, over the same protocol.
  expect(await text(connection, "resolve-library-id", { query: "hooks", libraryName: "react" })).toContain('"text"');
  const unknown = await connection.call("no-such-tool", {}, callOptions());
  expect(unknown).toMatchObject({ kind: "failed", error: { code: "mcp.call_failed" } });
  expect((await listPrompts(linkOf(connection), nodeWorld(), unending())).items).toEqual([]);
}

scenario(["M10", "M3"], "context7 speaks the modern era over stdio", async () => {
  using folder = new TemporaryFolder();
  await using connection = await connected(stdioSpec("context7", [program(CONTEXT7)]), folder.path);
  await expectContext7(connection);
});

scenario(["M10", "M3"], "context7 speaks the modern era over HTTP", async () => {
  using folder = new TemporaryFolder();
  await using server = await RemotePeer.start(CONTEXT7, (port) => ({ args: ["--transport", "http", "--port", port] }));
  await using connection = await connected(remoteSpec("context7", `${server.origin}/mcp`), folder.path);
  await expectContext7(connection);
});

const gitServer = (folder: string): Promise<RemotePeer> =>
  RemotePeer.start(GIT, (port) => ({
    env: {
      MCP_TRANSPORT_TYPE: "http",
      MCP_HTTP_PORT: port,
      MCP_SESSION_MODE: "stateful",
      MCP_LOG_LEVEL: "error",
      LOGS_DIR: join(folder, "logs"),
      GIT_SIGN_COMMITS: "false",
    },
  }));

scenario(
  ["M10", "M3", "M5"],
  "a session-based HTTP server that answers the probe with 500 works as legacy",
  async () => {
    using folder = new TemporaryFolder();
    await using server = await gitServer(folder.path);
    await using connection = await connected(remoteSpec("git", `${server.origin}/mcp`), folder.path);
    expect(connection.state.value).toMatchObject({ agreement: { era: "legacy" } });
    expect(connection.tools.value).toHaveLength(28);
    const path = realpathSync(folder.path);
    await text(connection, "git_init", { path });
    writeFileSync(join(path, "new.txt"), "new");
    const status = await connection.call("git_status", { path }, callOptions());
    expect(status).toMatchObject({ kind: "answered", isError: false });
    expect(status).not.toHaveProperty("warnings");
    expect(JSON.stringify(status)).toContain("new.txt");
    const { items } = await listResources(linkOf(connection), nodeWorld(), unending());
    expect(items.length).toBeGreaterThan(0);
  },
);

scenario(["A13", "M10"], "filesystem, git and everything work the whole way, each over another transport", async () => {
  using home = new TemporaryFolder();
  using project = new TemporaryFolder();
  const path = realpathSync(project.path);
  await using git = await gitServer(home.path);
  await using everything = await RemotePeer.start(EVERYTHING, (PORT) => ({ args: ["sse"], env: { PORT } }));
  await using client = await startTenon(home);
  await client.initialize();
  const { sessionId } = await client.newSession({
    cwd: path,
    mcpServers: [
      { name: "files", command: process.execPath, args: [program(FILESYSTEM), path], env: [] },
      { type: "http", name: "git", url: `${git.origin}/mcp`, headers: [] },
      { type: "sse", name: "everything", url: `${everything.origin}/sse`, headers: [] },
    ],
  });
  await client.prompt(sessionId, "mcp__files__list_allowed_directories");
  expect(client.text(sessionId)).toContain(path);
  await client.prompt(sessionId, "mcp__everything__echo hello over sse");
  expect(client.text(sessionId)).toContain("hello over sse");
  await client.prompt(sessionId, `mcp__git__git_init ${path}`);
  await client.prompt(sessionId, `mcp__git__git_status ${path}`);
  expect(JSON.stringify(client.updates(sessionId))).toMatch(/isClean|working tree|clean|branch/i);
  const status = JSON.stringify(await client.request("_tenon/mcp/status", { sessionId }));
  expect(status.match(/"state":"ready"/g)).toHaveLength(3);
});
