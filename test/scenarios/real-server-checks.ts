// What servers that others wrote must do whoever runs them and in whatever: the whole of their abilities, checked.
import { readFileSync, realpathSync } from "node:fs";
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
  type SandboxSpec,
} from "../../src/mcp/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { TemporaryFolder } from "./agent.js";
import {
  AgreeablePeer,
  callOptions,
  connected,
  FILESYSTEM,
  MEMORY,
  program,
  stdioSpec,
  unending,
} from "./real-server.js";

export async function text(
  connection: McpConnection,
  tool: string,
  args: Parameters<McpConnection["call"]>[1] = {},
): Promise<string> {
  const outcome = await connection.call(tool, args, callOptions());
  expect(outcome).toMatchObject({ kind: "answered", isError: false });
  return JSON.stringify(outcome);
}

export function linkOf(connection: McpConnection): Link {
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

export async function expectEverything(spec: Parameters<typeof connected>[0]): Promise<void> {
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

/** It takes its directories from our roots, and its output fits its schemas. */
export async function expectFilesystem(sandbox?: SandboxSpec): Promise<void> {
  using folder = new TemporaryFolder();
  using elsewhere = new TemporaryFolder();
  const path = realpathSync(folder.path);
  const granted = sandbox && { ...sandbox, read: [elsewhere.path] };
  const spec = stdioSpec("files", [program(FILESYSTEM), elsewhere.path], {}, granted);
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
}

/** It keeps a graph and gives it back as structured output. */
export async function expectMemory(sandbox?: SandboxSpec): Promise<void> {
  using folder = new TemporaryFolder();
  const env = { MEMORY_FILE_PATH: join(folder.path, "memory.json") };
  await using connection = await connected(stdioSpec("memory", [program(MEMORY)], env, sandbox), folder.path);
  const ada = { name: "Ada", entityType: "person", observations: ["wrote the first program"] };
  await text(connection, "create_entities", { entities: [ada] });
  const graph = await connection.call("read_graph", {}, callOptions());
  expect(graph).toMatchObject({ kind: "answered", structured: { entities: [ada], relations: [] } });
  expect(graph).not.toHaveProperty("warnings");
}
