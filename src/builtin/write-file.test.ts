// write_file: new and replaced files, permissions, the editor.
import { chmodSync, existsSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testSessions } from "../../test/builtin-session.js";

const open = testSessions();

test("a new file is made with the folders on the way, and shown as new", async () => {
  const session = open();
  expect(await session.say("write_file", { path: "a/b/c.txt", content: "hi\n" })).toBe(
    "done: Created a/b/c.txt: 3 bytes.",
  );
  expect(session.read("a/b/c.txt")).toBe("hi\n");
  const path = join(session.project, "a/b/c.txt");
  expect(session.presentations).toEqual([
    { kind: "edit", title: "Write a/b/c.txt", locations: [{ path, line: 1 }], diff: { path, newText: "hi\n" } },
  ]);
});

test("a replaced file keeps its permissions, and the diff has both texts", async () => {
  const session = open();
  session.write("run.sh", "one\n");
  chmodSync(join(session.project, "run.sh"), 0o755);
  expect(await session.say("write_file", { path: "run.sh", content: "two\n" })).toBe(
    "done: Changed run.sh: 1 line added, 1 removed.\n@@ -1,1 +1,1 @@\n-one\n+two",
  );
  expect(statSync(join(session.project, "run.sh")).mode & 0o777).toBe(0o755);
  expect(session.presentations.at(-1)?.diff).toMatchObject({ oldText: "one\n", newText: "two\n" });
});

test("bytes that were no text are replaced without a diff that would lie", async () => {
  const session = open();
  session.write("data", Buffer.from([0, 1, 2]));
  expect(await session.say("write_file", { path: "data", content: "text" })).toBe("done: Replaced data: 4 bytes.");
  expect(session.presentations.at(-1)?.diff).toBeUndefined();
});

test("an editor that can write does it, by the path the session knows", async () => {
  const written: string[] = [];
  const session = open({
    ports: {
      fs: {
        readText: async () => "buffer\n",
        writeText: async (path, text) => {
          written.push(path, text);
        },
      },
    },
  });
  expect(await session.say("write_file", { path: "x.txt", content: "new\n" })).toMatch(/^done: Changed x.txt/);
  expect(written).toEqual([join(session.project, "x.txt"), "new\n"]);
  expect(existsSync(join(session.project, "x.txt"))).toBe(false);
});

test("a write given up while the editor was at it has an unknown outcome", async () => {
  const controller = new AbortController();
  const session = open({
    ports: {
      fs: {
        writeText: async (_path, _text, signal) => {
          controller.abort();
          signal.throwIfAborted();
        },
      },
    },
  });
  expect(await session.call("write_file", { path: "x", content: "" }, controller.signal)).toEqual({
    kind: "unknown",
    reason: "cancelled while the editor was writing x",
  });
});

test.each(["../outside/x", "link/x", "dead", "dead/x"])("nothing is written to %s", async (path) => {
  const session = open();
  symlinkSync(join(session.folder, "outside"), join(session.project, "link"));
  symlinkSync(join(session.folder, "outside/new"), join(session.project, "dead"));
  expect(await session.say("write_file", { path, content: "x" })).toMatch(/^failed: .*(outside of|leads nowhere)/);
  expect(existsSync(join(session.folder, "outside/x"))).toBe(false);
  expect(existsSync(join(session.folder, "outside/new"))).toBe(false);
});

test("what is not as the preview was made from is left as it is", async () => {
  const session = open();
  const { signal } = new AbortController();
  const given = { path: "a.txt", content: "new\n" };
  const write = async (expected: string | undefined) =>
    await session.source.call({
      tool: "write_file",
      arguments: given,
      signal,
      onProgress: () => undefined,
      ...(expected === undefined ? {} : { expected }),
    });
  for (const [before, after] of [
    ["one\n", "typed by the person\n"],
    [undefined, "made by the person\n"],
    [Buffer.from([0, 1]), Buffer.from([0, 2])],
  ] as const) {
    if (before !== undefined) session.write("a.txt", before);
    const shown = await session.source.preview("write_file", given, signal);
    session.write("a.txt", after);
    expect(await write(shown?.basis)).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("a.txt changed"),
    });
    expect(session.read("a.txt")).toBe(after.toString());
    expect(await write((await session.source.preview("write_file", given, signal))?.basis)).toMatchObject({
      kind: "done",
    });
    rmSync(join(session.project, "a.txt"));
  }
});

test("a link that came in its place is not written through", async () => {
  const session = open();
  const { signal } = new AbortController();
  const given = { path: "a.txt", content: "new\n" };
  session.write("a.txt", "same\n");
  session.write("other.txt", "same\n");
  const expected = (await session.source.preview("write_file", given, signal))?.basis ?? "";
  rmSync(join(session.project, "a.txt"));
  symlinkSync("other.txt", join(session.project, "a.txt"));
  const call = { tool: "write_file", arguments: given, signal, expected, onProgress: () => undefined };
  expect(await session.source.call(call)).toMatchObject({ kind: "refused" });
  expect(session.read("other.txt")).toBe("same\n");
});
