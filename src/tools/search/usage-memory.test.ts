// The memory of prompts: kept, bounded, forgotten on request, and never in anybody's way.
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { TOOL_LIMITS } from "../limits.js";
import { UsageMemory } from "./usage-memory.js";

const open = (world: FakeWorld, project = "/project") => UsageMemory.open({ world, folder: "/state/usage", project });

function onlyPath(world: FakeWorld): string {
  const [path, ...others] = world.files.paths;
  if (path === undefined || others.length > 0) throw new Error(`one file expected: ${world.files.paths.join()}`);
  return path;
}

test("what was remembered is there for the next session of the same project only", async () => {
  const world = fakeWorld();
  const memory = await open(world);
  memory.add("Translate this poem into Greek", "t");
  memory.add("Which films are on?", "m");
  expect(world.files.openPaths).toEqual([]);
  const next = await open(world);
  expect(next.scores()).toEqual(memory.scores());
  expect(next.scores().counts.get("poem")).toEqual(new Map([["t", 1]]));
  expect(next.scores().lengths.get("t")).toBe(3);
  expect((await open(world, "/elsewhere")).size).toBe(0);
});

test("neither prompts nor anything that looks like a secret is stored", async () => {
  const world = fakeWorld();
  const memory = await open(world);
  memory.add(`Deploy with key sk-live-4fA9x and pass correcthorsebatterystaplecorrecthorse, number 12345`, "d");
  const text = world.files.text(onlyPath(world)) ?? "";
  expect(text).toContain("deploi");
  for (const secret of ["4", "12345", "correcthorse", "Deploy with"]) expect(text).not.toContain(`"${secret}`);
  expect(text).not.toContain("correcthorse");
  memory.add("42 17", "d");
  expect(memory.size).toBe(1);
});

test("a prompt that is said again is remembered once, and a tool keeps its newest prompts", async () => {
  const world = fakeWorld();
  const memory = await open(world);
  memory.add("zebra", "t");
  memory.add("Zebras!", "t");
  expect(memory.size).toBe(1);
  for (let n = 0; n < 30; n++) memory.add(`word${"abcdefghijklmnopqrstuvwxyzabcd".slice(n)}`, "t");
  expect(memory.size).toBe(TOOL_LIMITS.toolUsage.promptsPerTool);
  expect(memory.scores().counts.has("zebra")).toBe(false);
  expect((await open(world)).scores()).toEqual(memory.scores());
});

test("the memory and its file stay within their bounds, whatever is added", async () => {
  const world = fakeWorld();
  for (let session = 0; session < 3; session++) {
    const memory = await open(world);
    for (let n = 0; n < TOOL_LIMITS.toolUsage.prompts + 500; n++) {
      memory.add(`${"alpha bravo charlie delta echo foxtrot golf hotel ".repeat(50)} s`, `tool-${session}-${n}`);
    }
    expect(memory.size).toBeLessThanOrEqual(TOOL_LIMITS.toolUsage.prompts);
  }
  expect((world.files.text(onlyPath(world)) ?? "").length).toBeLessThanOrEqual(TOOL_LIMITS.toolUsage.bytes);
});

test("forgetting leaves nothing behind, and the memory goes on", async () => {
  const world = fakeWorld();
  const memory = await open(world);
  memory.add("zebra", "t");
  await memory.forget();
  expect([world.files.paths, memory.size, memory.scores().counts.size]).toEqual([[], 0, 0]);
  memory.add("lion", "t");
  expect((await open(world)).size).toBe(1);
});

test("a line that a crash cut off costs only itself, also when more is added after it", async () => {
  const world = fakeWorld();
  const memory = await open(world);
  memory.add("zebra", "t");
  memory.add("lion", "t");
  const path = onlyPath(world);
  world.files.write(path, (world.files.text(path) ?? "").slice(0, -5));
  memory.add("tiger", "t");
  const next = await open(world);
  expect([...next.scores().counts.keys()]).toEqual(["zebra", "tiger"]);
});

test("any file is read without harm, and what follows is remembered", async () => {
  const line = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.json(),
    fc.constantFrom('{"v":1,"tool":"t","terms":["ok",5,null,"x9"]}', '{"v":2,"tool":"t","terms":["ok"]}', '{"v":1}'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line), async (lines) => {
      const world = fakeWorld();
      (await open(world)).add("zebra", "t");
      world.files.write(onlyPath(world), lines.join("\n"));
      const memory = await open(world);
      memory.add("tiger", "t");
      expect((await open(world)).scores().counts.get("tiger")?.get("t")).toBe(1);
    }),
    { numRuns: 50 },
  );
});

test("a file that is far too large is given up", async () => {
  const world = fakeWorld();
  (await open(world)).add("zebra", "t");
  const path = onlyPath(world);
  world.files.write(path, "x".repeat(TOOL_LIMITS.toolUsage.bytes * 4 + 1));
  expect((await open(world)).size).toBe(0);
  expect(world.files.paths).toEqual([]);
});

test("a disk that cannot be read or written costs only what is on it", async () => {
  const world = fakeWorld();
  world.files.find = async () => {
    throw new Error("EIO");
  };
  world.files.openAppend = () => {
    throw new Error("EROFS");
  };
  const memory = await open(world);
  memory.add("zebra", "t");
  memory.add("lion", "t");
  expect(memory.size).toBe(2);
});

test("on a real disk the file is the user's alone", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tenon-usage-"));
  try {
    const place = { world: nodeWorld(), folder: join(folder, "usage"), project: "/p" };
    (await UsageMemory.open(place)).add("zebra", "t");
    const [name = ""] = await readdir(join(folder, "usage"));
    const file = join(folder, "usage", name);
    expect((await stat(file)).mode & 0o077).toBe(0);
    expect(await readFile(file, "utf8")).toContain("zebra");
    expect((await UsageMemory.open(place)).size).toBe(1);
  } finally {
    await rm(folder, { recursive: true });
  }
});
