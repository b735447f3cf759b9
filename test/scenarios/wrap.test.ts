// `tenon wrap`: an agent that treats servers carelessly, and what becomes of that behind Tenon.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/base/json/json.js";
import {
  type AcpClient,
  type AcpClientOptions,
  acpSchemaValidator,
  echoTool,
  listLiving,
  scriptedAcpServer,
  scriptedHttpServer,
  startAgent,
} from "../../src/testing/index.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { ConfigBench } from "./config-bench.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const programs = new TemporaryFolder();
const CARELESS = join(programs.path, "careless.mjs");

/** Before the first scenario: esbuild leaves a process of its own that is no leak of what is tested. */
beforeAll(async () => {
  const entryPoints = [join(import.meta.dirname, "wrap-agent.ts")];
  await build({ entryPoints, outfile: CARELESS, bundle: true, platform: "node", format: "esm", logLevel: "error" });
});

afterAll(() => programs[Symbol.dispose]());

const bare = () => [agentNode(), CARELESS];
const behindTenon = (...words: readonly string[]) => [agentNode(), TENON, "wrap", ...words, "--", ...bare()];

async function wrapped(
  bench: ConfigBench,
  options: AcpClientOptions = {},
  words: readonly string[] = behindTenon(),
): Promise<AcpClient> {
  const [command = "", ...args] = words;
  const env = cleanEnv(bench.home, { HOME: bench.home });
  return startAgent(
    { command, args, env, cwd: bench.project },
    { validate: await acpSchemaValidator({ unstable: true }), ...options },
  );
}

const raw = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
const greeter = (name: string, text: string) =>
  scriptedAcpServer(name, { tools: [{ name: "greet", description: "Greets", reply: { kind: "text", text } }] });

async function failuresOf(words: readonly string[], only: readonly string[], folder: string): Promise<JsonObject> {
  const check = [TENON, "acp-check", "--json", "--timeout", "7", "--only", only.join(","), "--", ...words];
  const { stdout } = await runCommand(agentNode(), check, { env: cleanEnv(folder), cwd: folder });
  const { results }: { results: { id: string; status: string; evidence: string }[] } = JSON.parse(stdout);
  expect(results.map(({ id }) => id).sort()).toEqual([...only].sort());
  return Object.fromEntries(results.flatMap(({ id, status, evidence }) => (status === "pass" ? [] : [[id, evidence]])));
}

/** In groups, side by side: each mostly waits for what must not come. */
const FAILED_BARE = [
  ["leak.close"],
  ["start.hung"],
  ["start.told", "isolation.tools", "isolation.same-name", "env.minimal"],
];
const ALSO_PASSED = [
  ["leak.close-stubborn", "leak.eof", "names.valid"],
  ["leak.sigkill", "start.told-plain", "start.told-missing", "wire.valid"],
];

async function failuresIn(groups: readonly string[][], words: readonly string[], folder: string): Promise<JsonObject> {
  return Object.assign({}, ...(await Promise.all(groups.map((only) => failuresOf(words, only, folder)))));
}

scenario(
  ["V400"],
  "what a careless agent fails by itself it passes behind Tenon",
  async () => {
    using folder = new TemporaryFolder();
    const failed = await failuresIn(FAILED_BARE, bare(), folder.path);
    expect(Object.keys(failed).sort()).toEqual(FAILED_BARE.flat().sort());
    expect(await failuresIn([...FAILED_BARE, ...ALSO_PASSED], behindTenon(), folder.path)).toEqual({});
  },
  { timeoutMs: 120_000 },
);

scenario(["V403"], "an agent that knows stdio alone uses servers of every kind", async () => {
  using folder = new TemporaryFolder();
  const groups = [
    ["connect.stdio", "connect.http", "leak.http"],
    ["connect.sse", "connect.acp", "start.told-http"],
  ];
  expect(await failuresIn(groups, behindTenon(), folder.path)).toEqual({});
});

scenario(
  ["V403"],
  "a server of the modern era only is used, and one that needs a log-in is told with the command",
  async () => {
    await using bench = await ConfigBench.open();
    await using modern = await scriptedHttpServer({ era: "modern", tools: [echoTool("echo")] });
    await using locked = await scriptedHttpServer({ tools: [echoTool("echo")] });
    const www = 'Bearer resource_metadata="http://127.0.0.1:1/none"';
    locked.misbehave({}, { kind: "answer", status: 401, headers: { "www-authenticate": www }, body: "" });
    bench.put("home/config.json", bench.servers({ locked: { type: "http", url: locked.url } }));
    await using client = await wrapped(bench);
    await client.initialize();
    const mcpServers = [{ type: "http" as const, name: "modern", url: modern.url, headers: [] }];
    const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers });
    await client.prompt(sessionId, "call modern_echo hello");
    expect(client.text(sessionId)).toContain("hello");
    const told = await client.waitForUpdate(sessionId, (update) => JSON.stringify(update).includes("tenon mcp login"));
    expect(JSON.stringify(told)).toContain("run tenon mcp login locked in a terminal");
  },
);

