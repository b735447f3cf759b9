// The set of a session's servers: replaced without touching what stays, waited for as long as each is worth.
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { LIMITS } from "../../base/limits.js";
import { diskCache, type StdioSpec } from "../../mcp/index.js";
import { type Behaviour, echoTool, type FakeWorld, fakeWorld, spawnsServer } from "../../testing/index.js";
import type { ServerStatus } from "../events.js";
import { SESSION_LIMITS } from "../limits.js";
import type { RejectedServer } from "../options.js";
import type { WantedServer } from "./entry.js";
import { SessionServers } from "./servers.js";

function setUp(behaviour: Behaviour = { tools: [echoTool()] }, before?: FakeWorld) {
  const world = before ?? fakeWorld({ spawn: spawnsServer(behaviour) });
  const cache = diskCache({ world, dir: "/cache" });
  const told: ServerStatus[] = [];
  const client = { name: "t", version: "1" };
  const onStatus = (status: ServerStatus) => told.push(status);
  const servers = new SessionServers({ world, cwd: "/project", client, cache, isConfigured: true, onStatus });
  const close = async () => {
    const closing = servers.close(LIMITS.exitGrace);
    await world.advance(10_000);
    await closing;
  };
  return { world, servers, told, close };
}

function wanted(name: string, more: Partial<WantedServer> & { args?: string[] } = {}): WantedServer {
  const { args = [], ...rest } = more;
  const spec: StdioSpec = { kind: "stdio", name, command: "/bin/server", args, env: {} };
  return { spec, origin: "user", ...rest };
}

function replace(
  servers: SessionServers,
  wanted: readonly WantedServer[],
  rejected: readonly RejectedServer[] = [],
): void {
  servers.configure({ wanted, rejected, absent: [] });
}

test("what stays the same stays connected; what is changed, new or gone is started or ended", async () => {
  const { world, servers, told, close } = setUp();
  replace(servers, [wanted("a"), wanted("b")]);
  await world.advance(100);
  expect(world.children).toHaveLength(2);
  replace(servers, [wanted("a"), wanted("b", { args: ["--other"] }), wanted("c")]);
  await world.advance(10_000);
  expect(world.children).toHaveLength(4);
  expect(world.children.map((child) => child.isGroupAlive())).toEqual([true, false, true, true]);
  expect(servers.statuses.map(({ name, state }) => [name, state])).toEqual([
    ["a", "ready"],
    ["b", "ready"],
    ["c", "ready"],
  ]);
  expect(told.filter(({ state }) => state === "closed").map(({ name }) => name)).toEqual(["b"]);
  await close();
});

/** Whether a turn may begin, asked at any time. */
function settling(servers: SessionServers): { isDone: boolean; error?: unknown; done: Promise<void> } {
  const result: { isDone: boolean; error?: unknown; done: Promise<void> } = { isDone: false, done: Promise.resolve() };
  result.done = servers
    .settled(new AbortController().signal)
    .then(() => servers.assertRequired())
    .catch((error: unknown) => {
      result.error = error;
    })
    .finally(() => {
      result.isDone = true;
    });
  return result;
}

const slowly = (ms: number): Behaviour => ({ tools: [echoTool()], steps: { initialize: [{ do: "delay", ms }] } });

test("a turn that waits for many servers listens to its signal no more often than for one: Node would warn", async () => {
  const { world, servers, close } = setUp(slowly(500));
  replace(
    servers,
    Array.from({ length: 30 }, (_, index) => wanted(`s${index}`)),
  );
  const turn = new AbortController();
  const waiting = servers.settled(turn.signal);
  await world.advance(10);
  expect(getEventListeners(turn.signal, "abort")).toHaveLength(0);
  turn.abort();
  await waiting;
  await close();
});

test("a required server is waited for, another one only up to the usual bound", async () => {
  for (const isRequired of [true, false]) {
    const { world, servers, close } = setUp(slowly(20_000));
    replace(servers, [wanted("s", { isRequired })]);
    const turn = settling(servers);
    await world.advance(SESSION_LIMITS.startWait.unknownMs + 1);
    expect(turn.isDone).toBe(!isRequired);
    await world.advance(30_000);
    await turn.done;
    expect(turn.error).toBeUndefined();
    await close();
  }
});

test("a turn fails with the cause when a required server cannot be used, and tries it again with the next prompt", async () => {
  const world = fakeWorld({
    spawn: spawnsServer({ steps: { start: [{ do: "crash", exitCode: 3, stderr: "no key" }] } }),
  });
  const { servers, close } = setUp(undefined, world);
  replace(servers, [wanted("s", { isRequired: true }), wanted("t")]);
  const first = settling(servers);
  await world.advance(2_000);
  await first.done;
  expect(first.error).toMatchObject({
    code: "mcp.not_ready",
    message: expect.stringMatching(/"s" is required and cannot be used: .*no key/su),
  });
  const started = world.children.length;
  const second = settling(servers);
  await world.advance(2_000);
  await second.done;
  expect(second.error).toMatchObject({ code: "mcp.not_ready" });
  expect(world.children.length).toBeGreaterThan(started);
  await close();
});

