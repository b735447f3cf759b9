// The scripted server as a real child process, driven by the real MCP client and by hand.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Feed } from "../feed.js";
import { hasMarker, type LeakCheck, leakCheck, listProcesses } from "../leaks.js";
import { type Behaviour, echoTool } from "./behaviour.js";
import { MARKER_VARIABLE, scriptedAcpServer, scriptedServer } from "./scripted-server.js";

const marker = `program-test-${process.pid}`;
const children: ChildProcess[] = [];
let folder: string;
let leaks: LeakCheck;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "scripted-"));
  leaks = await leakCheck({ marker });
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  }
  await rm(folder, { recursive: true });
  await leaks.verify();
});

interface Started {
  readonly child: ChildProcess;
  readonly lines: Feed<string>;
  readonly stderr: () => string;
  send(message: object): void;
}

/** Plain pipes, so that a test sees every byte. */
function start(behaviour: Behaviour): Started {
  const { command, args, env } = scriptedServer(behaviour, { marker });
  const child = spawn(command, args, { env, stdio: "pipe" });
  children.push(child);
  const lines = new Feed<string>("line of the server");
  let rest = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) lines.push(part);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  return { child, lines, stderr: () => errors, send: (message) => child.stdin.write(`${JSON.stringify(message)}\n`) };
}

interface PidAnswer {
  readonly result: { readonly structuredContent: { readonly pid: number; readonly children: readonly number[] } };
}

const INITIALIZE = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18" } };
const answers = (id: number | null) => (line: string) => line.startsWith("{") && JSON.parse(line).id === id;

async function exitOf(child: ChildProcess): Promise<readonly [number | null, string | null]> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return [child.exitCode, child.signalCode];
}

test("the real client connects, lists, calls and closes", async () => {
  const { command, args, env } = scriptedServer(
    {
      tools: [echoTool(), { name: "env", reply: { kind: "env" } }, { name: "cwd", reply: { kind: "cwd" } }],
      pageSize: 1,
    },
    { marker, env: { EXTRA: "1" } },
  );
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, env, cwd: folder }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo", "env", "cwd"]);
  expect(await client.callTool({ name: "echo", arguments: { text: "a" } })).toMatchObject({
    content: [{ text: '{"text":"a"}' }],
  });
  const { structuredContent } = await client.callTool({ name: "env" });
  expect(structuredContent).toMatchObject({ names: expect.arrayContaining(["EXTRA", MARKER_VARIABLE]) });
  expect(await client.callTool({ name: "cwd" })).toMatchObject({ content: [{ text: folder }] });
  await client.close();
});

test("the entry for ACP carries the same command, with the environment as a list", () => {
  const entry = scriptedAcpServer("files", { tools: [echoTool()] }, { marker: "m" });
  expect(entry).toMatchObject({
    name: "files",
    command: process.execPath,
    env: [{ name: MARKER_VARIABLE, value: "m" }],
  });
});

test("a behaviour that is wrong or too large is refused before anything is spawned", () => {
  expect(() => scriptedServer({ pageSize: 0 })).toThrow("behaviour.pageSize");
  expect(() => scriptedServer({ instructions: "x".repeat(130_000) })).toThrow("too many for an argument");
});

test("the program itself refuses bad arguments with a reason and exit code 2", async () => {
  const { command, args } = scriptedServer({});
  const [program = ""] = args;
  for (const bad of [
    [],
    ["--behaviour", "{"],
    ["--behaviour", '{"x":1}'],
    ["--behaviour", '{"steps":{"start":[{"do":"hold","name":"a"}]}}'],
  ]) {
    const child = spawn(command, [program, ...bad], { stdio: "pipe" });
    children.push(child);
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => {
      errors += chunk.toString();
    });
    await once(child, "close");
    expect(child.exitCode).toBe(2);
    expect(errors).toMatch(
      /^scripted MCP server: (usage|the behaviour is not JSON|not a behaviour|the step "hold" cannot)/,
    );
  }
});

test("it ends with its input", async () => {
  const { child, lines, send } = start({});
  send(INITIALIZE);
  await lines.find(answers(1));
  child.stdin?.end();
  expect(await exitOf(child)).toEqual([0, null]);
});

test("it answers what is no JSON with a parse error and lives on", async () => {
  const { child, lines, send } = start({});
  child.stdin?.write("hello\n");
  expect(JSON.parse(await lines.find(answers(null)))).toMatchObject({ error: { code: -32700 } });
  send({ jsonrpc: "2.0", id: 2, method: "no/such" });
  expect(JSON.parse(await lines.find(answers(2)))).toMatchObject({ error: { code: -32601 } });
});

test("garbage comes before and between messages, and huge lines have their size", async () => {
  const { lines, send } = start({
    steps: { start: [{ do: "garbage", text: "booting…" }], initialize: [{ do: "huge_line", bytes: 300_000 }] },
    garbageBetween: "DEBUG",
  });
  send(INITIALIZE);
  await lines.find(answers(1));
  expect(lines.items.map((line) => (line.length > 100_000 ? line.length : line.slice(0, 8)))).toEqual([
    "booting…",
    300_000,
    "DEBUG",
    '{"jsonrp',
  ]);
});