scenario(["V401"], "what nobody knows passes in both directions, and two processes may use the same ids", async () => {
  await using bench = await ConfigBench.open();
  await using client = await wrapped(bench, { validate: () => undefined });
  const { agentCapabilities } = await client.initialize();
  expect(agentCapabilities).toMatchObject({ ofAnotherVersion: true, mcpCapabilities: { http: true, acp: true } });
  const odd = { sessionId: 7, nested: [{ deep: { "": null } }], text: "ünïcode \u2028" };
  expect(await client.request("_careless/echo", odd)).toMatchObject({ params: odd });
  await expect(client.request("_nobody/knows", {})).rejects.toMatchObject({ code: -32601, data: { of: "careless" } });
  client.sendLine(JSON.stringify({ jsonrpc: "2.0", method: "_careless/note", params: odd }));
  const noted = await client.nextLine((line) => line.includes("_careless/noted"));
  expect(JSON.parse(noted)).toEqual({ jsonrpc: "2.0", method: "_careless/noted", params: odd });

  const [one, two] = [
    (await client.newSession({ cwd: bench.project })).sessionId,
    (await client.newSession({ cwd: bench.project })).sessionId,
  ];
  const pids = await Promise.all([one, two].map((sessionId) => client.request("_careless/echo", { sessionId })));
  expect(new Set(pids.map((answer) => raw(answer)["pid"])).size).toBe(2);
  client.answerPermissions(({ sessionId }) => (sessionId === one ? "allow" : "cancel"));
  await Promise.all([client.prompt(one, "ask"), client.prompt(two, "ask")]);
  const asked = client.lines.filter(({ text }) => text.includes("session/request_permission"));
  expect(asked.map(({ text }) => raw(raw(JSON.parse(text))["params"])["ofAnotherVersion"])).toEqual([1, 1]);
  expect(client.text(one)).toContain('"optionId":"yes"');
  expect(client.text(two)).toContain('"outcome":"cancelled"');
});

scenario(["V402"], "the user's servers are added, the project's once the person approves them", async () => {
  await using bench = await ConfigBench.open();
  const record = join(bench.root, "record.json");
  const { command, args } = scriptedAcpServer("own", {
    tools: [echoTool("echo"), echoTool("hidden"), echoTool("long")],
    recordFile: record,
  });
  const tools = { long: { name: "short" }, echo: { arguments: { message: "pinned" } } };
  bench.put("home/config.json", bench.servers({ own: { command, args, deny: ["hidden"], tools } }));
  bench.put("project/.mcp.json", bench.servers({ theirs: bench.canary() }));
  await using client = await wrapped(bench, { permissions: "deny" });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers: [greeter("mine", "hello")] });
  await client.prompt(sessionId, "tools");
  const [first] = client.permissionRequests;
  expect(first?.toolCall.title).toBe('Trust the project\'s MCP server "theirs"?');
  expect(bench.deeds).toEqual([]);
  expect(Object.fromEntries(JSON.parse(client.text(sessionId)))).toEqual({
    mine: ["greet"],
    own: ["echo", "short"],
    theirs: [],
  });
  await client.prompt(sessionId, "call own_echo changed");
  expect(readFileSync(record, "utf8")).toMatch(/"message":"pinned"/u);
  expect(readFileSync(record, "utf8")).not.toContain("changed");

  // In the next session it is asked again, and its tools join the same turn.
  client.answerPermissions("always");
  const next = (await client.newSession({ cwd: bench.project })).sessionId;
  await client.prompt(next, "call theirs_greet");
  expect(client.text(next)).toContain("good morning");
  expect(bench.deeds).toContain("started");
});

scenario(["V404"], "a server that crashes is told, started again and used again", async () => {
  await using bench = await ConfigBench.open();
  const shaky = scriptedAcpServer("shaky", {
    tools: [echoTool("echo"), { ...echoTool("crash"), steps: [{ do: "crash", exitCode: 9, stderr: "out of luck" }] }],
  });
  await using client = await wrapped(bench);
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers: [shaky] });
  await client.prompt(sessionId, "call shaky_echo once");
  await client.prompt(sessionId, "call shaky_crash");
  const isTold = (update: object) => JSON.stringify(update).includes("is not connected and is tried again");
  await client.waitForUpdate(sessionId, isTold);
  expect(client.updates(sessionId).some((update) => "status" in update && update.status === "failed")).toBe(true);
  await client.prompt(sessionId, "call shaky_echo twice");
  expect(client.text(sessionId)).toContain("twice");
  expect(await client.request("_tenon/mcp/status", { sessionId })).toMatchObject({
    servers: [{ name: "shaky", state: "ready", restarts: 1 }],
  });
});

