// Watching real paths: files that are written, replaced, made together with their folders, and folders that are made anew.
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Watch } from "../base/ports/world.js";
import { watch } from "./files.js";

let root = "";
const watches: Watch[] = [];

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "tenon-watch-")));
});

afterEach(() => {
  for (const open of watches.splice(0)) open.close();
  rmSync(root, { recursive: true, force: true });
});

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Counts calls; `reached` resolves once there are so many. */
function watched(path: string) {
  let count = 0;
  let wake = () => {};
  watches.push(
    watch(path, () => {
      count++;
      wake();
    }),
  );
  return {
    get count() {
      return count;
    },
    reached: (wanted: number) =>
      new Promise<void>((resolve) => {
        wake = () => count >= wanted && resolve();
        wake();
      }),
  };
}

let markers = 0;

/** Resolves once the events of everything before are delivered: the system reports events in their order. */
async function settled(): Promise<void> {
  const marker = join(root, `marker-${markers++}`);
  await new Promise<void>((resolve) => {
    watches.push(watch(marker, resolve));
    writeFileSync(marker, "");
  });
}

/** One act may cause several events: those of the act before do not count. A call that never comes ends the test by its timeout. */
async function expectTold(told: ReturnType<typeof watched>, act: () => void): Promise<void> {
  await settled();
  const before = told.count;
  act();
  await told.reached(before + 1);
}

test("a file that is written, replaced and removed is told of each time", async () => {
  const path = join(root, "config.json");
  put(path, "1");
  const told = watched(path);
  await expectTold(told, () => writeFileSync(path, "2"));
  await expectTold(told, () => {
    writeFileSync(`${path}.tmp`, "3");
    renameSync(`${path}.tmp`, path);
  });
  await expectTold(told, () => writeFileSync(path, "4")); // also after the file was replaced
  await expectTold(told, () => rmSync(path));
  await expectTold(told, () => put(path, "5"));
});

test("a file is told of that is made together with its folders", async () => {
  const path = join(root, "a", "b", "config.json");
  const told = watched(path);
  await expectTold(told, () => put(path, "1"));
  await expectTold(told, () => writeFileSync(path, "2"));
});

test("a file is told of after its folder was removed and made again", async () => {
  const path = join(root, "a", "config.json");
  put(path, "1");
  const told = watched(path);
  await expectTold(told, () => rmSync(dirname(path), { recursive: true }));
  await expectTold(told, () => put(path, "2"));
  await expectTold(told, () => writeFileSync(path, "3"));
});

test("what is put directly into a folder is told of", async () => {
  const folder = join(root, "trust");
  const told = watched(folder);
  await expectTold(told, () => put(join(folder, "one.json"), "1"));
  await expectTold(told, () => put(join(folder, "two.json"), "2"));
  await expectTold(told, () => rmSync(join(folder, "one.json")));
});

test("its neighbours are not told of, and nothing after it was closed", async () => {
  const path = join(root, "config.json");
  const told = watched(path);
  const neighbour = watched(join(root, "other.json"));
  await expectTold(neighbour, () => put(join(root, "other.json"), "1"));
  await settled();
  expect(told.count).toBe(0);
  const open = watches.shift();
  open?.close();
  await expectTold(neighbour, () => {
    put(path, "1");
    put(join(root, "other.json"), "2");
  });
  await settled();
  expect(told.count).toBe(0);
});
