// Servers that others wrote, in full: list, call, progress, cancel, structured output, image, resource, prompt,
// elicitation, sampling, list_changed; and the whole way through the built agent.
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import {
  complete,
  getPrompt,
  type Link,
  listPrompts,
  listResources,
  listResourceTemplates,
  type McpConnection,
  readResource,
} from "../../src/mcp/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import {
  AgreeablePeer,
  CONTEXT7,
  callOptions,
  connected,
  EVERYTHING,
  FILESYSTEM,
  GIT,
  MEMORY,
  program,
  RemotePeer,
  remoteSpec,
  stdioSpec,
  unending,
} from "./real-server.js";
import { scenario } from "./scenario.js";

async function text(connection: McpConnection, tool: string, args: Parameters<McpConnection["call"]>[1] = {}) {
  const outcome = await connection.call(tool, args, callOptions());
  expect(outcome).toMatchObject({ kind: "answered", isError: false });
  return JSON.stringify(outcome);
}

function linkOf(connection: McpConnection): Link {
  if (!connection.link) throw new Error("not connected");
  return connection.link;
}

async function expectCalls(connection: McpConnection): Promise<void> {
  await connection.tools.until((tools) => tools.some(({ name }) => name === "trigger-sampling-request"), unending());
  expect(connection.tools.value.length).toBeGreaterThanOrEqual(17);
  expect(await text(connection, "echo", { message: "hello" })).toContain("Echo: hello");
  expect(await text(connection, "get-sum", { a: 19, b: 23 })).toContain("42");

  const structured = await connection.call("get-structured-content", { location: "New York" }, callOptions());
  expect(structured).toMatchObject({ kind: "answered", structured: { conditions: expect.any(String) } });
  expect(structured).not.toHaveProperty("warnings");

  const image = await connection.call("get-tiny-image", {}, callOptions());
  expect(image).toMatchObject({ content: expect.arrayContaining([expect.objectContaining({ type: "image" })]) });
}

async function expectProgressAndCancel(connection: McpConnection): Promise<void> {
  const seen: number[] = [];
  const onProgress = ({ progress }: { readonly progress: number }) => seen.push(progress);
  const long = await connection.call(
    "trigger-long-running-operation",
    { duration: 0.4, steps: 4 },
    callOptions({ onProgress }),
  );
  expect(long.kind).toBe("answered");
  expect(seen).toEqual([1, 2, 3, 4]);

  const controller = new AbortController();
  const before = performance.now();
  const cancelled = await connection.call(
    "trigger-long-running-operation",
    { duration: 60, steps: 600 },
    { signal: controller.signal, onProgress: () => controller.abort() },
  );
  expect(cancelled).toEqual({ kind: "cancelled" });
  expect(performance.now() - before).toBeLessThan(10_000);
  expect(await text(connection, "echo", { message: "still here" })).toContain("still here");
}

async function expectResourcesAndPrompts(connection: McpConnection): Promise<void> {
  const world = nodeWorld();
  const link = linkOf(connection);
  const { items: resources } = await listResources(link, world, unending());
  expect(resources.length).toBeGreaterThanOrEqual(7);
  const [document] = await readResource(link, resources[0]?.uri ?? "", { signal: unending() });
  expect(document).toMatchObject({ type: "resource" });
  const templates = await listResourceTemplates(link, world, unending());
  expect(templates.items.map(({ uriTemplate }) => uriTemplate)).toContain("demo://resource/dynamic/text/{resourceId}");

  const { items: prompts } = await listPrompts(link, world, unending());
  expect(prompts.find(({ name }) => name === "args-prompt")?.arguments).toMatchObject([
    { name: "city", isRequired: true },
    { name: "state", isRequired: false },
  ]);
  const prompt = await getPrompt(link, "args-prompt", { city: "Oslo" }, { signal: unending() });
  expect(JSON.stringify(prompt.messages)).toContain("weather in Oslo");
  const argument = { name: "department", value: "S" };
  const target = { kind: "prompt", name: "completable-prompt" } as const;
  expect((await complete(link, { target, argument }, { signal: unending() })).values).toEqual(["Sales", "Support"]);
}

