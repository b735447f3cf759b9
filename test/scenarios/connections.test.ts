// A connection to a local server: its states, its limits, its environment, its memory, what it answers and what it asks.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import {
  type ConnectionOptions,
  type ConnectionState,
  diskCache,
  launchFingerprint,
  McpConnection,
  type ServerSpec,
  sharingKey,
} from "../../src/mcp/index.js";
import { type Behaviour, echoTool, scriptedAcpServer, scriptedServer } from "../../src/testing/index.js";
import { nodeWorld, stderrLog } from "../../src/world/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { callOptions, connected, unending } from "./real-server.js";
import { scenario } from "./scenario.js";

const world = nodeWorld({ log: stderrLog("error") });

function specOf(behaviour: Behaviour): ServerSpec {
  return { kind: "stdio", name: "local", ...scriptedServer(behaviour) };
}

function idle(behaviour: Behaviour, cwd: string, options: Partial<ConnectionOptions> = {}): McpConnection {
  return new McpConnection(specOf(behaviour), { world, cwd, client: { name: "scenario", version: "1" }, ...options });
}

const reaches = (connection: McpConnection, kind: ConnectionState["kind"]) =>
  connection.state.until((state) => state.kind === kind, unending());

/** What a server that records found in its input: the methods of messages. */
function received(recordFile: string): string[] {
  if (!existsSync(recordFile)) return [];
  return readFileSync(recordFile, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): { received?: { method?: string } } => JSON.parse(line))
    .flatMap(({ received: message }) => message?.method ?? []);
}

scenario(
  ["M2", "D8", "E3", "E1"],
  "a crash is a state with a cause, the tools stay, and the server comes back",
  async () => {
    using folder = new TemporaryFolder();
    const crash = { do: "crash", exitCode: 3, stderr: "out of luck" } as const;
    const behaviour: Behaviour = { tools: [echoTool(), { name: "die", steps: [crash], reply: { kind: "echo" } }] };
    const connection = idle(behaviour, folder.path);
    const kinds: string[] = [connection.state.value.kind];
    connection.state.subscribe(() => kinds.push(connection.state.value.kind));
    connection.start();
    connection.start(); // twice is once
    expect((await connection.call("echo", { text: "early" }, callOptions())).kind).toBe("answered");

    const died = await connection.call("die", {}, callOptions());
    expect(died).toMatchObject({ kind: "unknown", error: { code: "mcp.connection_lost" } });
    const waiting = await reaches(connection, "waiting");
    expect(waiting).toMatchObject({ cause: { message: expect.stringContaining("out of luck") } });
    expect(connection.tools.value.map(({ name }) => name)).toEqual(["echo", "die"]);
    const meanwhile = await connection.call("echo", { text: "meanwhile" }, callOptions());
    expect(meanwhile.kind).toBe("answered"); // it waited for the restart
    expect((await connection.call("echo", { text: "back" }, callOptions())).kind).toBe("answered");
    expect(connection.lastError?.message).toContain("out of luck");

    await Promise.all([connection.close(), connection.close(), connection.closed]);
    expect(connection.signal.aborted).toBe(true);
    connection.start();
    connection.restart();
    expect(await connection.call("echo", { text: "late" }, callOptions())).toMatchObject({ kind: "failed" });
    expect(kinds).toEqual(["idle", "connecting", "ready", "waiting", "connecting", "ready", "closing", "closed"]);
  },
);

scenario(["E3"], "a broken server is told as broken at once, however long its remains take to end", async () => {
  using folder = new TemporaryFolder();
  const steps = [
    { do: "spawn_children", count: 1, ignoresSigterm: true },
    { do: "crash", exitCode: 3 },
  ] as const;
  const spec = specOf({ tools: [echoTool(), { name: "die", steps, reply: { kind: "echo" } }] });
  await using connection = await connected(spec, folder.path);
  const died = connection.call("die", {}, callOptions());
  await reaches(connection, "waiting");
  const told = performance.now();
  expect((await died).kind).toBe("unknown");
  connection.restart(); // heard although its remains are still being taken down: they get their time, then it starts
  expect((await connection.call("echo", { text: "again" }, callOptions())).kind).toBe("answered");
  expect(performance.now() - told).toBeGreaterThan(1_000);
});

