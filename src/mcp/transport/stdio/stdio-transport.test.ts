// The stdio transport against real children and scripted ones: what it sends, what it survives, and how it ends.
import { afterEach, describe, expect, test, vi } from "vitest";
import type { TenonError } from "../../../base/errors.js";
import { LIMITS } from "../../../base/limits.js";
import type { World } from "../../../base/ports/world.js";
import { type FakeChild, fakeWorld, spawnsChild } from "../../../testing/index.js";
import { watchEventLoop } from "../../../testing/lab/index.js";
import { nodeWorld } from "../../../world/index.js";
import { MCP_LIMITS } from "../../limits.js";
import { SpillDirectory } from "../large/spilled.js";
import type { IncomingMessage, OutgoingMessage, RequestLoss, RpcId, TransportListener } from "../transport.js";
import { StdioTransport } from "./stdio-transport.js";

const GRACE = { stdinMs: 500, terminateMs: 500 };
const MB = 1_048_576;

class Ear implements TransportListener {
  readonly messages: IncomingMessage[] = [];
  readonly lost: { id: RpcId; loss: RequestLoss }[] = [];
  readonly noise: string[] = [];
  readonly closed: TenonError[] = [];
  onPeek?: NonNullable<TransportListener["onPeek"]>;
  #wake: () => void = () => {};

  onMessage(message: IncomingMessage): void {
    this.messages.push(message);
    this.#wake();
  }

  onRequestLost(id: RpcId, loss: RequestLoss): void {
    this.lost.push({ id, loss });
    this.#wake();
  }

  onClosed(error: TenonError): void {
    this.closed.push(error);
    this.#wake();
  }

  onNoise(what: string): void {
    this.noise.push(what);
    this.#wake();
  }

