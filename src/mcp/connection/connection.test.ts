// Supervision of one server: it comes back when it breaks, gives up when that is no use, and every call has one outcome.
import { expect, test } from "vitest";
import { LIMITS } from "../../base/limits.js";
import {
  type Behaviour,
  echoTool,
  type FakeWorld,
  fakeWorld,
  type SpawnScript,
  spawnsServer,
} from "../../testing/index.js";
import { MCP_LIMITS } from "../limits.js";
import type { CallOutcome } from "../protocol/call.js";
import type { StdioSpec } from "../spec.js";
import type { CachedTools, ServerCache } from "./cache.js";
import { McpConnection } from "./connection.js";
import type { ConnectionOptions } from "./options.js";

const spec: StdioSpec = { kind: "stdio", name: "s", command: "/bin/server", args: [], env: {} };
const never = new AbortController().signal;

function connect(world: FakeWorld, options: Partial<ConnectionOptions> = {}): McpConnection {
  const connection = new McpConnection(spec, {
    world,
    cwd: "/project",
    client: { name: "t", version: "1" },
    ...options,
  });
  connection.start();
  return connection;
}

/** One behaviour per life of the server; the last one stays. */
function lives(...behaviours: Behaviour[]): { spawn: SpawnScript; spawned: () => number } {
  let count = 0;
  const spawn: SpawnScript = (...args) => {
    const behaviour = behaviours[Math.min(count, behaviours.length - 1)] ?? {};
    count++;
    return spawnsServer(behaviour)(...args);
  };
  return { spawn, spawned: () => count };
}

/** What one session wrote, the next one reads. */
function rememberedTools(): ServerCache {
  const known = new Map<string, CachedTools>();
  return {
    readEra: async () => undefined,
    writeEra: async () => {},
    readTools: async (fingerprint) => known.get(fingerprint),
    writeTools: async (fingerprint, tools) => {
      known.set(fingerprint, tools);
    },
  };
}

const call = (connection: McpConnection, tool = "echo", signal = never) =>
  connection.call(tool, { text: "hi" }, { signal, onProgress: () => {} });

async function close(world: FakeWorld, connection: McpConnection): Promise<void> {
  const closing = connection.close();
  await world.advance(10_000);
  await closing;
  expect(connection.state.value.kind).toBe("closed");
  expect(world.clock.pendingTimers).toBe(0);
}

const deaf = (name: string): Behaviour => ({ tools: [{ name, steps: [{ do: "never" }], reply: { kind: "echo" } }] });
const good: Behaviour = { tools: [echoTool()] };
const fragile: Behaviour = {
  tools: [
    echoTool(),
    { name: "die", steps: [{ do: "crash", exitCode: 7, stderr: "out of memory" }], reply: { kind: "echo" } },
  ],
};

test("a server is spawned once, is ready with its tools, and answers", async () => {
  const { spawn, spawned } = lives(good);
  const world = fakeWorld({ spawn });
  const connection = connect(world);
  await world.advance(100);
  expect(connection.state.value).toMatchObject({ kind: "ready", agreement: { era: "legacy" } });
  expect(connection.tools.value.map((tool) => tool.name)).toEqual(["echo"]);
  expect(await call(connection)).toMatchObject({ kind: "answered", isError: false });
  expect(spawned()).toBe(1);
  await close(world, connection);
});

test("a call made while the server is still connecting waits for it", async () => {
  const world = fakeWorld({ spawn: lives({ ...good, steps: { initialize: [{ do: "delay", ms: 3_000 }] } }).spawn });
  const connection = connect(world);
  const outcome = call(connection);
  await world.advance(20_000);
  expect(await outcome).toMatchObject({ kind: "answered" });
  await close(world, connection);
});

test("a crash fails only the call in flight, as unknown; the server is restarted and answers again", async () => {
  const { spawn, spawned } = lives(fragile, good);
  const world = fakeWorld({ spawn });
  const connection = connect(world);
  await world.advance(100);
  const lost = call(connection, "die");
  await world.advance(MCP_LIMITS.lastWordsMs + 10);
  const outcome = await lost;
  expect(outcome).toMatchObject({ kind: "unknown" });
  expect(JSON.stringify(outcome)).not.toContain('"answered"');
  expect(connection.state.value).toMatchObject({ kind: "waiting" });
  expect(connection.tools.value).toHaveLength(2); // they stay listed
  const meanwhile = call(connection); // waits for the restart
  await world.advance(MCP_LIMITS.reconnect.maxMs);
  expect(await meanwhile).toMatchObject({ kind: "answered" });
  expect(connection.state.value.kind).toBe("ready");
  expect(connection.lastError?.message).toContain("out of memory");
  expect(spawned()).toBe(2);
  await close(world, connection);
});