scenario(["M2", "M4"], "a server that fails to start says why, with the end of its stderr", async () => {
  using folder = new TemporaryFolder();
  const crash = { do: "crash", exitCode: 4, stderr: "no database at port 5432" } as const;
  await using connection = idle({ steps: { start: [crash] } }, folder.path);
  connection.start();
  const failed = await reaches(connection, "failed");
  expect(failed).toMatchObject({ cause: { message: expect.stringMatching(/4.*no database at port 5432/s) } });
  expect(await connection.call("echo", {}, callOptions())).toMatchObject({
    kind: "failed",
    error: { message: expect.stringContaining("no database at port 5432") },
  });
});

scenario(["M2"], "what the editor is told of a server has its name, version, era, tools and timing", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const server = scriptedAcpServer("shop", { serverVersion: "7.1", era: "modern", tools: [echoTool()] });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
  await client.prompt(sessionId, "please echo hello");
  expect(await client.request("_tenon/mcp/status", { sessionId })).toMatchObject({
    servers: [
      {
        name: "shop",
        state: "ready",
        server: { name: "scripted", version: "7.1" },
        era: "modern",
        toolCount: 1,
        connectMs: expect.any(Number),
      },
    ],
  });
});

scenario(["E2", "M7"], "connecting, probing, calling and closing each have a limit that can be set", async () => {
  using folder = new TemporaryFolder();
  await using silent = idle({ steps: { initialize: [{ do: "never" }] } }, folder.path, {
    limits: { connectTimeoutMs: 700 },
  });
  silent.start();
  expect(await reaches(silent, "failed")).toMatchObject({ cause: { code: "mcp.connect_timeout" } });

  const slow = (name: string) => ({ name, steps: [{ do: "never" } as const], reply: { kind: "echo" } as const });
  const stubborn = { ignoresEof: true, ignoresSigterm: true } as const;
  const limits = { callTimeoutMs: 60_000, probeTimeoutMs: 200 };
  const probeless: Behaviour = { ...stubborn, steps: { "server/discover": [{ do: "never" }] }, tools: [slow("quick")] };
  const connection = await connected(specOf(probeless), folder.path, { limits, tools: { quick: { timeoutMs: 150 } } });
  const before = performance.now();
  expect(await connection.call("quick", {}, callOptions())).toMatchObject({
    kind: "unknown",
    error: { code: "mcp.call_timeout" },
  });
  await connection.close({ stdinMs: 100, terminateMs: 100 });
  expect(performance.now() - before).toBeLessThan(5_000);
});

scenario(["M7"], "progress extends a call up to its cap, and cancelling tells the server", async () => {
  using folder = new TemporaryFolder();
  const recordFile = join(folder.path, "record");
  const ticks = Array.from({ length: 200 }, (_, n) => [
    { do: "progress", progress: n } as const,
    { do: "delay", ms: 100 } as const,
  ]).flat();
  const behaviour: Behaviour = {
    recordFile,
    tools: [
      { name: "steady", steps: ticks.slice(0, 10), reply: { kind: "text", text: "done" } },
      { name: "endless", steps: ticks, reply: { kind: "echo" } },
    ],
  };
  const limits = { callTimeoutMs: 400, callMaxMs: 1_500 };
  await using connection = await connected(specOf(behaviour), folder.path, { limits });
  expect((await connection.call("steady", {}, callOptions())).kind).toBe("answered"); // 500 ms in all
  const capped = await connection.call("endless", {}, callOptions());
  expect(capped).toMatchObject({
    kind: "unknown",
    error: { message: expect.stringContaining("most a call may take") },
  });

  const controller = new AbortController();
  const options = callOptions({ signal: controller.signal, onProgress: () => controller.abort() });
  expect(await connection.call("endless", {}, options)).toEqual({ kind: "cancelled" });
  await expect.poll(() => received(recordFile).filter((method) => method === "notifications/cancelled").length).toBe(2);
});

