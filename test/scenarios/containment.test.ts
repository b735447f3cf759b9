// No failure ends the process or stalls other sessions: paths, descriptors, depth, listeners, sizes, clients that misbehave.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { Cell } from "../../src/base/async/cell.js";
import { startInTurn } from "../../src/mcp/index.js";
import { type AcpClient, echoTool, fakeWorld, leakCheck, scriptedAcpServer } from "../../src/testing/index.js";
import { answerText, fakeProvider } from "../../src/testing/lab/index.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";
import { TARGETS } from "./providers/target.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const DEPTH = 4_500;
const ROOT = join(import.meta.dirname, "../..");

function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}

/** Notices and failed servers of a session, in words. */
function noticed(client: AcpClient, sessionId: string, words: string): Promise<unknown> {
  return client.waitForUpdate(
    sessionId,
    (update) =>
      update.sessionUpdate === "notice" && `${update.title} ${String(update.description ?? "")}`.includes(words),
  );
}

async function works(client: AcpClient, cwd: string): Promise<void> {
  const { sessionId } = await client.newSession({ cwd });
  expect((await client.prompt(sessionId, "hello")).stopReason).toBe("end_turn");
}

scenario(
  ["H100"],
  "a project's server commands that lead through files, loops and long names cost nothing",
  async () => {
    using home = new TemporaryFolder();
    const project = join(home.path, "project");
    mkdirSync(project);
    writeFileSync(join(project, "README.md"), "# a file\n");
    symlinkSync("loop", join(project, "loop"));
    const commands = ["./README.md/x", "./loop", "./loop/x", `./${"x".repeat(5_000)}`, "./nul\u0000l", "bare-name"];
    const entries = commands.map((command, index) => [`s${index}`, { command }]);
    writeFileSync(join(project, ".mcp.json"), JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
    const path = `${join(project, "README.md")}:${join(project, "loop")}:${process.env["PATH"] ?? ""}`;
    await using client = await startTenon(home, { env: { PATH: path }, permissions: "deny" });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: project });
    expect((await client.prompt(sessionId, "hello")).stopReason).toBe("end_turn");
    await works(client, home.path);
    const env = cleanEnv(home.path, { PATH: path });
    for (const words of [["mcp", "list"], ["trust"], ["doctor"]]) {
      const { code, stderr } = await runCommand(agentNode(), [TENON, ...words], { cwd: project, env });
      expect({ words, stack: stderr.match(/\n\s+at /u)?.[0], isEnded: code !== null && code < 128 }).toEqual({
        words,
        stack: undefined,
        isEnded: true,
      });
    }
  },
);

scenario(
  ["H101"],
  "a session whose folder lies below a file gets a clear failure of its server, and the next one works",
  async () => {
    using home = new TemporaryFolder();
    writeFileSync(join(home.path, "file"), "");
    await using client = await startTenon(home);
    await client.initialize();
    const cwd = join(home.path, "file", "below");
    const { sessionId } = await client.newSession({
      cwd,
      mcpServers: [scriptedAcpServer("s", { tools: [echoTool()] })],
    });
    await noticed(client, sessionId, "does not exist");
    await works(client, home.path);
  },
);

/** Uses the real world with no file descriptor left: what cannot be started says so, and works again afterwards. */
const STARVED = `
import { openSync, closeSync } from "node:fs";
const { nodeWorld } = await import(process.argv[1]);
const world = nodeWorld();
const alive = setInterval(() => {}, 1000);
const request = { command: "/bin/true", args: [], env: {}, cwd: "/" };
const held = [];
try { for (;;) held.push(openSync("/dev/null", "r")); } catch {}
const first = await world.spawn(request).exited;
const thread = world.thread(new URL("data:text/javascript,postMessage(1)"), undefined);
const failed = await new Promise((resolve) => thread.listen({ onMessage: () => resolve("ran"), onFailed: () => resolve("failed") }));
thread.end();
const isThere = world.files.isFile("/bin/true/x");
for (const file of held.splice(0)) closeSync(file);
const child = world.spawn(request);
const second = await child.exited;
await child.release();
clearInterval(alive);
console.log(JSON.stringify([first.kind, typeof failed, isThere, second.kind]));
`;

scenario(
  ["H102"],
  "out of file descriptors, a child or a thread that cannot be started is a value, not the end",
  async () => {
    using home = new TemporaryFolder();
    const world = join(ROOT, "src/world/index.ts");
    const loader = join(ROOT, "node_modules/tsx/dist/loader.mjs");
    const script = `ulimit -n 512; exec "$0" --import "$3" --input-type=module -e "$1" "$2"`;
    const { code, stdout, stderr } = await runCommand("/bin/sh", ["-c", script, agentNode(), STARVED, world, loader], {
      cwd: home.path,
      env: cleanEnv(home.path),
    });
    expect({ code, stdout: stdout.trim(), stderr }).toEqual({
      code: 0,
      stdout: '["not_started","string",false,"exited"]',
      stderr: "",
    });
  },
  { platform: "linux" },
);