scenario(
  ["V405"],
  "a process of the agent that crashes costs its own session, and the last one ends the wrapper",
  async () => {
    await using bench = await ConfigBench.open();
    await using client = await wrapped(bench);
    await client.initialize();
    const open = async (name: string) =>
      (await client.newSession({ cwd: bench.project, mcpServers: [greeter(name, name)] })).sessionId;
    const [one, two] = [await open("first"), await open("second")];
    client.answerPermissions("never");
    const asking = client.prompt(one, "ask").catch((error: unknown) => error);
    await client.waitForPermissionRequest();
    await expect(client.prompt(one, "crash")).rejects.toThrow(/wrapped agent ended with exit code 7/);
    expect(String(await asking)).toContain("wrapped agent ended with exit code 7");
    const isTold = (update: object) => JSON.stringify(update).includes("open it again to go on");
    await client.waitForUpdate(one, isTold);
    expect(client.lines.some(({ text }) => text.includes("$/cancel_request"))).toBe(true);
    await expect(client.prompt(one, "tools")).rejects.toMatchObject({ code: -32002 });
    await client.prompt(two, "call second_greet");
    expect(client.text(two)).toContain("second");
    const { sessionId: three } = await client.newSession({ cwd: bench.project });
    await client.closeSession(three);
    await expect(client.prompt(two, "crash")).rejects.toThrow(/ended with exit code 7/);
    expect(await client.exit).toMatchObject({ code: 7 });
  },
);

scenario(["V406"], "what is no message stops nothing, and an agent that cannot be started is told", async () => {
  await using bench = await ConfigBench.open();
  {
    await using client = await wrapped(bench);
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project });
    await client.prompt(sessionId, "garbage");
    expect(client.stderr()).toContain("a line for people");
    client.sendLine("no message either");
    expect(await client.nextLine((line) => line.includes("-32700"))).toContain("Parse error");
    client.sendLine('{"jsonrpc": "2.0"}');
    expect(await client.nextLine((line) => line.includes("-32600"))).toContain('"id":null');
    await client.prompt(sessionId, "tools");
    expect(client.text(sessionId)).toContain("[]");
  }
  const client = await wrapped(bench, {}, [agentNode(), TENON, "wrap", "--", "/nowhere/no-such-agent"]);
  await expect(client.initialize()).rejects.toThrow(/could not be started: .*ENOENT/);
  expect(await client.exit).toMatchObject({ code: 1 });
  await client[Symbol.asyncDispose]();
  expect(await bench.tenon(["wrap"])).toMatchObject({ code: 2, stdout: "" });
});

/** The command lines of bridges below a wrapper that live now. */
function bridges({ pid = 0 }: AcpClient): readonly string[] {
  return listLiving({ under: pid }).flatMap(({ command }) => (command.includes("--bridge") ? [command] : []));
}

scenario(["V407"], "a bridge needs its token, and ends with its session", async () => {
  await using bench = await ConfigBench.open();
  await using client = await wrapped(bench);
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers: [greeter("mine", "hello")] });
  await client.prompt(sessionId, "call mine_greet");
  const [address = ""] = /\S+wrap\.sock/u.exec(bridges(client).join(" ")) ?? [];
  expect(existsSync(address)).toBe(true);
  for (const token of ["", "guessed"]) {
    const env = cleanEnv(bench.home, { TENON_BRIDGE_TOKEN: token });
    const stranger = spawn(agentNode(), [TENON, "wrap", "--bridge", address], { env, stdio: ["pipe", "pipe", "pipe"] });
    const [code] = await once(stranger, "exit");
    expect(code).toBe(1);
  }
  await client.closeSession(sessionId);
  await expect.poll(() => bridges(client)).toEqual([]);
});

scenario(["V408"], "a prompt can be cancelled while it waits, and fails without a required server", async () => {
  await using bench = await ConfigBench.open();
  bench.put("project/.mcp.json", bench.servers({ theirs: bench.canary() }));
  await using client = await wrapped(bench, { permissions: "wait" });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: bench.project });
  const waiting = client.prompt(sessionId, "crash");
  await client.waitForPermissionRequest();
  await client.cancel(sessionId);
  expect(await waiting).toEqual({ stopReason: "cancelled" });
  const broken = { ...greeter("broken", "never"), command: "/nowhere/server", _meta: { tenon: { required: true } } };
  const { sessionId: lacking } = await client.newSession({ cwd: bench.project, mcpServers: [broken] });
  client.answerPermissions("deny");
  await expect(client.prompt(lacking, "crash")).rejects.toThrow(/"broken" is required and cannot be used/);
  await client.prompt(sessionId, "tools");
  expect(client.text(sessionId)).toContain("theirs");
});

