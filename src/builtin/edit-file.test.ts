// edit_file: unique, exact, all or nothing.
import { join } from "node:path";
import { expect, test } from "vitest";
import { testSessions } from "../../test/builtin-session.js";

const open = testSessions();
const edit = (old_text: string, new_text: string, replace_all?: boolean) =>
  replace_all === undefined ? { old_text, new_text } : { old_text, new_text, replace_all };

test("several edits are made in order, and the answer is a diff", async () => {
  const session = open();
  session.write("a.ts", "const a = 1;\nconst b = 2;\n");
  const answer = await session.say("edit_file", {
    path: "a.ts",
    edits: [edit("a = 1", "a = 10"), edit("b = 2", "b = a")],
  });
  expect(session.read("a.ts")).toBe("const a = 10;\nconst b = a;\n");
  expect(answer).toBe(
    "done: Changed a.ts: 2 lines added, 2 removed.\n@@ -1,2 +1,2 @@\n-const a = 1;\n-const b = 2;\n+const a = 10;\n+const b = a;",
  );
  const path = join(session.project, "a.ts");
  expect(session.presentations.at(-1)).toMatchObject({ kind: "edit", locations: [{ path, line: 1 }], diff: { path } });
});

test("one edit that does not fit leaves the file as it is", async () => {
  const session = open();
  session.write("a.txt", "one two two\n");
  const answer = await session.say("edit_file", { path: "a.txt", edits: [edit("one", "1"), edit("two", "2")] });
  expect(answer).toMatch(/^failed: a.txt was not changed. Edit 2 of 2: old_text was found 2 times, at lines 1, 1\./);
  expect(answer).toContain("None of the edits was made.");
  expect(session.read("a.txt")).toBe("one two two\n");
  expect(session.presentations).toEqual([]);
  await session.call("edit_file", { path: "a.txt", edits: [edit("two", "2", true)] });
  expect(session.read("a.txt")).toBe("one 2 2\n");
});

test("line endings and a byte order mark stay as they are", async () => {
  const session = open();
  session.write("dos.txt", "\uFEFFone\r\ntwo\r\nthree\r\n");
  await session.call("edit_file", { path: "dos.txt", edits: [edit("one\ntwo", "1\n2\n2b")] });
  expect(session.read("dos.txt")).toBe("\uFEFF1\r\n2\r\n2b\r\nthree\r\n");
});

test("what is no UTF-8 text is not damaged", async () => {
  const session = open();
  session.write("latin1.txt", Buffer.from("caf\xe9 x", "latin1"));
  expect(await session.say("edit_file", { path: "latin1.txt", edits: [edit("x", "y")] })).toBe(
    "failed: latin1.txt is not valid UTF-8: editing it as text would damage it.",
  );
});

test("the editor's buffer is edited, not the older file on the disk", async () => {
  const written: string[] = [];
  const session = open({
    ports: { fs: { readText: async () => "unsaved 1\n", writeText: async (_, text) => void written.push(text) } },
  });
  session.write("a.txt", "saved\n");
  await session.call("edit_file", { path: "a.txt", edits: [edit("unsaved 1", "unsaved 2")] });
  expect(written).toEqual(["unsaved 2\n"]);
  expect(session.read("a.txt")).toBe("saved\n");
});

test.each([
  [{ path: "a.txt", edits: [] }, /must have from 1 to 100 entries/],
  [{ path: "a.txt", edits: [{ old_text: "a" }] }, /"edits\[0\]\.new_text" is missing/],
  [{ path: "a.txt", edits: [{ old_text: "", new_text: "b" }] }, /"edits\[0\]\.old_text" must not be empty/],
  [{ path: "a.txt", edits: [{ old_text: "a", new_text: "b", all: true }] }, /"edits\[0\]\.all" is not known/],
  [{ path: "no.txt", edits: [{ old_text: "a", new_text: "b" }] }, /no file no.txt; write_file makes one/],
  [{ path: "a.txt", edits: [{ old_text: "a", new_text: "a" }] }, /are the same/],
  [{ path: "a.txt", edits: [{ old_text: "zzz", new_text: "a" }] }, /was not found/],
])("%j is refused in words", async (args, words) => {
  const session = open();
  session.write("a.txt", "a\n");
  expect(await session.say("edit_file", args)).toMatch(words);
  expect(session.read("a.txt")).toBe("a\n");
});

test("what it would change is told before it is done, as far as it can be told", async () => {
  const session = open();
  session.write("a.txt", "one\ntwo\n");
  const { signal } = new AbortController();
  const preview = (new_text: string, old_text = "two") =>
    session.source.preview("edit_file", { path: "a.txt", edits: [edit(old_text, new_text)] }, signal);
  const path = join(session.project, "a.txt");
  expect(await preview("three")).toEqual({
    kind: "edit",
    title: "Edit a.txt",
    locations: [{ path, line: 2 }],
    diff: { path, oldText: "one\ntwo\n", newText: "one\nthree\n" },
    basis: expect.stringContaining(path),
  });
  expect(await preview("three", "four")).toEqual({ kind: "edit", title: "Edit a.txt", locations: [{ path }] });
  expect(await session.source.preview("edit_file", { path: 5 }, signal)).toBeUndefined();
  expect(await session.source.preview("nothing", {}, signal)).toBeUndefined();
  expect(await session.source.preview("run_command", { command: "ls" }, signal)).toMatchObject({ title: "ls" });
  expect(session.read("a.txt")).toBe("one\ntwo\n");
});