scenario(
  ["H103"],
  "a long message with nowhere to put it fails its call with the reason, and nothing else",
  async () => {
    using home = new TemporaryFolder();
    const env = { TMPDIR: join(home.path, "missing") };
    await using client = await startTenon(home, { env, permissions: "allow" });
    await client.initialize();
    const big = { name: "big", description: "Returns much text.", reply: { kind: "bytes", bytes: 9_000_000 } } as const;
    const mcpServers = [scriptedAcpServer("s", { tools: [big, echoTool()] })];
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers });
    await client.prompt(sessionId, "use the tool big");
    const told = JSON.stringify(client.updates(sessionId));
    expect(told).toContain("could not be read");
    expect(told).toContain("missing");
    await works(client, home.path);
  },
);

scenario(
  ["H104"],
  "JSON nested deeper than 256 levels is refused at every entrance of the protocol, under its id",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    await client.initialize();
    const deepId = `${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}`;
    client.sendLine(`{"jsonrpc":"2.0","id":${deepId},"method":"session/list","params":{}}`);
    expect(await client.nextLine()).toContain("256 levels");
    client.sendLine(`{"jsonrpc":"2.0","id":"own","method":"session/prompt","params":{"deep":${nested(DEPTH)}}}`);
    const answer = await client.nextLine((line) => line.includes("256 levels"));
    expect(JSON.parse(answer)).toMatchObject({ id: "own", error: { code: -32600 } });
    const call = { kind: "raw", text: "" } as const;
    expect(call.kind).toBe("raw");
    await works(client, home.path);
  },
);

scenario(
  ["H105"],
  "a tool call with arguments nested 4,500 deep is refused to the model; the session goes on, here and loaded",
  async () => {
    const target = TARGETS.find(({ name }) => name === "OpenAI Chat");
    if (!target) throw new Error("the provider is gone from the table");
    using home = new TemporaryFolder();
    await using provider = await fakeProvider({ schemaFaults: target.schemaFaults });
    const env = { ...target.env(provider), TENON_MODEL: target.model };
    const mcpServers = [scriptedAcpServer("s", { tools: [echoTool()] })];
    const deep = `{"text":${nested(DEPTH)}}`;
    let id = "";
    {
      await using client = await startTenon(home, { env, permissions: "allow" });
      await client.initialize();
      id = (await client.newSession({ cwd: home.path, mcpServers })).sessionId;
      const parts = [{ kind: "tool_call", name: "mcp__s__echo", arguments: deep }] as const;
      provider.reply({ kind: "answer", parts }, answerText("I see."), answerText("Still here."));
      expect((await client.prompt(id, "echo something deep")).stopReason).toBe("end_turn");
      expect(JSON.stringify((await provider.awaitRequest(1)).body)).toContain("256 levels");
      expect((await client.prompt(id, "and now?")).stopReason).toBe("end_turn");
      expect(client.text(id)).toContain("Still here.");
    }
    damage(home.path, id);
    await using again = await startTenon(home, { env, permissions: "allow" });
    await again.initialize();
    await again.request("session/load", { sessionId: id, cwd: home.path, mcpServers: [] });
    expect(JSON.stringify(again.updates(id))).toContain("left out: nested more than 256 levels");
    provider.reply(answerText("Loaded."));
    expect((await again.prompt(id, "still there?")).stopReason).toBe("end_turn");
  },
);

/** As an earlier version wrote it: the arguments themselves in the record of the call. */
function damage(home: string, id: string): void {
  const folder = readdirSync(home, { recursive: true, encoding: "utf8" }).find((path) => path.endsWith(`${id}.ndjson`));
  const file = join(home, folder ?? "");
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const [subject] = lines.flatMap((text) => JSON.parse(text).subject ?? []);
  const records = [
    { kind: "prompt", turn: 3, content: [{ type: "text", text: "deep" }] },
    { kind: "announced", toolCallId: "3-1", subject },
    { kind: "call", toolCallId: "3-1", subject, arguments: "ARGUMENTS" },
  ];
  const texts = records.map((record, index) => JSON.stringify({ seq: lines.length + index, t: Date.now(), ...record }));
  writeFileSync(file, `${[...lines, ...texts].join("\n").replace('"ARGUMENTS"', nested(DEPTH))}\n`);
}

