// Files as the World port promises them, on the disk and in memory alike.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Files } from "../base/ports/world.js";
import { FakeFiles } from "../testing/index.js";
import { files as real } from "./files.js";

interface Disk {
  readonly files: Files;
  readonly top: string;
  put(path: string, text: string): void;
  link(path: string, target: string): void;
}

let top: string;

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "tenon-files-")));
});

afterEach(() => {
  rmSync(top, { recursive: true });
});

function realDisk(): Disk {
  return {
    files: real,
    top,
    put: (path, text) => {
      mkdirSync(dirname(join(top, path)), { recursive: true });
      writeFileSync(join(top, path), text);
    },
    link: (path, target) => symlinkSync(target, join(top, path)),
  };
}

function fakeDisk(): Disk {
  const files = new FakeFiles();
  return {
    files,
    top: "/t",
    put: (path, text) => files.write(`/t/${path}`, text),
    link: (path, target) => files.link(`/t/${path}`, target),
  };
}

describe.each([
  ["the disk", realDisk],
  ["the fake", fakeDisk],
])("%s", (_, open) => {
  test("tells what lies at a path itself, links not followed", async () => {
    const { files, top: folder, put, link } = open();
    put("d/f", "text");
    link("l", "d");
    link("dead", "nowhere");
    const kinds = await Promise.all(
      ["d", "d/f", "l", "dead", "l/f", "none", "d/f/x"].map((path) => files.kindOf(join(folder, path))),
    );
    expect(kinds).toEqual(["folder", "file", "link", "link", "file", undefined, undefined]);
  });

  test("lists everything in a folder, and refuses what is none", async () => {
    const { files, top: folder, put, link } = open();
    put("d/e/f", "");
    put("d/g", "");
    link("d/l", "e");
    const entries = [...(await files.entries(join(folder, "d")))].sort((one, other) =>
      one.name < other.name ? -1 : 1,
    );
    expect(entries).toEqual([
      { name: "e", kind: "folder" },
      { name: "g", kind: "file" },
      { name: "l", kind: "link" },
    ]);
    await expect(files.entries(join(folder, "none"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("reads a part of a file, less at its end", async () => {
    const { files, top: folder, put } = open();
    put("f", "0123456789");
    const read = async (start: number, length: number) =>
      Buffer.from(await files.readBytes(join(folder, "f"), { start, length })).toString();
    expect([await read(0, 3), await read(8, 10), await read(20, 5)]).toEqual(["012", "89", ""]);
  });

  test("saves a file as a whole, in the place of a link too", async () => {
    const { files, top: folder, put, link } = open();
    put("f", "old");
    link("l", "f");
    await files.saveText(join(folder, "l"), "new");
    expect([await files.readText(join(folder, "f")), await files.readText(join(folder, "l"))]).toEqual(["old", "new"]);
    expect(await files.kindOf(join(folder, "l"))).toBe("file");
  });
});

test("what is saved keeps its permissions; what is new has the usual ones; no draft stays", async () => {
  writeFileSync(join(top, "run"), "old");
  chmodSync(join(top, "run"), 0o755);
  await real.saveText(join(top, "run"), "new");
  await real.saveText(join(top, "deep/er/new"), "new");
  writeFileSync(join(top, "usual"), "");
  const mode = (path: string) => statSync(join(top, path)).mode & 0o777;
  expect([mode("run"), mode("deep/er/new")]).toEqual([0o755, mode("usual")]);
  mkdirSync(join(top, "folder/full"), { recursive: true });
  await expect(real.saveText(join(top, "folder"), "x")).rejects.toMatchObject({ code: "EISDIR" });
  expect(readdirSync(top).sort()).toEqual(["deep", "folder", "run", "usual"]);
});