test("it crashes at a stage with its last words, or of a signal", async () => {
  const crash = start({ steps: { "tools/list": [{ do: "crash", exitCode: 7, stderr: "out of memory" }] } });
  crash.send(INITIALIZE);
  await crash.lines.find(answers(1));
  crash.send({ jsonrpc: "2.0", id: 2, method: "tools/list" });
  await once(crash.child, "close");
  expect(crash.child.exitCode).toBe(7);
  expect(crash.stderr()).toBe("out of memory\n");
  const killed = start({ steps: { initialize: [{ do: "crash", signal: "SIGKILL" }] } });
  killed.send(INITIALIZE);
  expect(await exitOf(killed.child)).toEqual([null, "SIGKILL"]);
});

test("it crashes once and behaves at the next start", async () => {
  const behaviour: Behaviour = { steps: { start: [{ do: "crash", onceFile: join(folder, "crashed") }] } };
  expect(await exitOf(start(behaviour).child)).toEqual([1, null]);
  const { lines, send } = start(behaviour);
  send(INITIALIZE);
  expect(await lines.find(answers(1))).toContain("serverInfo");
});

test("it stays at the end of its input and at SIGTERM when told so, and records both", async () => {
  const recordFile = join(folder, "record");
  const { child, lines, send } = start({ ignoresEof: true, ignoresSigterm: true, recordFile });
  send(INITIALIZE);
  await lines.find(answers(1));
  child.stdin?.end();
  await expect.poll(() => readFile(recordFile, "utf8")).toContain('{"end":"stdin"}');
  child.kill("SIGTERM");
  await expect.poll(() => readFile(recordFile, "utf8")).toContain('{"signal":"SIGTERM"}');
  expect(await readFile(recordFile, "utf8")).toContain('{"received":{"jsonrpc":"2.0","id":1,"method":"initialize"');
  expect(child.exitCode).toBe(null);
  child.kill("SIGKILL");
  expect(await exitOf(child)).toEqual([null, "SIGKILL"]);
});

test.runIf(process.platform === "linux")(
  "its children stay when it goes, carry the marker, and are where they were asked to be",
  async () => {
    const { child, lines, send } = start({
      tools: [{ name: "pid", reply: { kind: "pid" } }],
      steps: {
        start: [
          { do: "spawn_children", count: 1 },
          { do: "spawn_children", count: 1, ownSession: true, ignoresSigterm: true },
        ],
      },
    });
    send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "pid" } });
    const answer: PidAnswer = JSON.parse(await lines.find(answers(2)));
    const { pid, children: grandchildren } = answer.result.structuredContent;
    expect(pid).toBe(child.pid);
    expect(grandchildren).toHaveLength(2);
    child.stdin?.end();
    await exitOf(child);
    const [plain, daemon] = grandchildren.map((one) => listProcesses().find((info) => info.pid === one));
    if (!plain || !daemon) throw new Error("a grandchild is gone");
    expect(hasMarker(plain.pid, [marker]) && hasMarker(daemon.pid, [marker])).toBe(true);
    expect(daemon.groupId).toBe(daemon.pid);
    expect(plain.groupId).not.toBe(plain.pid);
    expect(leaks.find().processes).toHaveLength(2);
    process.kill(daemon.pid, "SIGTERM");
    process.kill(plain.pid, "SIGTERM");
    await expect
      .poll(() => leaks.find().processes)
      .toEqual([expect.stringContaining(`process ${daemon.pid} (group ${daemon.pid}`)]);
    process.kill(daemon.pid, "SIGKILL");
  },
);

test("a child that holds stdout keeps the pipe open after the server has gone", async () => {
  const { child, lines, send } = start({
    steps: { start: [{ do: "spawn_children", count: 1, holdsStdout: true }] },
    maxLifetimeMs: 1_500,
  });
  send(INITIALIZE);
  await lines.find(answers(1));
  child.stdin?.end();
  await exitOf(child);
  expect(child.stdout?.readableEnded).toBe(false);
  await once(child, "close"); // the grandchild's lifetime ends too
  expect(child.stdout?.readableEnded).toBe(true);
});

test("it ends by itself after its lifetime, whatever else it ignores", async () => {
  const { child } = start({ ignoresEof: true, ignoresSigterm: true, maxLifetimeMs: 50 });
  child.stdin?.end();
  expect(await exitOf(child)).toEqual([0, null]);
});

test("stderr is written as asked, line by line or as a flood", async () => {
  const { child, lines, send, stderr } = start({
    steps: {
      start: [
        { do: "stderr", text: "hello" },
        { do: "stderr_flood", bytes: 200_000 },
      ],
    },
  });
  send(INITIALIZE);
  await lines.find(answers(1));
  // It ends with its input, whether or not the pipe has taken everything.
  while (child.stderr && stderr().length < 200_006) await once(child.stderr, "data");
  child.stdin?.end();
  await once(child, "close");
  expect(stderr().startsWith("hello\n")).toBe(true);
  expect(stderr().length).toBe(200_006);
});