scenario(
  ["H106"],
  "a start that throws does not stop the starts behind it, nor a listener the others of its cell",
  async () => {
    const world = fakeWorld();
    const started: string[] = [];
    startInTurn(world, () => {
      throw new Error("the first start");
    });
    startInTurn(world, () => started.push("second"));
    const cell = new Cell(0);
    cell.subscribe(() => {
      throw new Error("a listener");
    });
    cell.subscribe((value) => started.push(`heard ${value}`));
    cell.set(1);
    for (let turn = 0; turn < 4; turn++) await world.advance(1);
    expect(started).toEqual(["heard 1", "second"]);
    const reported = world.logEntries.filter(({ event }) => event === "work.failed").map(({ error }) => error);
    expect(reported).toEqual(["a listener", "the first start"]);
  },
);

scenario(["H107"], "what nobody caught is logged with its stack and told to the sessions, which go on", async () => {
  using home = new TemporaryFolder();
  const code =
    "process.on('SIGUSR2', () => { setImmediate(() => { throw new Error('stray exception'); }); Promise.reject(new Error('stray rejection')); })";
  const nodeArgs = ["--import", `data:text/javascript,${encodeURIComponent(code)}`];
  await using client = await startTenon(home, { nodeArgs });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: home.path });
  expect((await client.prompt(sessionId, "hello")).stopReason).toBe("end_turn");
  client.kill("SIGUSR2");
  await Promise.all([noticed(client, sessionId, "stray exception"), noticed(client, sessionId, "stray rejection")]);
  await expect.poll(() => client.stderr(), { timeout: 10_000 }).toContain("process.uncaught");
  expect((await client.prompt(sessionId, "still there?")).stopReason).toBe("end_turn");
});

const OVERSIZE = "x".repeat(33_600_000);

scenario(["H650"], "a message over 32 MiB is answered under its own id, wherever the id stands", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  client.sendLine(`{"jsonrpc":"2.0","id":"first","method":"session/prompt","params":{"x":"${OVERSIZE}"}}`);
  const first = await client.nextLine((line) => line.includes("over the limit"));
  expect(JSON.parse(first)).toMatchObject({ id: "first", error: { code: -32600 } });
  client.sendLine(`{"method":"session/prompt","params":{"id":1,"x":"${OVERSIZE}"},"jsonrpc":"2.0","id":42}`);
  const second = await client.nextLine((line) => line.includes("over the limit"));
  expect(JSON.parse(second)).toMatchObject({ id: 42, error: { code: -32600 } });
  await works(client, home.path);
});

interface Raw {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exited: Promise<readonly unknown[]>;
}

/** An editor without any manners: a session with a server, and nothing read from now on. */
async function rudeEditor(home: TemporaryFolder, marker: string): Promise<Raw> {
  const child = spawn(agentNode(), [TENON, "acp"], { env: cleanEnv(home.path), cwd: home.path });
  child.stdin.on("error", () => {});
  child.stdout.on("error", () => {});
  child.stderr.resume();
  const exited = once(child, "exit");
  // Deaf to all but SIGKILL, so that shutting down takes a while.
  const behaviour = { tools: [echoTool()], ignoresEof: true, ignoresSigterm: true };
  const server = scriptedAcpServer("s", behaviour, { marker });
  const send = (id: number, method: string, params: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  send(1, "initialize", { protocolVersion: 1, clientCapabilities: { session: { notices: {} } } });
  send(2, "session/new", { cwd: home.path, mcpServers: [server] });
  let read = "";
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    read += String(chunk);
    if (read.includes("is ready")) break;
  }
  child.stdout.pause();
  return { child, exited };
}

const GARBAGE = '{"jsonrpc":"2.0","id":9,"method":"session/list","params":{}}\nno json\n';

const MISDEEDS: readonly (readonly [string, (child: Raw["child"]) => void])[] = [
  [
    "stops reading, asks on, and goes",
    (child) => {
      for (let count = 0; count < 3_000; count++) child.stdin.write(GARBAGE);
      child.stdin.end();
    },
  ],
  [
    "closes our output and sends more",
    (child) => {
      child.stdout.destroy();
      const sending = setInterval(() => child.stdin.write(GARBAGE), 5);
      child.once("exit", () => clearInterval(sending));
    },
  ],
  [
    "ends its input in the middle of a line, with garbage behind a signal",
    (child) => {
      child.kill("SIGTERM");
      child.stdin.write(GARBAGE.repeat(50));
      child.stdin.end('{"jsonrpc":"2.0","id":10,"meth');
    },
  ],
];

for (const [name, misbehave] of MISDEEDS) {
  scenario(["H651"], `shutdown is graceful when the client ${name}`, async () => {
    using home = new TemporaryFolder();
    const marker = `rude-${MISDEEDS.findIndex(([other]) => other === name)}`;
    const check = await leakCheck({ marker });
    const { child, exited } = await rudeEditor(home, marker);
    const beforeMs = performance.now();
    misbehave(child);
    const [code] = await exited;
    expect([0, 130]).toContain(code);
    expect(performance.now() - beforeMs).toBeLessThan(6_000);
    for (const stream of child.stdio) stream?.destroy();
    await check.verify();
  });
}
