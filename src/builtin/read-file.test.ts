// read_file: numbers, parts, long lines, images, binaries, the editor's buffers.
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testSessions } from "../../test/builtin-session.js";
import { LIMITS } from "../base/limits.js";

const open = testSessions();
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

test("lines come with their numbers, CRLF and a missing last newline make no difference", async () => {
  const session = open();
  session.write("a.txt", "one\r\ntwo\n\nfour");
  expect(await session.say("read_file", { path: "a.txt" })).toBe("done: 1\tone\n2\ttwo\n3\t\n4\tfour");
});

test("a part says where it lies and how to go on", async () => {
  const session = open();
  session.write("a.txt", "1\n2\n3\n4\n5\n");
  expect(await session.say("read_file", { path: "a.txt", offset: 2, limit: 2 })).toBe(
    "done: 2\t2\n3\t3\n[lines 2 to 3 of 5 lines; go on with offset 4]",
  );
  expect(await session.say("read_file", { path: "a.txt", offset: 4 })).toBe(
    "done: 4\t4\n5\t5\n[lines 4 to 5 of 5 lines]",
  );
  expect(await session.say("read_file", { path: "a.txt", offset: 6 })).toBe(
    "failed: There is no line 6: the file has 5 lines.",
  );
});

test("a long file stays within one result, its lines are never cut in two, and the whole can be read part by part", async () => {
  const session = open();
  const line = "ä".repeat(100);
  const count = 20_000;
  session.write("long.txt", `${line}\n`.repeat(count));
  let offset = 1;
  for (let parts = 0; offset <= count && parts < 100; parts++) {
    const answer = await session.say("read_file", { path: "long.txt", offset });
    expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(LIMITS.resultMaxBytes);
    const shown = answer.split("\n").filter((text) => text.includes("\t"));
    expect(shown.every((text) => text.endsWith(`\t${line}`))).toBe(true);
    offset += shown.length;
  }
  expect(offset).toBe(count + 1);
});

test("a line of megabytes is cut, and said to be", async () => {
  const session = open();
  session.write("min.js", `${"x".repeat(3_000_000)}\nlast`);
  const answer = await session.say("read_file", { path: "min.js" });
  expect(answer).toContain("… [line of 3000000 bytes]\n2\tlast");
  expect(answer.length).toBeLessThan(3_000);
});

test("an image is an image, whatever its name", async () => {
  const session = open();
  session.write("picture.txt", PNG);
  expect(await session.call("read_file", { path: "picture.txt" })).toMatchObject({
    kind: "done",
    content: [{ type: "image", mimeType: "image/png", data: PNG.toString("base64") }, { type: "text" }],
  });
});

test.each([
  ["bytes", Buffer.from([1, 0, 2]), "binary data of 3 bytes"],
  ["a PDF", Buffer.from("%PDF-1.7 x"), "a PDF of 10 bytes"],
  ["UTF-16", Buffer.from([0xff, 0xfe, 0x41, 0x00]), "UTF-16 text of 4 bytes"],
])("%s are named, not shown", async (_, content, words) => {
  const session = open();
  session.write("thing", content);
  expect(await session.say("read_file", { path: "thing" })).toBe(
    `failed: thing is ${words}, not text that could be shown.`,
  );
});

test("an empty file, a folder and a wrong name each get their own answer", async () => {
  const session = open();
  session.write("empty", "");
  session.write("src/config.ts", "x");
  expect(await session.say("read_file", { path: "empty" })).toBe("done: (The file is empty.)");
  expect(await session.say("read_file", { path: "src" })).toMatch(/^failed: src is not a file; use list_folder/);
  expect(await session.say("read_file", { path: "src/config.js" })).toBe(
    "failed: There is no file src/config.js. There is config.ts.",
  );
});

test("what the editor has counts, saved or not, and also what is not on the disk at all", async () => {
  const asked: string[] = [];
  const session = open({
    ports: {
      fs: {
        readText: async (path) => {
          asked.push(path);
          if (path.endsWith("gone.txt")) throw new Error("not found");
          return "unsaved\ntext\n";
        },
      },
    },
  });
  session.write("a.txt", "saved");
  expect(await session.say("read_file", { path: "a.txt" })).toBe("done: 1\tunsaved\n2\ttext");
  expect(await session.say("read_file", { path: "new.txt", offset: 2 })).toMatch(/^done: 2\ttext/);
  expect(await session.say("read_file", { path: "gone.txt" })).toBe("failed: There is no file gone.txt.");
  expect(asked).toEqual(["a.txt", "new.txt", "gone.txt"].map((name) => join(session.project, name)));
});

test("a file the editor keeps to itself is not read past it", async () => {
  const session = open({ ports: { fs: { readText: () => Promise.reject(new Error("private file")) } } });
  session.write(".env", "KEY=1");
  expect(await session.say("read_file", { path: ".env" })).toBe("failed: The editor did not give .env: private file");
});

test("a link out of the session's directories is refused, and the editor is never asked", async () => {
  const asked: string[] = [];
  const readText = async (path: string) => {
    asked.push(path);
    return "secret";
  };
  const session = open({ ports: { fs: { readText } } });
  symlinkSync("/etc/passwd", join(session.project, "link"));
  expect(await session.say("read_file", { path: "link" })).toMatch(/^failed: .*leads to \/etc\/passwd.*outside/);
  expect(asked).toEqual([]);
});

test("before the call it says what will be read, and where", () => {
  const session = open();
  expect(session.source.describe("read_file", { path: "src/a.ts", offset: 7 })).toEqual({
    kind: "read",
    title: "Read src/a.ts from line 7",
    locations: [{ path: join(session.project, "src/a.ts"), line: 7 }],
  });
});
