// The order in which a recording is told again, and what counts as a difference.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../base/json/json.js";
import { withIds } from "./client.js";
import { divergence } from "./comparison.js";
import { type Entry, readRecording } from "./recording.js";
import { Replayer } from "./replayer.js";

function entries(...lines: readonly Omit<Entry, "seq" | "t" | "isCut">[]): Entry[] {
  return lines.map((line, index) => ({ ...line, seq: index + 1, t: index + 1, isCut: false }));
}

function replayerOf(lines: readonly Entry[], stalled: () => Promise<void> = () => new Promise(() => {})): Replayer {
  return new Replayer(
    { version: "0", entries: lines },
    {
      stalled: (signal) =>
        Promise.race([stalled(), new Promise<void>((done) => signal.addEventListener("abort", () => done()))]),
      settle: () => new Promise((done) => setImmediate(done)),
    },
  );
}

const mcp = { channel: "mcp", server: "s", connection: 1 } as const;
const CALL = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "a", _meta: { progressToken: 7 } } };

test("a server answers under the ids of now, and only once it was asked", async () => {
  const replayer = replayerOf(
    entries(
      { ...mcp, dir: "out", message: { open: {} } },
      { ...mcp, dir: "out", message: CALL },
      {
        ...mcp,
        dir: "in",
        message: { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 7 } },
      },
      { ...mcp, dir: "in", message: { jsonrpc: "2.0", id: 7, result: { content: [] } } },
    ),
  );
  const heard: JsonObject[] = [];
  const running = replayer.run();
  const connection = replayer.connect("s", (entry) => heard.push(entry));
  await new Promise(setImmediate);
  expect(heard).toEqual([]);
  connection.send({
    jsonrpc: "2.0",
    id: 31,
    method: "tools/call",
    params: { name: "a", _meta: { progressToken: 31 } },
  });
  expect(await running).toMatchObject({ kind: "same", counts: { serverMessages: 1 } });
  expect(heard).toMatchObject([{ params: { progressToken: 31 } }, { id: 31 }]);
});

test("other arguments are a difference, with the place where they differ", async () => {
  const replayer = replayerOf(
    entries({ ...mcp, dir: "out", message: { open: {} } }, { ...mcp, dir: "out", message: CALL }),
  );
  const running = replayer.run();
  replayer.connect("s", () => {}).send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "b" } });
  expect(await running).toEqual({
    kind: "different",
    difference: { seq: 2, where: "tools/call to s", path: "/params/name", recorded: "a", now: "b" },
  });
});

test("what is not sent again is a difference once nothing more can be waited for", async () => {
  const replayer = replayerOf(entries({ ...mcp, dir: "out", message: { open: {} } }), () => Promise.resolve());
  expect(await replayer.run()).toMatchObject({
    kind: "different",
    difference: { seq: 1, where: "the connection to s: it was not sent this time" },
  });
});

test("a question is answered as it was then, also when it is asked once more, and otherwise not at all", async () => {
  const replayer = replayerOf(
    entries(
      { channel: "host", dir: "out", message: { question: 1, ask: "file", about: "a" } },
      { channel: "host", dir: "in", message: { question: 1, answer: "text" } },
    ),
  );
  const asked = replayer.ask({ ask: "file", about: "a" });
  await replayer.run();
  expect(await asked).toBe("text");
  expect(await replayer.ask({ ask: "file", about: "a" })).toBe("text");
  expect(await replayer.ask({ ask: "file", about: "b" })).toBeUndefined();
});

test("a line that was cut ends the comparison where it stands", async () => {
  const [line] = entries({ channel: "host", dir: "in", message: { question: 1, answer: "…" } });
  expect(await replayerOf(line ? [{ ...line, isCut: true }] : []).run()).toEqual({ kind: "cut", seq: 1 });
});

test("nothing differs from itself, and what was taken out may have been anything", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy: JsonValue = JSON.parse(JSON.stringify(value));
      expect(divergence(copy, copy)).toBeUndefined();
    }),
  );
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), (before, secret, after) => {
      expect(divergence(`${before}[redacted]${after}`, before + secret + after)).toBeUndefined();
    }),
  );
  expect(divergence("a[redacted]c", "abd")).toMatchObject({ path: "" });
  expect(divergence({ a: [1, { "b/c": 2 }] }, { a: [1, { "b/c": 3 }] })).toMatchObject({ path: "/a/1/b~1c" });
  expect(divergence({ a: 1 }, { a: 1, b: 2 })).toMatchObject({ path: "/b", now: 2 });
  expect(divergence({ _meta: 1 }, { _meta: 2 })).toBeUndefined();
});

test("ids are put into answers, lost requests and words about requests, and nowhere else", () => {
  const ids = new Map([["1", 9]]);
  expect(withIds({ id: 1, result: {} }, ids)).toEqual({ id: 9, result: {} });
  expect(withIds({ lost: { id: 1 } }, ids)).toEqual({ lost: { id: 9 } });
  expect(withIds({ id: 1, method: "roots/list", params: { a: 1 } }, ids)).toEqual({
    id: 1,
    method: "roots/list",
    params: { a: 1 },
  });
});

test("the last run of a file is read, a torn last line left out, and whatever is no trace refused", () => {
  const start = (tenon: string) =>
    JSON.stringify({ t: 1, seq: 1, channel: "trace", message: { kind: "start", format: 1, tenon } });
  const line = JSON.stringify({ t: 1, seq: 2, channel: "acp", dir: "in", message: { jsonrpc: "2.0" } });
  const text = `${start("1")}\n${start("2")}\n${line}\n{"t":3,"se`;
  expect(readRecording(text)).toMatchObject({
    version: "2",
    entries: [{ seq: 3, channel: "acp" }],
    isTorn: true,
  });
  expect(readRecording(text, 1)).toEqual({ version: "1", entries: [], format: 1, lost: 0 });
  expect(() => readRecording("x\ny\nz\n")).toThrow("line 1");
  expect(() => readRecording("")).toThrow("empty");
  fc.assert(
    fc.property(fc.string(), (noise) => {
      try {
        readRecording(noise);
      } catch (error) {
        expect(error).toMatchObject({ code: "usage.invalid" });
      }
    }),
  );
});
