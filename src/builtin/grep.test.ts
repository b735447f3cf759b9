// list_folder, find_files and grep over real folders; grep with and without ripgrep.
import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { QUIET_LOG, type TestSession, testSessions } from "../../test/builtin-session.js";
import { LIMITS } from "../base/limits.js";
import { settle } from "../testing/index.js";
import { nodeWorld } from "../world/index.js";
import { BUILTIN_LIMITS } from "./limits.js";

const open = testSessions();

function filled(): TestSession {
  const session = open();
  session.write("src/a.ts", "import x\nconst needle = 1;\nexport { needle };\n");
  session.write("src/deep/b.ts", "// Needle\r\nnothing\r\n");
  session.write("README.md", "find the needle\n");
  session.write("dist/out.ts", "needle\n");
  session.write("data.bin", Buffer.from("needle\0needle"));
  session.write(".gitignore", "dist/\n");
  writeFileSync(join(session.folder, "outside/c.ts"), "needle\n");
  symlinkSync(join(session.folder, "outside"), join(session.project, "way-out"));
  symlinkSync(join(session.folder, "outside/c.ts"), join(session.project, "c.ts"));
  return session;
}

test("a folder is listed with kinds and sizes, hidden things too, and links are not looked behind", async () => {
  const session = filled();
  expect(await session.say("list_folder")).toBe(
    "done: dist/\nsrc/\n.gitignore (6)\nREADME.md (16)\nc.ts (link)\ndata.bin (13)\nway-out (link)",
  );
  expect(await session.say("list_folder", { path: "src/a.ts" })).toMatch(/^failed: src\/a.ts is not a folder/);
  expect(await session.say("list_folder", { path: "way-out" })).toMatch(/^failed: .*outside of the session/);
  expect(await session.say("list_folder", { path: "no" })).toBe("failed: There is no folder no.");
});

test("a folder with very many entries is cut, and says by how many", async () => {
  const session = open();
  for (let index = 0; index < BUILTIN_LIMITS.folderMaxEntries + 5; index++) session.write(`f${index}`, "");
  expect(await session.say("list_folder")).toMatch(/\n\[5 more entries are not listed\]$/);
});

test("files are found by name and by path, without what is ignored and without following links", async () => {
  const session = filled();
  expect(await session.say("find_files", { pattern: "*.ts" })).toBe("done: c.ts\nsrc/a.ts\nsrc/deep/b.ts");
  expect(await session.say("find_files", { pattern: "deep/*", path: "src" })).toBe("done: src/deep/b.ts");
  expect(await session.say("find_files", { pattern: "*.ts", include_ignored: true })).toContain("dist/out.ts");
  expect(await session.say("find_files", { pattern: "*.py" })).toBe("done: No files were found.");
  expect(await session.say("find_files", { pattern: "*.ts", limit: 1 })).toBe(
    "done: c.ts\n[There are more than 1: take a narrower pattern or a higher limit.]",
  );
});

test.each([
  [{ pattern: "/etc/*" }, /must not be an absolute path/],
  [{ pattern: "*", path: "../outside" }, /outside of the session/],
  [{ pattern: "*", path: "README.md" }, /There is no folder README.md/],
  [{ pattern: "{a,b}".repeat(20) }, /stand for more than 256 globs/],
])("find_files with %j is refused in words", async (args, words) => {
  expect(await filled().say("find_files", args)).toMatch(words);
});

test("grep shows matching lines by file, in text files that are not ignored", async () => {
  const session = filled();
  expect(await session.say("grep", { pattern: "needle" })).toBe(
    "done: README.md\n1: find the needle\nsrc/a.ts\n2: const needle = 1;\n3: export { needle };",
  );
  expect(await session.say("grep", { pattern: "^// needle$", ignore_case: true })).toBe(
    "done: src/deep/b.ts\n1: // Needle",
  );
  expect(await session.say("grep", { pattern: "(?i)NEEDLE", glob: "*.md" })).toBe(
    "done: README.md\n1: find the needle",
  );
  expect(await session.say("grep", { pattern: "needle", output: "files" })).toBe("done: README.md\nsrc/a.ts");
  expect(await session.say("grep", { pattern: "{ needle }", literal: true, path: "src/a.ts" })).toBe(
    "done: src/a.ts\n3: export { needle };",
  );
  expect(await session.say("grep", { pattern: "nowhere" })).toBe("done: Nothing was found.");
});

test("grep shows lines around a match once each, and marks gaps", async () => {
  const session = open();
  session.write("a.txt", "1\nx2\n3\nx4\n5\n6\n7\n8\nx9\n");
  expect(await session.say("grep", { pattern: "x", context: 1 })).toBe(
    "done: a.txt\n1- 1\n2: x2\n3- 3\n4: x4\n5- 5\n--\n8- 8\n9: x9",
  );
});