scenario(["V409"], "with --one-process the sessions share the agent, and each has servers of its own", async () => {
  await using bench = await ConfigBench.open();
  await using client = await wrapped(bench, {}, behindTenon("--one-process"));
  await client.initialize();
  const open = async (name: string) =>
    (await client.newSession({ cwd: bench.project, mcpServers: [greeter(name, name)] })).sessionId;
  const [one, two] = [await open("first"), await open("second")];
  const pids = await Promise.all([one, two].map((sessionId) => client.request("_careless/echo", { sessionId })));
  expect(new Set(pids.map((answer) => raw(answer)["pid"])).size).toBe(1);
  await client.prompt(one, "call first_greet");
  await client.closeSession(one);
  await client.prompt(two, "call second_greet");
  expect(client.text(two)).toContain("second");
  await client.prompt(two, "call first_greet");
  expect(client.text(two)).not.toContain("first");
});

scenario(
  ["V410"],
  "a second process is logged in as the first was, and updates wait for the answer that opens their session",
  async () => {
    await using bench = await ConfigBench.open();
    await using client = await wrapped(bench, {}, [...behindTenon(), "login", "early"]);
    await client.initialize();
    await expect(client.newSession({ cwd: bench.project })).rejects.toMatchObject({ code: -32000 });
    await client.request("authenticate", { methodId: "any" });
    const open = async () => (await client.newSession({ cwd: bench.project })).sessionId;
    for (const sessionId of [await open(), await open()]) {
      await client.prompt(sessionId, "tools");
      expect(client.text(sessionId)).toContain("too early");
      const [first] = client.lines.filter(
        ({ text, direction }) => direction === "received" && text.includes(sessionId),
      );
      expect(first?.text).toContain('"result"');
    }
  },
);

scenario(
  ["V410"],
  "a session that only one process knows is forked there, and agents that cannot close sessions can",
  async () => {
    await using bench = await ConfigBench.open();
    await using client = await wrapped(bench, {}, [...behindTenon(), "no-close"]);
    const { agentCapabilities } = await client.initialize();
    expect(agentCapabilities?.sessionCapabilities).toEqual({ close: {} });
    const { sessionId } = await client.newSession({ cwd: bench.project });
    const mcpServers = [greeter("forked", "from a fork")];
    const forked = raw(await client.request("session/fork", { sessionId, cwd: bench.project, mcpServers }));
    const copy = String(forked["sessionId"]);
    await client.prompt(copy, "call forked_greet");
    expect(client.text(copy)).toContain("from a fork");
    await client.closeSession(copy);
    await expect(client.prompt(copy, "tools")).rejects.toMatchObject({ code: -32002 });
    await client.prompt(sessionId, "tools");
    await client.closeSession(sessionId);
    await expect.poll(() => bridges(client)).toEqual([]);
  },
);

scenario(["V411"], "a process of the agent says and asks nothing in the name of another one's session", async () => {
  await using bench = await ConfigBench.open();
  await using client = await wrapped(bench, { permissions: "allow" });
  await client.initialize();
  const open = async () => (await client.newSession({ cwd: bench.project })).sessionId;
  const [one, two] = [await open(), await open()];
  await client.prompt(two, `forge ${one}`);
  expect(client.text(one)).toBe("");
  expect(client.text(two)).toContain("another process has it");
  expect(client.permissionRequests).toEqual([]);
});

scenario(
  ["V411"],
  "two processes that give their sessions the same id are kept apart: the second is refused",
  async () => {
    await using bench = await ConfigBench.open();
    {
      await using client = await wrapped(bench, {}, [...behindTenon(), "counts"]);
      await client.initialize();
      const mcpServers = [greeter("mine", "hello")];
      const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers });
      const agents = () =>
        listLiving({ under: client.pid ?? 0 }).filter(
          ({ command }) => command.includes("careless.mjs") && !command.includes(" wrap "),
        );
      await expect(client.newSession({ cwd: bench.project })).rejects.toThrow(/a session of the same id/u);
      await client.prompt(sessionId, "call mine_greet");
      expect(client.text(sessionId)).toContain("hello");
      await expect.poll(() => agents().length).toBe(1);
    }
    await using client = await wrapped(bench, {}, [...behindTenon("--one-process"), "counts"]);
    await client.initialize();
    const open = async () => (await client.newSession({ cwd: bench.project })).sessionId;
    expect([await open(), await open()]).toEqual(["careless-1", "careless-2"]);
  },
);