  async until(isDone: (ear: Ear) => boolean): Promise<void> {
    while (!isDone(this)) await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}

const open: StdioTransport[] = [];
afterEach(async () => {
  for (const transport of open.splice(0)) await transport.close(GRACE);
});

function request(id: RpcId, method = "tools/call"): OutgoingMessage {
  return { jsonrpc: "2.0", id, method, params: {} };
}

/** A child that is a Node program, with `send(text)` and `onLine(listener)` to work with. */
function program(body: string, env: Record<string, string> = {}): { transport: StdioTransport; ear: Ear } {
  const tools = `
    const send = (value) => process.stdout.write(typeof value === "string" ? value : JSON.stringify(value) + "\\n");
    let rest = "";
    const onLine = (run) => process.stdin.on("data", (chunk) => {
      const lines = (rest + chunk).split("\\n");
      rest = lines.pop();
      for (const line of lines) run(JSON.parse(line));
    });`;
  return started(nodeWorld(), { command: process.execPath, args: ["-e", tools + body], env, cwd: "/" });
}

function started(world: World, spawn: { command: string; args: string[]; env: Record<string, string>; cwd: string }) {
  const transport = new StdioTransport(spawn, world, { spill: new SpillDirectory(world) });
  open.push(transport);
  const ear = new Ear();
  transport.start(ear);
  return { transport, ear };
}

function fake(): { transport: StdioTransport; ear: Ear; child: FakeChild; world: ReturnType<typeof fakeWorld> } {
  const world = fakeWorld({ spawn: spawnsChild({ ignoresEof: true }) });
  const transport = new StdioTransport({ command: "server", args: [], env: {}, cwd: "/" }, world, {
    spill: new SpillDirectory(world),
  });
  const ear = new Ear();
  transport.start(ear);
  const [child] = world.children;
  if (!child) throw new Error("nothing was spawned");
  return { transport, ear, child, world };
}

/** Lets data pass through the in-memory streams. */
const settle = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

describe("sending", () => {
  test("all messages of one turn go out in one write, one line each", async () => {
    const { transport, child } = fake();
    const chunks: string[] = [];
    child.stdin.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
    for (const id of [1, 2, 3]) transport.send(request(id));
    await settle();
    expect(chunks).toHaveLength(1);
    expect(
      chunks[0]
        ?.trim()
        .split("\n")
        .map((line) => JSON.parse(line).id),
    ).toEqual([1, 2, 3]);
  });

  test.each([
    ["short, all of them did not arrive", 10, [1, 2]],
    ["long, only a request in the last line certainly did not arrive", 10_000, [2]],
  ] as const)("of a write that failed and is %s", async (_, chars, unsent) => {
    const { transport, ear, child } = fake();
    transport.agreed({ era: "modern", protocolVersion: "2026-07-28" });
    vi.spyOn(child.stdin, "write").mockImplementation((_text, done) => {
      if (typeof done === "function") (done as (error: Error) => void)(new Error("EPIPE"));
      return true;
    });
    transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { text: "x".repeat(chars / 10) } });
    transport.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { text: "x".repeat(chars) } });
    await settle();
    expect(ear.lost.map(({ id, loss }) => [id, loss.wasSent])).toEqual(unsent.map((id) => [id, false]));
  });

  test("a request that an answer of ours follows in a long write that failed may have arrived", async () => {
    const { transport, ear, child } = fake();
    transport.agreed({ era: "modern", protocolVersion: "2026-07-28" });
    vi.spyOn(child.stdin, "write").mockImplementation((_text, done) => {
      if (typeof done === "function") (done as (error: Error) => void)(new Error("EPIPE"));
      return true;
    });
    transport.send(request(1));
    transport.send({ jsonrpc: "2.0", id: 900, result: { text: "x".repeat(10_000) } });
    await settle();
    expect(ear.lost).toEqual([]);
  });

  test.each(['"result":null', '"result":"text"', '"result":[]', '"error":null', '"error":7', '"x":1'])(
    "an answer that says nothing (%s) ends its request at once",
    async (body) => {
      const { ear, child } = fake();
      child.stdout.write(`{"jsonrpc":"2.0","id":1,${body}}\n`);
      await settle();
      expect(ear.lost).toMatchObject([{ id: 1, loss: { wasSent: true, error: { code: "mcp.protocol" } } }]);
      child.stdout.write(`{"jsonrpc":"2.0","id":null,${body}}\n{"id":2,${body}}\n`);
      await settle();
      expect([ear.lost.length, ear.noise.length]).toEqual([1, 2]);
    },
  );

  test("an error that is only words is the server's error all the same", async () => {
    const { ear, child } = fake();
    child.stdout.write('{"jsonrpc":"2.0","id":1,"error":"no such table"}\n');
    await settle();
    expect(ear.messages).toEqual([{ kind: "error", id: 1, error: { code: -32603, message: "no such table" } }]);
  });

  test("what is sent at the sight of a long answer goes out before that is read", async () => {
    const { transport, ear, child } = fake();
    const events: string[] = [];
    vi.spyOn(child.stdin, "write").mockImplementation((line) => {
      events.push(`sent ${JSON.parse(String(line)).id}`);
      return true;
    });
    ear.onMessage = () => events.push("read");
    ear.onPeek = (id, { head, tail }) => {
      events.push(`peeked ${id} ${head.slice(0, 9)} ${tail.slice(-9)}`);
      transport.send(request(2));
    };
    const answer = (id: RpcId, text: string) =>
      child.stdout.write(`{"id":${id},"jsonrpc":"2.0","result":{"text":"${text}","b":1}}\n`);
    answer(1, "x".repeat(10_000));
    await settle();
    expect(events).toEqual(['peeked 1 {"id":1," ","b":1}}', "sent 2", "read"]);
    answer(2, "short");
    await settle();
    expect(events.slice(3)).toEqual(["read"]);
  });

  test("a cancelled request is told to the server, initialize never", async () => {
    const { transport, child } = fake();
    let text = "";
    child.stdin.on("data", (chunk: Buffer) => (text += chunk.toString()));
    transport.send(request(1, "initialize"));
    transport.send(request(2));
    transport.cancel(1, "late");
    transport.cancel(2, "late");
    await settle();
    const sent = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(sent.slice(2)).toEqual([
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2, reason: "late" } },
    ]);
  });

  test("a server that does not read makes requests fail instead of filling the memory", async () => {
    const { transport, ear, child } = fake();
    child.stdin.pause();
    const text = "x".repeat(8 * MB);
    for (let id = 1; id <= 12; id++) {
      transport.send({ jsonrpc: "2.0", id, method: "tools/call", params: { text } });
      await settle();
    }
    expect(ear.lost.length).toBeGreaterThan(0);
    expect(ear.lost[0]?.loss).toMatchObject({ wasSent: false, error: { code: "mcp.unavailable" } });
    child.stdin.resume();
    await settle();
    transport.send(request("after"));
    await settle();
    expect(ear.lost.map(({ id }) => id)).not.toContain("after");
  });
});