test("a call waits for a restart up to its bound, and no longer than its own limit; then it fails with the cause", async () => {
  const hung: Behaviour = { steps: { start: [{ do: "never" }] } };
  for (const [timeoutMs, waitMs] of [
    [60_000, MCP_LIMITS.restartWaitMs],
    [3_000, 3_000],
  ] as const) {
    const world = fakeWorld({ spawn: lives(fragile, hung).spawn });
    const connection = connect(world, { tools: { echo: { timeoutMs } } });
    await world.advance(100);
    const lost = call(connection, "die");
    await world.advance(MCP_LIMITS.lastWordsMs + 10);
    expect((await lost).kind).toBe("unknown");
    let ended: CallOutcome | undefined;
    const calling = call(connection).then((outcome) => {
      ended = outcome;
    });
    await world.advance(waitMs - 1);
    expect(ended).toBeUndefined();
    await world.advance(2);
    await calling;
    const message = expect.stringContaining(`was not ready within ${waitMs / 1_000} s`);
    expect(ended).toMatchObject({ kind: "failed", error: { code: "mcp.not_ready", message } });
    await close(world, connection);
  }
});

test("a call that is answered resets the backoff: the next break is the first one", async () => {
  const { spawn, spawned } = lives(fragile);
  const world = fakeWorld({ spawn });
  const connection = connect(world);
  await world.advance(100);
  for (let crash = 1; crash <= MCP_LIMITS.reconnectAttempts * 3; crash++) {
    expect((await call(connection)).kind).toBe("answered");
    const lost = call(connection, "die");
    await world.advance(MCP_LIMITS.lastWordsMs + 10);
    expect((await lost).kind).toBe("unknown");
    await world.advance(100); // without delay
    expect(connection.state.value.kind).toBe("ready");
    expect(spawned()).toBe(crash + 1);
  }
  await close(world, connection);
});

test("a server that never starts is told at once with its stderr, and a restart tries anew", async () => {
  const broken: Behaviour = { steps: { start: [{ do: "crash", exitCode: 3, stderr: "no such database" }] } };
  const { spawn, spawned } = lives(broken, broken, good);
  const world = fakeWorld({ spawn });
  const connection = connect(world);
  await world.advance(MCP_LIMITS.lastWordsMs * 4);
  expect(connection.state.value).toMatchObject({
    kind: "failed",
    cause: { message: expect.stringContaining("no such database") },
  });
  const before = spawned();
  await world.advance(600_000);
  expect(spawned()).toBe(before);
  connection.restart();
  await world.advance(1_000);
  expect(connection.state.value.kind).toBe("ready");
  await close(world, connection);
});

test("a server that starts and does not list its tools is told with its stderr", async () => {
  const unlisted: Behaviour = {
    tools: [echoTool()],
    steps: { "tools/list": [{ do: "stderr", text: "no such table" }, { do: "never" }] },
  };
  const world = fakeWorld({ spawn: lives(unlisted).spawn });
  const connection = connect(world, { limits: { connectTimeoutMs: 5_000 } });
  await world.advance(20_000);
  expect(connection.state.value).toMatchObject({
    kind: "failed",
    cause: { code: "mcp.connect_timeout", message: expect.stringMatching(/tools were not listed.*no such table/) },
  });
  await close(world, connection);
});

test("a server that keeps crashing is given up after a bounded number of attempts", async () => {
  const { spawn, spawned } = lives(fragile, { steps: { start: [{ do: "crash", exitCode: 1 }] } });
  const world = fakeWorld({ spawn });
  const connection = connect(world);
  await world.advance(100);
  const lost = call(connection, "die");
  await world.advance(600_000);
  await lost;
  expect(connection.state.value.kind).toBe("failed");
  expect(spawned()).toBeLessThanOrEqual(1 + 2 * MCP_LIMITS.reconnectAttempts); // a probe that ends the process costs a second start
  await close(world, connection);
});

test("a hung server is ended at its deadline, and nothing waits for it", async () => {
  const world = fakeWorld({ spawn: lives({ steps: { initialize: [{ do: "never" }] } }).spawn });
  const connection = connect(world, { limits: { connectTimeoutMs: 5_000 } });
  await world.advance(20_000);
  expect(connection.state.value).toMatchObject({ kind: "failed", cause: { code: "mcp.connect_timeout" } });
  await close(world, connection);
});

