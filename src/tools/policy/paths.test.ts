// A path is where it really leads: links, `..` and what does not exist yet cannot lead out of a directory unnoticed.
import { describe, expect, it } from "vitest";
import type { Files } from "../../base/ports/world.js";
import { FakeFiles } from "../../testing/index.js";
import type { PolicyRule } from "./decide.js";
import { isUnder, type PathPlace, resolvePaths } from "./protection.js";

const RULES: readonly PolicyRule[] = [{ effect: "allow", arguments: [{ pointer: "/path", under: "." }] }];

function disk(): FakeFiles {
  const files = new FakeFiles({ "/work/a.txt": "a", "/work/sub/b.txt": "b", "/etc/passwd": "root", "/etc/x/y": "" });
  files.link("/work/out", "/etc");
  files.link("/work/in", "sub");
  files.link("/work/dangling", "/etc/cron.d/new");
  files.link("/work/up", "../elsewhere");
  files.link("/work/deep", "/etc/x");
  return files;
}

async function resolved(text: string, place: Partial<PathPlace> = {}) {
  const table = await resolvePaths(RULES, { path: text }, { files: disk(), cwd: "/work", ...place });
  return table.values.get(text);
}

describe("a path in an argument", () => {
  it.each([
    ["a.txt", "/work/a.txt"],
    ["./sub/../a.txt", "/work/a.txt"],
    ["/work//sub/b.txt", "/work/sub/b.txt"],
    ["new/file.txt", "/work/new/file.txt"],
    ["in/b.txt", "/work/sub/b.txt"],
    ["in/new.txt", "/work/sub/new.txt"],
    ["../etc/passwd", "/etc/passwd"],
    ["out/passwd", "/etc/passwd"],
    ["out/new", "/etc/new"],
    ["dangling", "/etc/cron.d/new"],
    ["dangling/below", "/etc/cron.d/new/below"],
    ["up/file", "/elsewhere/file"],
    ["file:///work/a.txt", "/work/a.txt"],
    [".", "/work"],
  ])("%s leads to %s", async (text, expected) => {
    expect(await resolved(text)).toBe(expected);
  });

  it.each([
    ["what a shell or a server would expand", "~/.ssh/id_rsa"],
    ["what a shell or a server would expand", "$HOME/.ssh"],
    ["quotes that a server takes off", '"/etc/passwd"'],
    ["blanks that a server takes off", " /etc/passwd"],
    ["blanks that a server takes off", "/etc/passwd\n"],
    ["a separator of another system", "..\\..\\etc\\passwd"],
    ["another kind of address", "https://example.com/a.txt"],
    ["a file on another host", "file://host/etc/passwd"],
    ["a separator in disguise", "file:///work/..%2fetc"],
    ["a way back through a link, which means two things", "deep/../passwd"],
    ["an end within", "a\0b"],
    ["nothing", ""],
  ])("is unclear where it is %s: %j", async (_, text) => {
    expect(await resolved(text)).toBeUndefined();
  });

  it("begins where the tool runs", async () => {
    expect(await resolved("passwd", { toolCwd: "/etc" })).toBe("/etc/passwd");
  });

  it("is unclear when links go round in a circle, or a folder may not be looked into", async () => {
    const files = disk();
    files.link("/work/round", "/work/and-round");
    files.link("/work/and-round", "/work/round");
    const table = await resolvePaths(RULES, { path: "round/x" }, { files, cwd: "/work" });
    expect(table.values).toEqual(new Map([["round/x", undefined]]));
    const locked: Pick<Files, "find" | "linkTarget"> = {
      find: () => Promise.reject(new Error("EACCES")),
      linkTarget: () => Promise.reject(new Error("EACCES")),
    };
    expect((await resolvePaths(RULES, { path: "a" }, { files: locked, cwd: "/work" })).values.get("a")).toBeUndefined();
  });
});

it("looks up each path of a list once, up to a bound, and only for rules that compare paths", async () => {
  const files = disk();
  let lookups = 0;
  const counting: Pick<Files, "find" | "linkTarget"> = {
    find: (path) => {
      if (path === "/work/a.txt") lookups++;
      return files.find(path);
    },
    linkTarget: (path) => files.linkTarget(path),
  };
  const path = ["a.txt", "a.txt", ...Array.from({ length: 500 }, (_, at) => `f${at}`)];
  const { values } = await resolvePaths([...RULES, ...RULES], { path }, { files: counting, cwd: "/work" });
  expect(lookups).toBe(1);
  expect(values.size).toBe(100);
  const other: readonly PolicyRule[] = [{ effect: "deny", arguments: [{ pointer: "/path", glob: "*" }] }];
  expect((await resolvePaths(other, { path }, { files, cwd: "/work" })).values.size).toBe(0);
});

it("takes a rule's own directory as it is written: relative, through a link, or at home", async () => {
  const rules = ["sub", "in", "~/notes", "/etc"].map(
    (under): PolicyRule => ({ effect: "allow", arguments: [{ pointer: "/p", under }] }),
  );
  const { folders } = await resolvePaths(rules, {}, { files: disk(), cwd: "/work", home: "/home/me" });
  expect(Object.fromEntries(folders)).toEqual({
    sub: "/work/sub",
    in: "/work/sub",
    "~/notes": "/home/me/notes",
    "/etc": "/etc",
  });
});

it("a folder's name is no prefix: its neighbour is not under it", () => {
  expect(isUnder("/work/a", "/work")).toBe(true);
  expect(isUnder("/work", "/work")).toBe(true);
  expect(isUnder("/work/..a", "/work")).toBe(true);
  expect(isUnder("/workshop/a", "/work")).toBe(false);
  expect(isUnder("/", "/work")).toBe(false);
});