scenario(["E7", "M7"], "calls over the limit wait a little, then fail and say so", async () => {
  using folder = new TemporaryFolder();
  const recordFile = join(folder.path, "record");
  const limits = { callsPerMinute: 2, limitWaitMs: 100 };
  await using connection = await connected(specOf({ recordFile, tools: [echoTool()] }), folder.path, { limits });
  const calls = ["one", "two", "three"].map((text) => connection.call("echo", { text }, callOptions()));
  const outcomes = await Promise.all(calls);
  expect(outcomes.map(({ kind }) => kind)).toEqual(["answered", "answered", "failed"]);
  expect(outcomes[2]).toMatchObject({
    error: { code: "mcp.rate_limited", message: expect.stringContaining("retry in") },
  });
  expect(received(recordFile).filter((method) => method === "tools/call")).toHaveLength(2);
});

scenario(["M7"], "a call whose outcome is unknown is made again only when the user said it does no harm", async () => {
  using folder = new TemporaryFolder();
  const once = (name: string) => ({
    name,
    steps: [{ do: "crash", onceFile: join(folder.path, name) } as const],
    reply: { kind: "text", text: "done" } as const,
  });
  const spec = specOf({ tools: [once("read"), once("write")] });
  await using connection = await connected(spec, folder.path, { tools: { read: { isIdempotent: true } } });
  expect(await connection.call("read", {}, callOptions())).toMatchObject({ kind: "answered" });
  expect(await connection.call("write", {}, callOptions())).toMatchObject({
    kind: "unknown",
    error: { message: expect.stringContaining("unknown") },
  });
});

scenario(
  ["E5", "M4"],
  "a server gets a minimal environment and what its entry names, no secret of the host",
  async () => {
    using home = new TemporaryFolder();
    const secrets = {
      AWS_SECRET_ACCESS_KEY: "x",
      GITHUB_TOKEN: "x",
      NODE_OPTIONS: "",
      OPENAI_BASE_URL: "x",
      MY_OWN: "x",
    };
    const certificates = { NODE_EXTRA_CA_CERTS: join(home.path, "ca.pem"), SSL_CERT_DIR: home.path };
    writeFileSync(certificates.NODE_EXTRA_CA_CERTS, "");
    await using client = await startTenon(home, { env: { ...secrets, ...certificates } });
    await client.initialize();
    const tools = [{ name: "variables", description: "Names its variables", reply: { kind: "env" } as const }];
    const server = scriptedAcpServer("nosy", { tools }, { env: { GIVEN: "yes" } });
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
    await client.prompt(sessionId, "variables");
    const told = JSON.stringify(client.updates(sessionId));
    for (const name of ["GIVEN", "PATH", "HOME", ...Object.keys(certificates)]) expect(told).toContain(name);
    for (const name of [...Object.keys(secrets), "TENON_HOME"]) expect(told).not.toContain(name);
  },
);

scenario(
  ["E12", "M6", "M3"],
  "a warm start has the tools before the server has started; the live list replaces them",
  async () => {
    using folder = new TemporaryFolder();
    const recordFile = join(folder.path, "record");
    const spec = specOf({ recordFile, tools: [echoTool("old")] });
    const cache = diskCache({ world, dir: join(folder.path, "cache") });
    const first = await connected(spec, folder.path, { cache });
    await first.close();
    expect(received(recordFile)).toContain("server/discover");

    const again = new McpConnection(spec, {
      world,
      cwd: folder.path,
      client: { name: "scenario", version: "1" },
      cache,
    });
    again.start();
    const cached = await again.tools.until((tools) => tools.length > 0, unending());
    expect(cached.map(({ name }) => name)).toEqual(["old"]);
    expect(again.state.value.kind).toBe("connecting");
    await reaches(again, "ready");
    await again.close();
    // The verdict on its era was kept as well: it was not asked again.
    expect(received(recordFile).filter((method) => method === "server/discover")).toHaveLength(1);
    expect(readFileSync(recordFile, "utf8").match(/"initialize"/g)).toHaveLength(2);
  },
);