test("a tool the user calls idempotent is sent once more after a crash; any other is not", async () => {
  const reborn: Behaviour = { tools: [{ name: "die", reply: { kind: "text", text: "second life" } }] };
  const world = fakeWorld({ spawn: lives(fragile, reborn).spawn });
  const again = connect(world, { tools: { die: { isIdempotent: true } } });
  await world.advance(100);
  const outcome = call(again, "die");
  await world.advance(60_000);
  expect(JSON.stringify(await outcome)).toContain("second life");
  await close(world, again);
});

test("a call that is made again has the time that is left of its limit, not the whole of it once more", async () => {
  const slow: Behaviour = { steps: { initialize: [{ do: "delay", ms: 3_000 }] }, ...deaf("die") };
  const world = fakeWorld({ spawn: lives(fragile, slow).spawn });
  const connection = connect(world, { tools: { die: { isIdempotent: true, timeoutMs: 8_000 } } });
  await world.advance(100);
  const outcomes: CallOutcome[] = [];
  const ended = call(connection, "die").then((outcome) => outcomes.push(outcome));
  await world.advance(7_900);
  expect(outcomes).toEqual([]);
  await world.advance(200);
  expect(outcomes).toMatchObject([{ kind: "unknown" }]);
  await ended;
  await close(world, connection);
});

test("an idempotent tool that is silent ends at its own deadline: nothing is waited for after it", async () => {
  const mute: Behaviour = { tools: [{ name: "mute", steps: [{ do: "never" }], reply: { kind: "echo" } }] };
  const world = fakeWorld({ spawn: lives(mute).spawn });
  const connection = connect(world, { tools: { mute: { isIdempotent: true, timeoutMs: 2_000 } } });
  await world.advance(100);
  const outcomes: CallOutcome[] = [];
  const ended = call(connection, "mute").then((outcome) => outcomes.push(outcome));
  await world.advance(2_000);
  expect(outcomes).toMatchObject([{ kind: "unknown", error: { code: "mcp.call_timeout" } }]);
  await ended;
  await close(world, connection);
});

test("closing in any state ends the process and every call", async () => {
  for (const behaviour of [
    good,
    { steps: { initialize: [{ do: "never" }] } },
    { steps: { start: [{ do: "crash" }] } },
  ] satisfies Behaviour[]) {
    for (const afterMs of [0, 1, 100, 700]) {
      const world = fakeWorld({ spawn: lives(behaviour).spawn });
      const connection = connect(world);
      const outcome = call(connection);
      await world.advance(afterMs);
      await close(world, connection);
      expect(["answered", "failed", "cancelled", "unknown"]).toContain((await outcome).kind);
    }
  }
});

function restful(world: FakeWorld, cache: ServerCache): McpConnection {
  const connection = new McpConnection(spec, { world, cwd: "/project", client: { name: "t", version: "1" }, cache });
  connection.startWhenUsed();
  return connection;
}

/** A cache that knows the server, as it is after one session with it. */
async function knowing(behaviour: Behaviour): Promise<ServerCache> {
  const cache = rememberedTools();
  const world = fakeWorld({ spawn: lives(behaviour).spawn });
  const connection = connect(world, { cache });
  await world.advance(100);
  await close(world, connection);
  return cache;
}

test("a server that is started when used starts at once while its tools are not known", async () => {
  const { spawn, spawned } = lives(good);
  const world = fakeWorld({ spawn });
  const cache = rememberedTools();
  const failing: ServerCache = { ...cache, readTools: () => Promise.reject(new Error("disk is gone")) };
  for (const known of [cache, failing]) {
    const before = spawned();
    const connection = restful(world, known);
    await world.advance(100);
    expect(connection.state.value.kind).toBe("ready");
    expect(spawned()).toBe(before + 1);
    await close(world, connection);
  }
});

test("what is remembered of a server that does not become ready is forgotten, and not when it is only closed early", async () => {
  const cache = await knowing(good);
  const remembered = async () => {
    const world = fakeWorld({ spawn: lives({ steps: { initialize: [{ do: "never" }] } }).spawn });
    const connection = connect(world, { cache });
    await world.advance(100);
    const names = connection.tools.value.map((tool) => tool.name);
    return { world, connection, names };
  };
  const early = await remembered();
  await close(early.world, early.connection);
  const hung = await remembered();
  expect(hung.names).toEqual(["echo"]);
  await hung.world.advance(LIMITS.connectTimeoutMs + 10_000);
  expect(hung.connection.state.value.kind).toBe("failed");
  await close(hung.world, hung.connection);
  const next = await remembered();
  expect(next.names).toEqual([]);
  await close(next.world, next.connection);
});

