// Long messages over a real pipe: the loop stays free, the memory bounded, and only what is over every limit is lost.
import { existsSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { watchEventLoop } from "../../../testing/lab/index.js";
import { nodeWorld } from "../../../world/index.js";
import { SpillDirectory, spilledOf } from "../large/spilled.js";
import type { IncomingMessage, RequestLoss, RpcId } from "../transport.js";
import { StdioTransport } from "./stdio-transport.js";

const GRACE = { stdinMs: 500, terminateMs: 500 };
const MB = 1_048_576;
const open: StdioTransport[] = [];

afterEach(async () => {
  for (const transport of open.splice(0)) await transport.close(GRACE);
});

class Heard {
  readonly messages: IncomingMessage[] = [];
  readonly lost: { id: RpcId; loss: RequestLoss }[] = [];
  readonly noise: string[] = [];
  readonly closed: unknown[] = [];
  wake: () => void = () => {};

  async until(isDone: (heard: Heard) => boolean): Promise<void> {
    while (!isDone(this)) await new Promise<void>((resolve) => (this.wake = resolve));
  }
}

/** A child that is a Node program, with `send(text)` and `onLine(listener)` to work with. */
function program(body: string): { transport: StdioTransport; ear: Heard; spill: SpillDirectory } {
  const tools = `
    const send = (value) => process.stdout.write(typeof value === "string" ? value : JSON.stringify(value) + "\\n");
    const onLine = (run) => process.stdin.on("data", (chunk) => run(JSON.parse(chunk)));`;
  const world = nodeWorld();
  const spill = new SpillDirectory(world);
  const transport = new StdioTransport(
    { command: process.execPath, args: ["-e", tools + body], env: {}, cwd: "/" },
    world,
    { spill },
  );
  open.push(transport);
  const ear = new Heard();
  const note = <T>(list: T[], item: T) => {
    list.push(item);
    ear.wake();
  };
  transport.start({
    onMessage: (message) => note(ear.messages, message),
    onRequestLost: (id, loss) => note(ear.lost, { id, loss }),
    onNoise: (what) => note(ear.noise, what),
    onClosed: (error) => note(ear.closed, error),
  });
  return { transport, ear, spill };
}

describe("long messages", () => {
  test("one image of 5 MB is parsed where it is, and comes back the same", async () => {
    const { ear } = program(
      `send({ jsonrpc: "2.0", id: 1, result: { content: [{ type: "image", data: "QUJD".repeat(1310720), mimeType: "image/png" }] } });`,
    );
    await ear.until(({ messages }) => messages.length > 0);
    expect(ear.messages).toMatchObject([{ kind: "result", id: 1 }]);
    expect(JSON.stringify(ear.messages[0])).toContain("QUJD".repeat(1_310_720));
  });

  test("dense ones go to a thread: the loop stays free, and the list is complete", async () => {
    const { ear } = program(
      `send({ result: { tools: Array.from({ length: 60000 }, (_, i) => ({ name: "t" + i, inputSchema: { type: "object", properties: { a: { type: "string" } } } })) }, jsonrpc: "2.0", id: 1 });`,
    );
    const { longestMs } = await watchEventLoop(() => ear.until(({ messages }) => messages.length > 0));
    const [message] = ear.messages;
    const tools = message?.kind === "result" ? message.result["tools"] : undefined;
    expect(tools).toHaveLength(60_000);
    expect(longestMs).toBeLessThan(50);
  });

  test.each(["[[[[", "{}", "deep"])("the worst JSON there is does not hold anything up: %s", async (what) => {
    const values: Record<string, string> = {
      "[[[[": `"[" + "[".repeat(2000000) + "]".repeat(2000000) + "]"`,
      "{}": `"[" + "{},".repeat(2000000) + "1]"`,
      deep: `'{"a":'.repeat(700000) + "1" + "}".repeat(700000)`,
    };
    const { ear } = program(
      `send('{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":' + (${values[what]}) + '}}\\n');`,
    );
    const { longestMs } = await watchEventLoop(() =>
      ear.until(({ messages, lost }) => messages.length + lost.length > 0),
    );
    const [message] = ear.messages;
    expect(spilledOf(message?.kind === "result" ? message.result["structuredContent"] : undefined)).toMatchObject({
      kind: "structured",
    });
    expect(longestMs).toBeLessThan(50);
  });

  test("64 MB arrive as a file, the memory stays bounded, and the file goes with the spill directory", async () => {
    const { transport, ear, spill } = program(`
      const part = "0123456789abcdef".repeat(65536);
      send('{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"');
      for (let i = 0; i < 64; i++) send(part);
      send('"}]}}\\n');
      onLine((message) => send({ jsonrpc: "2.0", id: message.id, result: {} }));`);
    const before = process.memoryUsage().rss;
    let peak = 0;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
    const { longestMs } = await watchEventLoop(() =>
      ear.until(({ messages, lost }) => messages.length + lost.length > 0),
    );
    clearInterval(watch);
    const [message] = ear.messages;
    const content = message?.kind === "result" ? message.result["content"] : undefined;
    const block = spilledOf(Array.isArray(content) ? content[0] : undefined);
    expect(block).toMatchObject({ kind: "text", bytes: 64 * MB });
    expect(
      readFileSync(block?.path ?? "")
        .subarray(0, 20)
        .toString(),
    ).toBe("0123456789abcdef0123");
    expect(longestMs).toBeLessThan(50);
    expect((peak - before) / MB).toBeLessThan(64);
    transport.send({ jsonrpc: "2.0", id: 2, method: "ping" });
    await ear.until(({ messages }) => messages.length === 2);
    await transport.close(GRACE);
    await spill.dispose();
    expect(existsSync(block?.path ?? "")).toBe(false);
  });

  test.each([
    ["at the start", `'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"'`, `'"}]}}\\n'`],
    ["at the end", `'{"result":{"content":[{"type":"text","text":"'`, `'"}]},"jsonrpc":"2.0","id":7}\\n'`],
  ])("one over every limit fails exactly its request (id %s), and the transport lives on", async (_, head, tail) => {
    const { transport, ear } = program(`
      send(${head});
      const part = Buffer.alloc(${MB}, "x");
      let left = 160;
      const more = () => { while (left-- > 0) if (!process.stdout.write(part)) return process.stdout.once("drain", more); send(${tail}); };
      more();
      onLine((message) => send({ jsonrpc: "2.0", id: message.id, result: {} }));`);
    const { longestMs } = await watchEventLoop(() => ear.until(({ lost }) => lost.length > 0));
    expect(ear.lost).toMatchObject([{ id: 7, loss: { wasSent: true, error: { code: "mcp.too_large" } } }]);
    expect(longestMs).toBeLessThan(50);
    transport.send({ jsonrpc: "2.0", id: 8, method: "ping" });
    await ear.until(({ messages }) => messages.length > 0);
    expect(ear.messages).toMatchObject([{ kind: "result", id: 8 }]);
    expect(ear.closed).toEqual([]);
  });

  test("one that was complete when the server ended still arrives, before the end is told", async () => {
    const { ear } = program(
      `send({ jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "x".repeat(${30 * MB}) }] } }); process.stdin.destroy();`,
    );
    await ear.until(({ closed }) => closed.length > 0);
    expect(ear.messages).toMatchObject([{ kind: "result", id: 1 }]);
  });

  test("one that breaks off with its server fails its request", async () => {
    const { ear } = program(
      `send('{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"' + "x".repeat(${20 * MB})); process.stdin.destroy();`,
    );
    await ear.until(({ closed }) => closed.length > 0);
    expect(ear.lost).toMatchObject([{ id: 1, loss: { wasSent: true } }]);
  });

  test("one without an id is noise", async () => {
    const { ear } = program(`send("x".repeat(9000000) + "\\n"); onLine(() => {});`);
    await ear.until(({ noise }) => noise.length > 0);
    expect(ear.noise[0]).toContain("could not be read");
  });
});
