// A message taken apart and put together again is the same message, however it was cut up; what is in files is marked.
import * as fs from "node:fs";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../../base/json/json.js";
import type { Thread, World } from "../../../base/ports/world.js";
import { watchEventLoop } from "../../../testing/lab/index.js";
import { nodeWorld } from "../../../world/index.js";
import { MCP_LIMITS } from "../../limits.js";
import { readMessage } from "../transport.js";
import { LargeMessage } from "./large-message.js";
import { runSplitter, type SplitterData, type SplitterPort, type ToSplitter } from "./message-splitter.js";
import { spilledOf } from "./spilled.js";

const folder = mkdtempSync(join(tmpdir(), "tenon-large-"));
afterAll(() => rmSync(folder, { recursive: true }));
const real = nodeWorld();
const MB = 1_048_576;

/** The splitter in this thread: thousands of messages in the time of a few threads. */
function inline(data: SplitterData): Thread {
  let toSplitter: (message: ToSplitter) => void = () => {};
  let toMain: (message: unknown) => void = () => {};
  const port: SplitterPort = {
    postMessage: (message) => queueMicrotask(() => toMain(message)),
    on: (_, listener) => (toSplitter = listener),
  };
  runSplitter(port, data, fs);
  return {
    post: (message) => queueMicrotask(() => toSplitter(message as ToSplitter)),
    listen: (listener) => (toMain = (message) => listener.onMessage(message)),
    end: () => {},
  };
}
const SMALL = { longTextBytes: 40, skeletonBytes: 600, elementBytes: 150, pieceBytes: 60 };
function small(data: SplitterData): SplitterData {
  return { ...data, settings: { ...data.settings, ...SMALL }, spillBytes: 3_000 };
}
const smallWorld: World = { ...real, thread: (_, data) => inline(small(data as SplitterData)) };
const inlineWorld: World = { ...real, thread: (_, data) => inline(data as SplitterData) };

async function read(world: World, bytes: Buffer, cuts: readonly number[]): Promise<JsonValue> {
  const message = new LargeMessage({ world, folder, onRoom: () => {} });
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    message.push(bytes.subarray(start, end));
    start = end;
  }
  return await message.end();
}

/** What is in files back in its place, so that the whole can be compared. */
function unspill(value: JsonValue | undefined): JsonValue {
  const block = spilledOf(value);
  if (block) {
    const bytes = readFileSync(block.path);
    expect(bytes.length).toBe(block.bytes);
    const whole = block.kind === "structured" ? JSON.parse(bytes.toString()) : bytes.toString();
    return block.kind === "structured" ? unspill(whole) : whole;
  }
  const [, path] = typeof value === "string" ? (/^\[kept in the file (.+)\]$/.exec(value) ?? []) : [];
  if (path !== undefined) return readFileSync(path, "utf8");
  if (Array.isArray(value)) return value.map(unspill);
  if (typeof value !== "object" || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, unspill(field)]));
}

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 120 }),
  fc.constantFrom('\\"', "\\\\", "😀".repeat(30), "\ud83d", "\\u0041", '"', "é".repeat(60), "\n\t\u0000"),
);
const anyJson = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, -1.5e-7, 12345678),
    anyText,
    fc.array(tie("value"), { maxLength: 6 }),
    fc.dictionary(fc.oneof(fc.constantFrom("text", "dat", "__proto__"), anyText), tie("value"), { maxKeys: 5 }),
  ),
})).value;
const anyResult = fc.dictionary(
  fc.constantFrom("content", "tools", "structuredContent", "_meta", "isError", "nextCursor"),
  fc.oneof(fc.array(anyJson, { maxLength: 12 }), anyJson),
);
const cuts = fc.array(fc.nat(100_000), { maxLength: 10 });