async function expectQuestions(connection: McpConnection, peer: AgreeablePeer, root: string): Promise<void> {
  const form = await text(connection, "trigger-elicitation-request");
  expect(form).toContain("Name: Ada");
  expect(form).toContain("Favorite Integer: 42"); // left out by the person: the schema's default
  const url = "https://example.com/consent";
  expect(await text(connection, "trigger-url-elicitation", { url })).toContain("accept");
  expect(peer.asked.map(({ mode, url: shown }) => [mode, shown])).toEqual([
    ["form", undefined],
    ["url", url],
  ]);
  expect(await text(connection, "trigger-sampling-request", { prompt: "hi", maxTokens: 7 })).toContain(
    "at most 7 tokens",
  );
  expect(await text(connection, "get-roots-list")).toContain(root);
}

/** A tool of the server adds a resource, and the server says that its list has changed. */
async function expectListChanged(connection: McpConnection): Promise<void> {
  const link = linkOf(connection);
  const told = new Promise<void>((resolve) => {
    link.onNotification((method) => {
      if (method === "notifications/resources/list_changed") resolve();
    });
  });
  await text(connection, "gzip-file-as-resource", { name: "note.gz", data: "data:text/plain,hello" });
  await told;
  const { items } = await listResources(link, nodeWorld(), unending());
  expect(items.some(({ name }) => name === "note.gz")).toBe(true);
}

async function expectEverything(spec: Parameters<typeof connected>[0]): Promise<void> {
  using folder = new TemporaryFolder();
  const peer = new AgreeablePeer(folder.path);
  await using connection = await connected(spec, folder.path, { peer });
  expect(connection.state.value).toMatchObject({ agreement: { era: "legacy", protocolVersion: "2025-11-25" } });
  await expectCalls(connection);
  await expectProgressAndCancel(connection);
  await expectResourcesAndPrompts(connection);
  await expectQuestions(connection, peer, folder.path);
  await expectListChanged(connection);
}

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
    using folder = new TemporaryFolder();
    using elsewhere = new TemporaryFolder();
    const path = realpathSync(folder.path);
    const spec = stdioSpec("files", [program(FILESYSTEM), elsewhere.path]);
    await using connection = await connected(spec, path, { peer: new AgreeablePeer(path) });
    expect(connection.tools.value).toHaveLength(14);
    await expect.poll(() => text(connection, "list_allowed_directories"), { timeout: 10_000 }).toContain(path);
    await text(connection, "write_file", { path: join(path, "note.txt"), content: "written over MCP" });
    expect(readFileSync(join(path, "note.txt"), "utf8")).toBe("written over MCP");
    const read = await connection.call("read_text_file", { path: join(path, "note.txt") }, callOptions());
    expect(read).toMatchObject({ kind: "answered", structured: { content: "written over MCP" } });
    expect(read).not.toHaveProperty("warnings");
    const refused = await connection.call("read_text_file", { path: join(elsewhere.path, "secret") }, callOptions());
    expect(refused).toMatchObject({ kind: "answered", isError: true });
  },
);

scenario(["M10"], "server-memory keeps a graph and gives it back as structured output", async () => {
  using folder = new TemporaryFolder();
  const env = { MEMORY_FILE_PATH: join(folder.path, "memory.json") };
  await using connection = await connected(stdioSpec("memory", [program(MEMORY)], env), folder.path);
  const ada = { name: "Ada", entityType: "person", observations: ["wrote the first program"] };
  await text(connection, "create_entities", { entities: [ada] });
  const graph = await connection.call("read_graph", {}, callOptions());
  expect(graph).toMatchObject({ kind: "answered", structured: { entities: [ada], relations: [] } });
  expect(graph).not.toHaveProperty("warnings");
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
