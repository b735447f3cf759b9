// The cache of servers: it remembers what it may, forgets in time, and its failures cost nobody anything.
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeLink } from "../../../test/fake-link.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { MCP_LIMITS } from "../limits.js";
import type { McpTool } from "../protocol/tools.js";
import { diskCache, memoryCache } from "./cache.js";
import { ToolList } from "./supervisor.js";

const DAY_MS = 86_400_000;
const tools: readonly McpTool[] = [
  {
    name: "a",
    title: "A",
    description: "d",
    inputSchema: { type: "object" },
    outputSchema: {},
    annotations: { readOnlyHint: true },
  },
  { name: "__proto__", description: "", inputSchema: { type: "object" } },
];

function setUp(world: FakeWorld = fakeWorld()) {
  return { world, cache: diskCache({ world, dir: "/cache" }) };
}

function entryPaths(world: FakeWorld): string[] {
  return world.files.paths.filter((path) => path.endsWith(".json"));
}

test("what is written is read again, also by another process", async () => {
  const { world, cache } = setUp();
  await cache.writeEra("f", "modern");
  await cache.writeTools("f", { serverVersion: "1.2", tools });
  const other = diskCache({ world, dir: "/cache" });
  expect(await other.readEra("f")).toBe("modern");
  expect(await other.readTools("f")).toEqual({ serverVersion: "1.2", tools });
  expect(await other.readEra("g")).toBeUndefined();
  expect(await other.readTools("g")).toBeUndefined();
});

test("a remembered list and the same list from the server are one list in memory", async () => {
  const { world, cache } = setUp();
  const link = new FakeLink(world, { answer: () => ({ result: { tools: [{ name: "only", inputSchema: {} }] } }) });
  const live: (readonly McpTool[])[] = [];
  const list = new ToolList(link, world, (discovered) => live.push(discovered.items));
  await cache.writeTools("f", {
    serverVersion: "1",
    tools: [{ name: "only", description: "", inputSchema: { type: "object" } }],
  });
  const remembered = await cache.readTools("f");
  await list.load(new AbortController().signal);
  expect(live).toHaveLength(1);
  expect(live[0]).toBe(remembered?.tools);
  await list.close();
});

test("entries are named under a local key, so that nobody can look a server up by guessing", async () => {
  const { world, cache } = setUp(fakeWorld({ seed: 1 }));
  const elsewhere = setUp(fakeWorld({ seed: 2 }));
  await cache.writeEra("f", "modern");
  await elsewhere.cache.writeEra("f", "modern");
  expect(entryPaths(world)).toHaveLength(1);
  expect(entryPaths(world)).not.toEqual(entryPaths(elsewhere.world));
  expect(entryPaths(world)[0]).toMatch(/^\/cache\/[0-9a-f]{64}\.era\.json$/);
});

test("only definitions of tools are kept, whatever else hangs on them", async () => {
  const { world, cache } = setUp();
  const [first] = tools;
  if (!first) throw new Error("no tool");
  const loaded = { ...first, secret: "s3cret" };
  await cache.writeTools("f", { serverVersion: "", tools: [loaded] });
  expect(world.files.paths.map((path) => world.files.text(path)).join()).not.toContain("s3cret");
});

test("in memory as on disk: eras and questions for their time, starts and lists for the last hundred servers", async () => {
  const world = fakeWorld();
  const cache = memoryCache(world);
  await cache.writeEra("f", "modern");
  await cache.writeTools("f", { serverVersion: "1", tools });
  await cache.writeStart?.("f", { readyMs: 20 });
  await cache.writeAsks?.("f");
  expect(await cache.readTools("f")).toEqual({ serverVersion: "1", tools });
  expect([await cache.readStart?.("f"), await cache.readAsks?.("f")]).toEqual([{ readyMs: 20 }, true]);
  await world.advance(6 * DAY_MS);
  await cache.writeEra("f", "modern");
  expect(await cache.readEra("f")).toBe("modern");
  await world.advance(DAY_MS);
  expect(await cache.readEra("f")).toBeUndefined();
  await cache.writeEra("f", "legacy");
  await cache.writeEra("f", undefined);
  expect(await cache.readEra("f")).toBeUndefined();
  const long = Array.from({ length: 1_001 }, (_, index) => ({ ...tools[0], name: `t${index}` }) as McpTool);
  await cache.writeTools("f", { serverVersion: "2", tools: long });
  expect(await cache.readTools("f")).toBeUndefined();
  for (let count = 0; count < 101; count++) await cache.writeEra(`s${count}`, "legacy");
  expect([await cache.readEra("s0"), await cache.readEra("s1")]).toEqual([undefined, "legacy"]);
});

test("an era that proved wrong is forgotten at once", async () => {
  const { cache } = setUp();
  await cache.writeEra("f", "legacy");
  await cache.writeEra("f", undefined);
  expect(await cache.readEra("f")).toBeUndefined();
  await cache.writeEra("f", "modern");
  expect(await cache.readEra("f")).toBe("modern");
});

test("an era is forgotten after seven days, however often it was confirmed", async () => {
  const { world, cache } = setUp();
  await cache.writeEra("f", "legacy");
  for (let day = 1; day <= 6; day++) {
    await world.advance(DAY_MS);
    await cache.writeEra("f", "legacy");
  }
  expect(await cache.readEra("f")).toBe("legacy");
  await world.advance(DAY_MS);
  expect(await cache.readEra("f")).toBeUndefined();
  await cache.writeEra("f", "legacy");
  expect(await cache.readEra("f")).toBe("legacy");
});