test("a server whose tools are known rests with them, and the first calls start it once and are answered", async () => {
  const cache = await knowing(good);
  const { spawn, spawned } = lives({ ...good, steps: { initialize: [{ do: "delay", ms: 3_000 }] } });
  const world = fakeWorld({ spawn });
  const connection = restful(world, cache);
  await world.advance(600_000);
  expect(connection.state.value).toEqual({ kind: "resting" });
  expect(connection.tools.value.map((tool) => tool.name)).toEqual(["echo"]);
  expect(spawned()).toBe(0);
  const outcomes = Promise.all([call(connection), call(connection)]);
  await world.advance(10_000);
  expect(await outcomes).toMatchObject([{ kind: "answered" }, { kind: "answered" }]);
  expect(spawned()).toBe(1);
  expect(await call(connection)).toMatchObject({ kind: "answered" });
  expect(spawned()).toBe(1);
  await close(world, connection);
});

test("a call that comes before the cache is read starts the server all the same", async () => {
  const cache = await knowing(good);
  const { spawn, spawned } = lives(good);
  const world = fakeWorld({ spawn });
  const connection = restful(world, cache);
  expect(connection.state.value.kind).toBe("idle");
  const outcome = call(connection);
  await world.advance(1_000);
  expect(await outcome).toMatchObject({ kind: "answered" });
  expect(spawned()).toBe(1);
  await close(world, connection);
});

test("the first call of a server that hangs ends with the deadline of its connection, and says why", async () => {
  const cache = await knowing(good);
  const world = fakeWorld({ spawn: lives({ steps: { initialize: [{ do: "never" }] } }).spawn });
  const connection = restful(world, cache);
  await world.advance(100);
  const outcome = call(connection);
  await world.advance(LIMITS.connectTimeoutMs + LIMITS.probeTimeoutMs + 10_000);
  expect(await outcome).toMatchObject({ kind: "failed", error: { code: "mcp.not_ready" } });
  await close(world, connection);
});

test("a server that rests closes without ever having been started, and a call then is told so", async () => {
  const cache = await knowing(good);
  const { spawn, spawned } = lives(good);
  const world = fakeWorld({ spawn });
  const connection = restful(world, cache);
  await world.advance(100);
  await close(world, connection);
  expect(await call(connection)).toMatchObject({ kind: "failed" });
  const unread = restful(world, cache);
  await close(world, unread);
  expect(spawned()).toBe(0);
});

test("calls that waited for a restart count for the minute in which they were let in", async () => {
  const slow: Behaviour = { ...good, steps: { initialize: [{ do: "delay", ms: 8_000 }] } };
  const world = fakeWorld({ spawn: lives(fragile, slow).spawn });
  const connection = connect(world, { limits: { callsPerMinute: 5, limitWaitMs: 1_000 } });
  connection.start();
  await world.advance(100);
  const lost = call(connection, "die");
  await world.advance(1_100);
  await lost;
  const askedMs = world.monotonicMs();
  const waiting = Promise.all([call(connection), call(connection), call(connection)]);
  await world.advance(12_000);
  expect((await waiting).map(({ kind }) => kind)).toEqual(["answered", "answered", "answered"]);
  await world.advance(askedMs + 60_050 - world.monotonicMs());
  const more = Promise.all([1, 2, 3, 4, 5].map(() => call(connection)));
  await world.advance(2_000);
  expect((await more).filter(({ kind }) => kind === "answered")).toHaveLength(2);
  await close(world, connection);
});

test("a call that cannot be written down rejects, and leaves its place to the next one", async () => {
  const world = fakeWorld({ spawn: lives(good).spawn });
  const connection = connect(world, { limits: { callsAtOnce: 1, limitWaitMs: 1_000 } });
  connection.start();
  await world.advance(100);
  const endless = JSON.parse("{}");
  endless.self = endless;
  const options = { signal: never, onProgress: () => {} };
  await expect(connection.call("echo", endless, options)).rejects.toThrow("circular");
  expect(await call(connection)).toMatchObject({ kind: "answered", isError: false });
  await close(world, connection);
});
