// What is kept reads back as it came, is found again after a restart, and stays within its bounds.
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { SpilledBlock } from "../../base/text/content.js";
import { fakeWorld } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { readWhole } from "./read-range.js";
import { type Kept, ResultStore } from "./store.js";

const ORIGIN = { origin: "files / read" };
const FOLDER = "/state/sessions/s1.results";
const ALL = Number.MAX_SAFE_INTEGER;

function handleOf(kept: Kept): string {
  if (!kept.ok) throw new Error(kept.reason);
  return kept.result.handle;
}

async function wholeOf(store: ResultStore, handle: string): Promise<string> {
  const result = await store.find(handle);
  if (!result) throw new Error(`${handle} is not there`);
  return await readWhole(store, result, ALL);
}

test("any text reads back as it was kept, on disk and in memory", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: "grapheme", maxLength: 200 }), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (texts, isOnDisk) => {
        await using store = new ResultStore({ world: fakeWorld(), ...(isOnDisk ? { folder: FOLDER } : {}) });
        const kept = await store.keepText(texts, ORIGIN);
        const whole = texts.join("\n");
        expect(kept).toMatchObject({
          ok: true,
          result: { handle: "r1", form: "text", bytes: Buffer.byteLength(whole), lines: whole.split("\n").length },
        });
        expect(await wholeOf(store, "r1")).toBe(whole);
      },
    ),
  );
});

test("texts of many pieces, JSON values and base64 read back whole", async () => {
  await using store = new ResultStore({ world: fakeWorld(), folder: FOLDER });
  const long = "größer\n👍 日本".repeat(60_000);
  const value = { rows: Array.from({ length: 5_000 }, (_, id) => ({ id, name: `row "${id}"` })) };
  expect(await wholeOf(store, handleOf(await store.keepText([long], ORIGIN)))).toBe(long);
  expect(JSON.parse(await wholeOf(store, handleOf(await store.keepJson(value, ORIGIN))))).toEqual(value);
  expect(await wholeOf(store, handleOf(await store.keepBase64("AAECAw==", ORIGIN)))).toBe("AAECAw==");
  expect((await store.list()).map(({ handle, form }) => [handle, form])).toEqual([
    ["r1", "text"],
    ["r2", "json"],
    ["r3", "base64"],
  ]);
});

describe("after a restart", () => {
  test("results are found by their handles, and new ones get new handles", async () => {
    const world = fakeWorld();
    const first = new ResultStore({ world, folder: FOLDER });
    await first.keepText(["one"], ORIGIN);
    await first.keepJson({ two: 2 }, { ...ORIGIN, uri: "x:y" });
    await first[Symbol.asyncDispose]();
    expect(world.files.openPaths).toEqual([]);
    await using second = new ResultStore({ world, folder: FOLDER });
    expect(await second.find("r2")).toEqual({ handle: "r2", form: "json", bytes: 9, lines: 1, ...ORIGIN, uri: "x:y" });
    expect(await wholeOf(second, "r1")).toBe("one");
    expect(handleOf(await second.keepText(["three"], ORIGIN))).toBe("r3");
  });

  test("a torn or foreign line of the index costs that line only", async () => {
    const world = fakeWorld();
    const first = new ResultStore({ world, folder: FOLDER });
    await first.keepText(["one"], ORIGIN);
    await first[Symbol.asyncDispose]();
    const index = `${FOLDER}/index.ndjson`;
    const lines = ['{"handle":"../../x","form":"text","bytes":1,"origin":""}', '{"handle":"r7","form":"te'];
    world.files.write(index, `${world.files.text(index)}${lines.join("\n")}`);
    const second = new ResultStore({ world, folder: FOLDER });
    expect((await second.list()).map(({ handle }) => handle)).toEqual(["r1"]);
    const handle = handleOf(await second.keepText(["two"], ORIGIN));
    await second[Symbol.asyncDispose]();
    await using third = new ResultStore({ world, folder: FOLDER });
    expect((await third.list()).map((result) => result.handle)).toEqual(["r1", handle]);
  });
});