test("grep is bounded in matches, in the length of a line, and in bytes", async () => {
  const session = open();
  session.write("many.txt", `${"x".repeat(5_000)}\n`.repeat(500));
  const two = await session.say("grep", { pattern: "x", limit: 2 });
  expect(two.split("\n")).toHaveLength(4);
  expect(two).toContain("… [5000 characters]");
  expect(two).toMatch(/\[There is more: .*\]$/);
  const all = await session.say("grep", { pattern: "x", limit: 500 });
  expect(Buffer.byteLength(all)).toBeLessThan(LIMITS.resultMaxBytes + 1_000);
});

test("a pattern that would run for ever is ended by the person's cancel, and holds nobody up", async () => {
  const session = open();
  session.write("a.txt", `${"a".repeat(40)}!`);
  const controller = new AbortController();
  const call = session.call("grep", { pattern: "^(a+)+$" }, controller.signal);
  await settle(); // would not come back if it held this thread
  controller.abort();
  expect(await call).toEqual({ kind: "cancelled" });
});

test.each([
  [{ pattern: "(" }, /not a valid regular expression/],
  [{ pattern: "x", path: "way-out" }, /outside of the session/],
  [{ pattern: "x", path: "c.ts" }, /outside of the session/],
  [{ pattern: "x", path: "no" }, /There is no file or folder no/],
  [{ pattern: "x", output: "all" }, /"output" must be one of lines, files/],
  [{ pattern: "x", context: 1.5 }, /must be a whole number/],
])("grep with %j is refused in words", async (args, words) => {
  expect(await filled().say("grep", args)).toMatch(words);
});

/** Stands in for ripgrep, which not every machine has: writes down how it was called and says what it is told to. */
function withRipgrep(script: (folder: string) => string): TestSession {
  const tools = open();
  tools.write("rg", `#!/bin/sh\nprintf '%s\\n' "$@" > ${tools.project}/called\n${script(tools.project)}\n`);
  chmodSync(join(tools.project, "rg"), 0o755);
  return open({ world: nodeWorld({ env: { PATH: `.:${tools.project}:/usr/bin:/bin` }, log: QUIET_LOG }) });
}

const match = (path: string, line: number, text: string, type = "match") =>
  JSON.stringify({ type, data: { path: { text: path }, lines: { text }, line_number: line } });

test("ripgrep does the search where it is, with the same choice of files and the same answer", async () => {
  let tools = "";
  const session = withRipgrep((folder) => {
    tools = folder;
    return `cat ${folder}/say`;
  });
  const file = join(session.project, "src/a.ts");
  const odd = JSON.stringify({
    type: "match",
    data: { path: { text: file }, lines: { bytes: "/2E=" }, line_number: 9 },
  });
  const lines = [
    "not json",
    '{"type":"begin"}',
    match(file, 1, "before\n", "context"),
    match(file, 2, "a needle\n"),
    odd,
  ];
  writeFileSync(join(tools, "say"), lines.join("\n"));
  expect(await session.say("grep", { pattern: "-needle", ignore_case: true, glob: "*.ts", context: 1 })).toBe(
    "done: src/a.ts\n1- before\n2: a needle\n--\n9: \uFFFDa",
  );
  const called = readFileSync(join(tools, "called"), "utf8").split("\n");
  expect(called).toEqual(expect.arrayContaining(["--no-config", "--json", "--ignore-case", "*.ts", "!**/.git"]));
  expect(called.slice(-5)).toEqual(["--regexp", "-needle", "--", session.project, ""]);
});

test("what ripgrep finds wrong is said; what it could not read beside matches is not", async () => {
  const session = withRipgrep(() => "echo 'regex parse error: oops' >&2; exit 2");
  expect(await session.say("grep", { pattern: "x" })).toBe("failed: regex parse error: oops");
  const partial = withRipgrep(() => `printf '%s\\n' '${match("/f", 1, "x")}'; echo denied >&2; exit 2`);
  expect(await partial.say("grep", { pattern: "x" })).toContain("1: x");
});

test("a ripgrep that never stops is ended once there is enough, and one that hangs once it is cancelled", async () => {
  const endless = withRipgrep(() => `while :; do printf '%s\\n' '${match("/x", 1, "x")}'; done`);
  expect(await endless.say("grep", { pattern: "x", limit: 3 })).toContain("[There is more");
  let tools = "";
  const hanging = withRipgrep((folder) => {
    tools = folder;
    return `touch ${folder}/started; sleep 60`;
  });
  const controller = new AbortController();
  const call = hanging.call("grep", { pattern: "x" }, controller.signal);
  await expect.poll(() => existsSync(join(tools, "started"))).toBe(true);
  controller.abort();
  expect(await call).toEqual({ kind: "cancelled" });
  expect(await hanging.call("grep", { pattern: "x" }, controller.signal)).toEqual({ kind: "cancelled" });
});

test("what ripgrep cannot express is searched without it", async () => {
  const session = withRipgrep(() => "exit 2");
  session.write("a.txt", "ab\nac\n");
  expect(await session.say("grep", { pattern: "a(?=c)" })).toBe("done: a.txt\n2: ac");
});