test("a new verdict replaces the old one at once", async () => {
  const { cache } = setUp();
  await cache.writeEra("f", "legacy");
  await cache.writeEra("f", "modern");
  expect(await cache.readEra("f")).toBe("modern");
});

test("an entry from the future is not believed", async () => {
  const { world, cache } = setUp();
  await cache.writeEra("f", "legacy");
  const [path] = entryPaths(world);
  if (path === undefined) throw new Error("no entry");
  world.files.write(path, JSON.stringify({ v: 1, at: world.now() + DAY_MS, era: "legacy" }));
  expect(await cache.readEra("f")).toBeUndefined();
});

test("a corrupted entry is no entry, and is replaced by the next write", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.constant('{"v":1,"at":0,"era":{},"tools":[7,{"name":"x"}],"serverVersion":"1"}'),
      ),
      async (text) => {
        const { world, cache } = setUp();
        await cache.writeEra("f", "modern");
        await cache.writeTools("f", { serverVersion: "1", tools });
        for (const path of entryPaths(world)) world.files.write(path, text);
        expect(await cache.readEra("f")).toBeUndefined();
        expect((await cache.readTools("f"))?.tools ?? []).toEqual([]);
        await cache.writeEra("f", "modern");
        expect(await cache.readEra("f")).toBe("modern");
      },
    ),
    { numRuns: 50 },
  );
});

test("a corrupted key is replaced: the old entries are lost, new ones are kept", async () => {
  const { world, cache } = setUp();
  await cache.writeEra("f", "modern");
  world.files.write("/cache/key", "not a key");
  const later = diskCache({ world, dir: "/cache" });
  expect(await later.readEra("f")).toBeUndefined();
  await later.writeEra("f", "legacy");
  expect(await diskCache({ world, dir: "/cache" }).readEra("f")).toBe("legacy");
});

test("the same list is not written again the same day", async () => {
  const { world, cache } = setUp();
  let writes = 0;
  const write = world.files.writeAtomic.bind(world.files);
  world.files.writeAtomic = async (path, text) => {
    if (path.endsWith(".json")) writes += 1;
    await write(path, text);
  };
  for (let count = 0; count < 3; count++) await cache.writeTools("f", { serverVersion: "1", tools });
  expect(writes).toBe(1);
  await world.advance(DAY_MS);
  await cache.writeTools("f", { serverVersion: "1", tools });
  expect(writes).toBe(2);
  await cache.writeTools("f", { serverVersion: "2", tools });
  expect(writes).toBe(3);
});

test("the oldest entries go when there are too many or they are too large; the key stays", async () => {
  const { world, cache } = setUp();
  await cache.writeEra("first", "modern");
  for (let count = 0; count < MCP_LIMITS.cacheMaxFiles; count++) world.files.write(`/cache/${count}.era.json`, "{}");
  await diskCache({ world, dir: "/cache" }).writeEra("last", "modern"); // a process looks with its first write
  expect(entryPaths(world)).toHaveLength(MCP_LIMITS.cacheMaxFiles);
  expect(await cache.readEra("first")).toBeUndefined();
  expect(await cache.readEra("last")).toBe("modern");
  world.files.write("/cache/huge.tools.json", "x".repeat(MCP_LIMITS.cacheMaxBytes));
  for (let count = 1; count < 20; count++) await cache.writeEra("newest", count % 2 === 0 ? "modern" : "legacy");
  expect(entryPaths(world)).not.toHaveLength(1);
  await cache.writeEra("newest", "modern"); // and with every twentieth after that
  expect(entryPaths(world)).toHaveLength(1);
  expect(await cache.readEra("newest")).toBe("modern");
  expect(world.files.text("/cache/key")).toMatch(/^[0-9a-f]{64}$/);
});

test("a list too large to be parsed in passing is not cached", async () => {
  const { world, cache } = setUp();
  const description = "x".repeat(1_000_000);
  const large = Array.from({ length: 5 }, (_, index) => ({ name: `t${index}`, description, inputSchema: {} }));
  await cache.writeTools("f", { serverVersion: "1", tools: large });
  expect(entryPaths(world)).toEqual([]);
});

test("a disk that refuses costs nothing but the memory of it", async () => {
  const { world, cache } = setUp();
  world.files.writeAtomic = () => Promise.reject(new Error("ENOSPC"));
  await cache.writeEra("f", "modern");
  expect(await cache.readEra("f")).toBeUndefined();
  expect(world.logEntries.map(({ event }) => event)).toContain("mcp.cache_not_written");
});

test("on a real disk: private files, nothing half written left, old entries found again", async () => {
  const dir = await mkdtemp(join(tmpdir(), "cache-test-"));
  try {
    const world = nodeWorld();
    const cache = diskCache({ world, dir: join(dir, "mcp") });
    await Promise.all([
      cache.writeEra("f", "modern"),
      cache.writeTools("f", { serverVersion: "1", tools }),
      cache.writeEra("g", "legacy"),
    ]);
    const names = await readdir(join(dir, "mcp"));
    expect(names).toHaveLength(4);
    expect(names.filter((name) => name.endsWith(".tmp"))).toEqual([]);
    for (const name of names) expect((await stat(join(dir, "mcp", name))).mode & 0o777).toBe(0o600);
    const again = diskCache({ world, dir: join(dir, "mcp") });
    expect(await again.readEra("g")).toBe("legacy");
    expect(await again.readTools("f")).toEqual({ serverVersion: "1", tools });
    await writeFile(join(dir, "blocked"), "");
    await diskCache({ world, dir: join(dir, "blocked") }).writeEra("f", "modern");
  } finally {
    await rm(dir, { recursive: true });
  }
});