test("a turn fails with the reason when the entry of a required server cannot be used", async () => {
  const { world, servers, close } = setUp();
  replace(servers, [wanted("t")], [{ name: "s", reason: "url is missing", isRequired: true }]);
  const turn = settling(servers);
  await world.advance(5_000);
  await turn.done;
  expect(turn.error).toMatchObject({
    code: "mcp.not_ready",
    message: 'the server "s" is required and cannot be used: url is missing',
  });
  replace(servers, [wanted("t")], [{ name: "s", reason: "url is missing" }]);
  expect(() => servers.assertRequired()).not.toThrow();
  await close();
});

test("how long a turn waits follows how the server started before", async () => {
  const { mostMs, factor } = SESSION_LIMITS.startWait;
  let delayMs = 2_000;
  const world = fakeWorld({ spawn: (...request) => spawnsServer(slowly(delayMs))(...request) });
  const began = async (advanceMs: readonly number[]) => {
    const { servers, close } = setUp(undefined, world);
    replace(servers, [wanted("s")]);
    const turn = settling(servers);
    const seen: boolean[] = [];
    for (const ms of advanceMs) {
      await world.advance(ms);
      seen.push(turn.isDone);
    }
    await turn.done;
    const again = settling(servers);
    await world.advance(0);
    expect(again.isDone).toBe(true); // each turn waits once
    return { seen, close };
  };
  const unknown = await began([1_900, 200]); // ready within the bound
  expect(unknown.seen).toEqual([false, true]);
  await unknown.close();
  delayMs = 20_000;
  const usual = await began([2_000 * factor - 10, 200]);
  expect(usual.seen).toEqual([false, true]);
  await world.advance(30_000); // it became ready after all, and usually takes 20 s now
  await usual.close();
  const long = await began([mostMs - 10, 200]);
  expect(long.seen).toEqual([false, true]);
  await long.close(); // closed before it was ready
  const hung = await began([0, 10]);
  expect(hung.seen[1]).toBe(true);
  delayMs = 100;
  await hung.close();
  const quick = await began([0, 110]); // still not waited for, but ready this time
  expect(quick.seen).toEqual([true, true]);
  await quick.close();
  delayMs = 20_000;
  const short = await began([100 * factor - 10, 20]); // a short time has no minimum
  expect(short.seen).toEqual([false, true]);
  await short.close();
});

test("another treatment of a server's tools needs no new connection", async () => {
  const { world, servers, close } = setUp();
  replace(servers, [wanted("s")]);
  await world.advance(100);
  const [before] = servers.open;
  replace(servers, [wanted("s", { catalog: { deny: ["echo"] }, trustsAnnotations: true })]);
  expect(servers.open).toMatchObject([{ wanted: { catalog: { deny: ["echo"] }, trustsAnnotations: true } }]);
  expect(servers.open[0]?.connection).toBe(before?.connection);
  expect(world.children).toHaveLength(1);
  await close();
});

test("an entry that cannot be used is told once, however often the set is replaced", async () => {
  const { servers, told, close } = setUp();
  replace(servers, [], [{ name: "x", reason: "no command" }]);
  replace(servers, [], [{ name: "x", reason: "no command" }]);
  expect(told).toMatchObject([{ name: "x", state: "failed", error: "no command" }]);
  await close();
});

test("a lazy server is started the first time, with a note; after that not before it is used", async () => {
  const first = setUp();
  const { world } = first;
  replace(first.servers, [wanted("s", { isLazy: true })]);
  await world.advance(100);
  expect(first.told).toMatchObject([{ state: "ready", toolCount: 1, note: expect.stringContaining("It is lazy") }]);
  expect(world.children).toHaveLength(1);
  await first.close();

  const second = setUp({}, world);
  replace(second.servers, [wanted("s", { isLazy: true }), wanted("other")]);
  let isSettled = false;
  const settling = second.servers.settled(new AbortController().signal).then(() => (isSettled = true));
  await world.advance(100);
  expect(isSettled).toBe(true);
  await settling;
  expect(world.children).toHaveLength(2); // the other one
  expect(second.servers.statuses).toMatchObject([
    { name: "s", state: "idle", toolCount: 1 },
    { name: "other", state: "ready" },
  ]);
  const [server] = second.servers.open;
  const { signal } = new AbortController();
  const call = server?.source.call({ tool: "echo", arguments: { text: "hi" }, signal, onProgress: () => {} });
  await world.advance(100);
  expect(await call).toMatchObject({ kind: "done" });
  expect(world.children).toHaveLength(3);
  expect(second.told.filter(({ name }) => name === "s").map(({ state, note }) => [state, note])).toEqual([
    ["idle", undefined],
    ["connecting", undefined],
    ["ready", undefined],
  ]);
  await second.close();
});

test("a lazy server that is not to be lazy any more is started", async () => {
  const first = setUp();
  const { world } = first;
  replace(first.servers, [wanted("s")]);
  await world.advance(100);
  await first.close();
  const second = setUp({}, world);
  replace(second.servers, [wanted("s", { isLazy: true })]);
  await world.advance(100);
  expect(world.children).toHaveLength(1);
  replace(second.servers, [wanted("s")]);
  await world.advance(100);
  expect(world.children).toHaveLength(2);
  expect(second.servers.statuses).toMatchObject([{ state: "ready" }]);
  await second.close();
});