describe("receiving", () => {
  test("messages come one by one, whatever lies between them and however they are cut", async () => {
    const { ear, child } = fake();
    const bytes = Buffer.concat([
      Buffer.from('\ufeff{"jsonrpc":"2.0","id":1,"result":{"a":"é"}}\r\n\r\nListening on port 3\n[1,2'),
      Buffer.from([0xff, 0xfe, 0x0a]),
      Buffer.from(
        '{"jsonrpc":"2.0","method":"notifications/x"}\n{"id":1}\n{"jsonrpc":"2.0","id":"b","error":{"code":1,"message":"m"}}\n',
      ),
    ]);
    for (const byte of bytes) child.stdout.write(Buffer.from([byte]));
    await settle();
    expect(ear.messages).toMatchObject([
      { kind: "result", id: 1, result: { a: "é" } },
      { kind: "notification", method: "notifications/x" },
      { kind: "error", id: "b", error: { code: 1, message: "m" } },
    ]);
    expect(ear.noise).toHaveLength(3);
  });

  test("several messages in one array are taken apart, as 2025-03-26 allows", async () => {
    const { ear, child } = fake();
    child.stdout.write('[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}},7]\n');
    await settle();
    expect(ear.messages.map((message) => ("id" in message ? message.id : undefined))).toEqual([1, 2]);
    expect(ear.noise).toHaveLength(1);
  });

  test("bytes that are no UTF-8 do not lose the message around them", async () => {
    const { ear, child } = fake();
    child.stdout.write(
      Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"t":"'),
        Buffer.from([0xc3, 0x28]),
        Buffer.from('"}}\n'),
      ]),
    );
    await settle();
    expect(ear.messages).toMatchObject([{ kind: "result", result: { t: "\ufffd(" } }]);
  });

  test("a flood is handled in turns: timers keep running", async () => {
    const { ear } = program(`
      const line = JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }) + "\\n";
      for (let i = 0; i < 30; i++) send(line.repeat(10000));
      send({ jsonrpc: "2.0", id: 1, result: {} });`);
    const { longestMs } = await watchEventLoop(() => ear.until(({ messages }) => messages.at(-1)?.kind === "result"));
    expect(ear.messages).toHaveLength(300_001);
    expect(longestMs).toBeLessThan(50);
  });
});