describe("bounds", () => {
  test("the oldest make room, and their handles are known to be gone, also after a restart", async () => {
    const world = fakeWorld();
    const store = new ResultStore({ world, folder: FOLDER, maxBytes: 100 });
    for (let count = 0; count < 5; count++) await store.keepText(["x".repeat(40)], ORIGIN);
    expect((await store.list()).map(({ handle }) => handle)).toEqual(["r4", "r5"]);
    expect(world.files.paths.filter((path) => path.endsWith(".txt"))).toHaveLength(2);
    await store[Symbol.asyncDispose]();
    await using again = new ResultStore({ world, folder: FOLDER, maxBytes: 100 });
    expect(await again.isGone("r3")).toBe(true);
    expect(await again.isGone("r9")).toBe(false);
    expect((await again.list()).map(({ handle }) => handle)).toEqual(["r4", "r5"]);
  });

  test("what is larger than all there is room for is not kept, and says so", async () => {
    await using store = new ResultStore({ world: fakeWorld(), folder: FOLDER, maxBytes: 100, maxMemoryBytes: 100 });
    expect(await store.keepText(["x".repeat(101)], ORIGIN)).toEqual({
      ok: false,
      reason: "it is over the 100 bytes that a session keeps; it is over the 100 bytes that a session keeps",
    });
    const spilled = { type: "spilled", kind: "text", bytes: 101, path: "/x", preview: "x" } as const;
    expect(await store.keepSpilled(spilled, ORIGIN)).toMatchObject({ ok: false });
    expect(await store.list()).toEqual([]);
  });

  test("a disk that cannot be written leaves memory, whose handles mean nothing else after a restart", async () => {
    const world = fakeWorld();
    world.files.writeParts = () => Promise.reject(new Error("ENOSPC: no space left on device"));
    const store = new ResultStore({ world, folder: FOLDER });
    expect(handleOf(await store.keepText(["in memory"], ORIGIN))).toBe("r1");
    expect(await wholeOf(store, "r1")).toBe("in memory");
    await store[Symbol.asyncDispose]();
    await using again = new ResultStore({ world, folder: FOLDER });
    expect(await again.find("r1")).toBeUndefined();
    expect(handleOf(await again.keepText(["later"], ORIGIN))).toBe("r2");
  });

  test("a closed store keeps nothing more and leaves nothing open", async () => {
    const world = fakeWorld();
    const store = new ResultStore({ world, folder: FOLDER });
    await store[Symbol.asyncDispose]();
    expect(await store.keepText(["x"], ORIGIN)).toEqual({ ok: false, reason: "the session is closed" });
    expect(world.files.paths).toEqual([]);
  });
});

describe("on a real disk", () => {
  const made: string[] = [];
  const scratch = () => {
    const path = mkdtempSync(join(tmpdir(), "tenon-results-"));
    made.push(path);
    return path;
  };
  afterEach(() => {
    for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
  });

  test("a file that was taken over outlives its server, and all files are private", async () => {
    const folder = join(scratch(), "s.results");
    const path = join(scratch(), "0");
    const bytes = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 256));
    writeFileSync(path, bytes, { mode: 0o644 });
    await using store = new ResultStore({ world: nodeWorld(), folder });
    const image: SpilledBlock = {
      type: "spilled",
      kind: "image",
      bytes: 1_000,
      path,
      mimeType: "image/png",
      preview: "",
    };
    const handle = handleOf(await store.keepSpilled(image, ORIGIN));
    rmSync(path);
    expect(await store.find(handle)).toMatchObject({ form: "bytes", bytes: 1_000 });
    expect(await wholeOf(store, handle)).toBe(bytes.toString("base64"));
    await store.keepText(["text"], ORIGIN);
    for (const name of ["r1.bin", "r2.txt", "index.ndjson"])
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });
});

test("what was being kept when the session ended is found again, and nothing stays open", async () => {
  const world = fakeWorld();
  const store = new ResultStore({ world, folder: FOLDER });
  const write = world.files.writeParts.bind(world.files);
  const ended = new Promise<void>((resolve) => {
    world.files.writeParts = async (path, parts) => {
      await store[Symbol.asyncDispose]();
      resolve();
      await write(path, parts);
    };
  });
  const keeping = store.keepText(["x".repeat(1_000)], ORIGIN);
  await ended;
  expect(await keeping).toMatchObject({ ok: true });
  expect(world.files.openPaths).toEqual([]);
  await using again = new ResultStore({ world, folder: FOLDER });
  expect(await wholeOf(again, "r1")).toBe("x".repeat(1_000));
});