/** Written by hand so that escapes and white space are of every kind JSON allows. */
function write(value: JsonValue, isWide: boolean, escapes: boolean): Buffer {
  const text = JSON.stringify(value, null, isWide ? 1 : 0).replaceAll("\n", isWide ? " \t" : "");
  return Buffer.from(
    escapes ? text.replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`) : text,
  );
}

describe("a long message", () => {
  test("comes back the same for any content, white space, escapes and cuts", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyResult,
        cuts,
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        async (result, where, wide, escapes, idLast) => {
          const message = idLast ? { result, jsonrpc: "2.0", id: 7 } : { jsonrpc: "2.0", id: 7, result };
          const bytes = write(message, wide, escapes);
          const expected = JSON.parse(JSON.stringify(JSON.parse(bytes.toString())));
          const back = await read(smallWorld, bytes, where);
          // A lone half of a pair has no UTF-8: a file cannot hold it.
          const compare = (value: JsonValue) =>
            JSON.parse(JSON.stringify(value).replaceAll(/\\ud[89a-f][0-9a-f]{2}|\ufffd/gi, "?"));
          expect(compare(unspill(back))).toEqual(compare(expected));
        },
      ),
      { numRuns: 200 },
    );
  });

  test("is refused, and never hangs, whatever is cut out of it", async () => {
    await fc.assert(
      fc.asyncProperty(anyResult, fc.nat(10_000), fc.nat(20), cuts, async (result, from, count, where) => {
        const whole = write({ jsonrpc: "2.0", id: 1, result }, false, false);
        const at = from % whole.length;
        const bytes = Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1 + count)]);
        await read(smallWorld, bytes, where).then(
          () => {},
          (error: unknown) => expect(error).toBeInstanceOf(Error),
        );
      }),
      { numRuns: 200 },
    );
  });

  test.each(["[1]", "1", '"x"', "{", '{"a":1}}', '{"a":1} x', '{"result":{"content":[1}}', '{"a":]}', "", "nonsense"])(
    "is refused when it is no object: %s",
    async (text) => {
      await expect(read(smallWorld, Buffer.from(text), [])).rejects.toThrow(/./);
    },
  );

  test("keeps its texts in memory up to the limit", async () => {
    const text = "ü".repeat(4 * MB);
    const data = Buffer.alloc(1_000, 7).toString("base64");
    const content = [
      { type: "text", text },
      { type: "image", data, mimeType: "image/png" },
    ];
    const value = await read(
      inlineWorld,
      Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: "a", result: { content } })),
      [],
    );
    expect(value).toEqual({ jsonrpc: "2.0", id: "a", result: { content } });
  });

  test("puts them into private files above it, decoded, with the start of a text to show", async () => {
    const text = 'say "hi"\n'.repeat(2 * MB);
    const image = Buffer.alloc(3 * MB + 1, 200);
    const content = [
      { type: "image", data: image.toString("base64"), mimeType: "image/png" },
      { type: "text", text },
      { type: "resource", resource: { uri: "file:///a", mimeType: "text/x", text } },
      { type: "text", text: "short" },
    ];
    const bytes = Buffer.from(
      JSON.stringify({ result: { content, structuredContent: { a: text } }, jsonrpc: "2.0", id: 1 }),
    );
    const message = readMessage(
      await read(
        real,
        bytes,
        Array.from({ length: 300 }, (_, i) => i * 65_536),
      ),
    );
    expect(message).toMatchObject({ kind: "result", id: 1 });
    const result = message?.kind === "result" ? message.result : {};
    const blocks = Array.isArray(result["content"]) ? result["content"].map((block) => spilledOf(block) ?? block) : [];
    expect(blocks).toMatchObject([
      { type: "spilled", kind: "image", mimeType: "image/png", bytes: image.length, preview: "" },
      { type: "spilled", kind: "text", bytes: text.length, preview: text.slice(0, MCP_LIMITS.spillPreviewBytes) },
      { type: "spilled", kind: "resource", uri: "file:///a", mimeType: "text/x", bytes: text.length },
      { type: "text", text: "short" },
    ]);
    const [first, second] = blocks.map((block) => spilledOf(block) ?? block);
    expect(readFileSync(String((first as { path: string }).path)).equals(image)).toBe(true);
    expect(readFileSync(String((second as { path: string }).path), "utf8") === text).toBe(true);
    expect(spilledOf(result["structuredContent"])).toMatchObject({ kind: "structured" });
    const path = String((first as { path: string }).path);
    expect([path, dirname(path)].map((place) => statSync(place).mode & 0o777)).toEqual([0o600, 0o700]);
  });

  test("cannot name a file of its own: what a server writes is never taken for a mark of ours", () => {
    expect(spilledOf({ type: "spilled", kind: "text", bytes: 1, path: "/etc/passwd", preview: "" })).toBeUndefined();
  });

  test("gives a dense list back in full, in pieces that leave the event loop free", async () => {
    const tools = Array.from({ length: 20_000 }, (_, i) => ({
      name: `t${i}`,
      inputSchema: { type: "object", properties: { a: { type: "string" } } },
    }));
    const bytes = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools, nextCursor: "x" } }));
    const message = new LargeMessage({ world: real, folder, onRoom: () => {} });
    message.push(bytes);
    const { value, longestMs } = await watchEventLoop(() => message.end());
    expect(value).toEqual({ jsonrpc: "2.0", id: 1, result: { tools, nextCursor: "x" } });
    expect(longestMs).toBeLessThan(50);
  });

  test("puts the rest of a list into a file when it would fill the memory", async () => {
    const content = Array.from({ length: MCP_LIMITS.messageMaxValues * 2 }, () => ({}));
    const bytes = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content } }));
    const value = readMessage(await read(real, bytes, []));
    const list = value?.kind === "result" && Array.isArray(value.result["content"]) ? value.result["content"] : [];
    const rest = spilledOf(list.at(-1));
    expect(rest).toMatchObject({ kind: "structured" });
    const inFile: unknown[] = JSON.parse(readFileSync(rest?.path ?? "", "utf8"));
    expect(list.length - 1 + inFile.length).toBe(content.length);
  });

  test("leaves no file when it is given up", async () => {
    const own = mkdtempSync(join(tmpdir(), "tenon-large-"));
    const message = new LargeMessage({ world: real, folder: own, onRoom: () => {} });
    message.push(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"content":["${"x".repeat(17 * MB)}"]}`));
    await expect.poll(() => readdirSync(own)).toHaveLength(1);
    message.abandon();
    await expect.poll(() => readdirSync(own)).toEqual([]);
    await expect(message.end()).rejects.toThrow("given up");
    rmSync(own, { recursive: true });
  });

  test("fails when the disk does, and says so", async () => {
    const text = "x".repeat(17 * MB);
    const message = new LargeMessage({ world: real, folder: join(import.meta.filename, "nowhere"), onRoom: () => {} });
    message.push(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text }] } })));
    await expect(message.end()).rejects.toThrow(/ENOTDIR/);
  });
});