describe("the end", () => {
  test("an exit is told with its code and the end of stderr, after everything it said before", async () => {
    const { ear } = program(
      `process.stderr.write("no licence\\n"); send({ jsonrpc: "2.0", id: 1, result: {} }); send('{"jsonrpc":"2.0","id":2,"result":{}}'); process.exitCode = 3;process.stdin.destroy()`,
    );
    await ear.until(({ closed }) => closed.length > 0);
    expect(ear.messages.map((message) => ("id" in message ? message.id : 0))).toEqual([1, 2]);
    expect(ear.closed).toMatchObject([
      { code: "mcp.connect_failed", message: "the server exited with code 3; its stderr ends: no licence" },
    ]);
  });

  test("a signal is told by its name, and once the two had agreed it is a lost connection", async () => {
    const { transport, ear } = program(`process.kill(process.pid, "SIGKILL");`);
    transport.agreed({ era: "legacy", protocolVersion: "2025-11-25" });
    await ear.until(({ closed }) => closed.length > 0);
    expect(ear.closed).toMatchObject([{ code: "mcp.connection_lost", message: "the server was ended by SIGKILL" }]);
  });

  test("writing to a server that is gone is no error of its own: the exit is", async () => {
    const { transport, ear } = program(
      `process.stdin.destroy(); process.stderr.write("bye"); setTimeout(() => process.exit(9), 50); send({ jsonrpc: "2.0", id: 0, result: {} });`,
    );
    await ear.until(({ messages }) => messages.length > 0);
    const tick = setInterval(() => transport.send(request(1)), 1);
    await ear.until(({ closed }) => closed.length > 0);
    clearInterval(tick);
    expect(ear.closed).toMatchObject([{ message: "the server exited with code 9; its stderr ends: bye" }]);
  });

  test("a server that closes its stdout and stays is broken too", async () => {
    const { ear } = program(`process.stdout.end(); require("fs").closeSync(1); setInterval(() => {}, 1000);`);
    await ear.until(({ closed }) => closed.length > 0);
    expect(ear.closed[0]?.message).toContain("closed its end of the pipe");
  });

  test("a command that does not exist is told with the PATH it was looked for in", async () => {
    const { ear } = started(nodeWorld(), {
      command: "no-such-command",
      args: [],
      env: { PATH: "/usr/bin:/bin" },
      cwd: "/",
    });
    await ear.until(({ closed }) => closed.length > 0);
    expect(ear.closed).toMatchObject([
      { code: "mcp.spawn_failed", message: 'cannot start "no-such-command": not found in PATH (/usr/bin:/bin)' },
    ]);
  });

  test("arguments no system takes are a failed start, not an exception", async () => {
    const { ear } = started(nodeWorld(), { command: "true", args: ["a\0b"], env: {}, cwd: "/" });
    await ear.until(({ closed }) => closed.length > 0);
    expect(ear.closed).toMatchObject([{ code: "mcp.spawn_failed" }]);
  });

  test("closing is not told as an end, and nothing is told after it", async () => {
    const { transport, ear } = program(
      `onLine(() => {}); process.stdin.on("end", () => { send({ jsonrpc: "2.0", id: 1, result: {} }); process.exit(0); });`,
    );
    await transport.close(GRACE);
    const told = ear.messages.length;
    await settle();
    expect([ear.closed, ear.messages.length]).toEqual([[], told]);
    await transport.close(GRACE);
  });

  test("a question of the server is still answered while closing, so that it sees the end of its input", async () => {
    const { transport, ear, child, world } = fake();
    let text = "";
    child.stdin.on("data", (chunk: Buffer) => (text += chunk.toString()));
    child.stdout.write('{"jsonrpc":"2.0","id":0,"method":"roots/list"}\n');
    await settle();
    expect(ear.messages).toMatchObject([{ kind: "request", id: 0 }]);
    const closing = transport.close(GRACE);
    await settle();
    expect(child.stdin.writableEnded).toBe(false);
    transport.send({ jsonrpc: "2.0", id: 0, result: { roots: [] } });
    await settle();
    expect(text).toContain('"roots":[]');
    expect(child.stdin.writableEnded).toBe(true);
    child.exit(0);
    await world.advance(LIMITS.groupPollMs);
    await closing;
  });

  test("what a modern server asks gets no answer, and nothing is kept or waited for because of it", async () => {
    const { transport, child, world } = fake();
    child.stdout.write('{"jsonrpc":"2.0","id":0,"method":"roots/list"}\n');
    await settle();
    transport.agreed({ era: "modern", protocolVersion: "2026-07-28" });
    child.stdout.write('{"jsonrpc":"2.0","id":1,"method":"roots/list"}\n');
    await settle();
    const closing = transport.close(GRACE);
    await settle();
    expect(child.stdin.writableEnded).toBe(true);
    child.exit(0);
    await world.advance(LIMITS.groupPollMs);
    await closing;
  });

  test("a server closed right after it was initialized gets less time: it may wait for an answer and see no end", async () => {
    const { transport, child, world } = fake();
    transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    const closing = transport.close({ stdinMs: 5_000, terminateMs: 500 });
    await settle();
    await world.advance(MCP_LIMITS.youngClose.stdinMs + LIMITS.groupPollMs);
    expect(child.signals).toEqual(["SIGTERM"]);
    await world.advance(LIMITS.groupPollMs);
    await closing;
  });

  test("one that was initialized long ago gets all of it", async () => {
    const { transport, child, world } = fake();
    transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    await world.advance(MCP_LIMITS.youngClose.afterMs);
    const closing = transport.close({ stdinMs: 5_000, terminateMs: 500 });
    await settle();
    await world.advance(4_000);
    expect(child.signals).toEqual([]);
    await world.advance(1_000 + LIMITS.groupPollMs);
    expect(child.signals).toEqual(["SIGTERM"]);
    await world.advance(LIMITS.groupPollMs);
    await closing;
  });

  test("an answer that never comes does not hold the close up", async () => {
    const { transport, child, world } = fake();
    child.stdout.write('{"jsonrpc":"2.0","id":0,"method":"roots/list"}\n');
    await settle();
    const closing = transport.close(GRACE);
    await world.advance(MCP_LIMITS.drainMs);
    expect(child.stdin.writableEnded).toBe(true);
    child.exit(0);
    await world.advance(LIMITS.groupPollMs);
    await closing;
  });
});

test("the environment of the server holds nothing of ours but the marker", async () => {
  const { ear } = program(`send({ jsonrpc: "2.0", id: 1, result: { names: Object.keys(process.env) } });`, {
    GIVEN: "1",
  });
  await ear.until(({ messages }) => messages.length > 0);
  const [message] = ear.messages;
  expect(message?.kind === "result" ? message.result["names"] : []).toEqual(["GIVEN", "TENON_SERVER"]);
});