scenario(["E4", "M6"], "a list that changes during a turn is used by the next model call", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const fresh = { name: "fresh", description: "Newly there", reply: { kind: "text", text: "fresh indeed" } } as const;
  const grow = {
    name: "grow",
    description: "Grows",
    steps: [{ do: "set_tools", tools: [fresh] } as const, { do: "list_changed", count: 50 } as const],
    reply: { kind: "text", text: "grown" } as const,
  };
  const server = scriptedAcpServer("garden", { tools: [grow] });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
  await client.prompt(sessionId, "grow");
  await expect
    .poll(async () => JSON.stringify(await client.request("_tenon/mcp/status", { sessionId })), { timeout: 10_000 })
    .toContain("mcp__garden__fresh");
  await client.prompt(sessionId, "fresh");
  expect(client.text(sessionId)).toContain("fresh indeed");
});

scenario(["M8"], "a question that nobody can answer is declined at once", async () => {
  using folder = new TemporaryFolder();
  const ask = (name: string, method: string, params = {}) => ({
    name,
    reply: { kind: "ask_client", method, params } as const,
  });
  const form = { message: "Name?", requestedSchema: { type: "object", properties: {} } };
  const tools = [
    ask("elicit", "elicitation/create", form),
    ask("sample", "sampling/createMessage", { messages: [], maxTokens: 1 }),
    ask("roots", "roots/list"),
    ask("strange", "tenon/unheard-of"),
  ];
  await using connection = await connected(specOf({ tools }), folder.path);
  for (const { name } of tools) {
    const before = performance.now();
    const outcome = await connection.call(name, {}, callOptions());
    expect(JSON.stringify(outcome), name).toMatch(/-32601|decline|-32602|-1/);
    expect(performance.now() - before, name).toBeLessThan(2_000);
  }
});

scenario(
  ["M3"],
  "the era is found out in place, by one process, whether the server answers the probe or not",
  async () => {
    using folder = new TemporaryFolder();
    const eras = [
      { era: "legacy", agreed: "legacy" },
      { era: "modern", agreed: "modern" },
      { era: "dual", agreed: "modern" },
    ] as const;
    for (const { era, agreed } of eras) {
      const tools = [{ name: "pid", reply: { kind: "pid" } as const }];
      const recordFile = join(folder.path, `record-${era}`);
      const behaviour: Behaviour = { era, recordFile, tools };
      await using connection = await connected(specOf(behaviour), folder.path);
      expect(connection.state.value, era).toMatchObject({ agreement: { era: agreed } });
      expect((await connection.call("pid", {}, callOptions())).kind, era).toBe("answered");
      expect(readFileSync(recordFile, "utf8").match(/"server\/discover"/g), era).toHaveLength(1);
    }
  },
);

scenario(["M1"], "a fingerprint covers all that decides what is run", async () => {
  const spec = {
    kind: "stdio",
    name: "a",
    command: "server",
    args: ["--fast"],
    env: { MODE: "x" },
    cwd: "/srv",
  } as const;
  const others: ServerSpec[] = [
    { ...spec, command: "other" },
    { ...spec, args: [] },
    { ...spec, args: ["--fast", ""] },
    { ...spec, env: { MODE: "x", MORE: "y" } },
    { kind: "http", name: "a", url: "https://example.com/mcp", headers: {} },
    { kind: "sse", name: "a", url: "https://example.com/mcp", headers: {} },
    { kind: "http", name: "a", url: "https://example.com/mcp", headers: { "x-tenant": "1" } },
  ];
  const prints = [spec, ...others].map((one) => launchFingerprint(one));
  expect(new Set(prints).size).toBe(prints.length);
  // Secrets and the directory are no part of it, but of what decides whether a connection may be shared.
  const secret = { ...spec, env: { MODE: "y" }, cwd: "/elsewhere" };
  expect(launchFingerprint(secret)).toBe(launchFingerprint(spec));
  const options = { world, cwd: "/srv", client: { name: "t", version: "1" } };
  expect(sharingKey(secret, options)).not.toBe(sharingKey(spec, options));
});
