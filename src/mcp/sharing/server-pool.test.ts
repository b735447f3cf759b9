// Sessions that want exactly the same server have one between them; nothing else is shared, and what nobody uses ends.

import { expect, test } from "vitest";
import { ASKING, type GuestOptions, PoolBench, SPEC, textOf } from "../../../test/pool-bench.js";
import { LIMITS } from "../../base/limits.js";
import { echoTool, fakeWorld, spawnsServer, type ToolScript } from "../../testing/index.js";
import { MemoryGrants } from "../../testing/lab/index.js";
import { diskCache } from "../connection/cache.js";
import { POOL_LIMITS } from "../limits.js";

test("ten sessions with the same two servers run two processes, and all can call both", async () => {
  await using bench = new PoolBench();
  const first = await bench.guests(10);
  const second = await bench.guests(10, { spec: { ...SPEC, name: "other", args: ["--other"] } });
  expect(bench.world.children).toHaveLength(2);
  for (const guest of [...first, ...second]) {
    expect(guest.server.state.value.kind).toBe("ready");
    expect(guest.server.tools.value.map(({ name }) => name)).toContain("echo");
    expect(textOf(await bench.after(10, guest.call("echo")))).toContain(guest.name);
  }
  expect(bench.living).toBe(2);
});

test.each<[string, GuestOptions]>([
  ["the directory", { cwd: "/elsewhere" }],
  ["a secret", { spec: { ...SPEC, env: { TOKEN: "2" } } }],
  ["the command", { spec: { ...SPEC, args: ["-v"] } }],
  ["the name", { spec: { ...SPEC, name: "t" } }],
  ["the server's own directory", { spec: { ...SPEC, cwd: "/x" } }],
  ["the limits", { limits: { callsAtOnce: 1 } }],
  ["what is said of a tool", { tools: { echo: { isIdempotent: true } } }],
  ["the hosts", { allowHosts: ["x.test"] }],
  ["who named it", { urlSource: "project" }],
  ["the client", { client: { name: "another", version: "1" } }],
  ["that it shall be its own", { mayShare: false }],
])("sessions that differ in %s have servers of their own", async (_, given) => {
  await using bench = new PoolBench();
  bench.guest("a");
  const other = bench.guest("b", given);
  await bench.world.advance(100);
  expect(bench.world.children).toHaveLength(2);
  await bench.after(10_000, other.server.close());
});

test("what a session can answer must be the same too: it is declared to the server", async () => {
  await using bench = new PoolBench();
  const peerless = { cwd: "/project", client: { name: "t", version: "1" }, world: bench.world };
  bench.guest("a");
  const plain = bench.pool.open({ spec: SPEC, options: peerless, mayShare: true });
  plain.start();
  await bench.world.advance(100);
  expect(bench.world.children).toHaveLength(2);
});

test("one that can lead its own person to a log-in is nobody else's", async () => {
  await using bench = new PoolBench();
  const way = { kind: "device", show: async () => undefined } as const;
  const oauth = { store: new MemoryGrants(), account: "default", settings: {}, way };
  const options = { cwd: "/project", client: { name: "t", version: "1" }, world: bench.world, oauth };
  const both = [1, 2].map(() => bench.pool.open({ spec: SPEC, options, mayShare: true }));
  for (const server of both) server.start();
  await bench.world.advance(100);
  expect(bench.world.children).toHaveLength(2);
  await bench.after(10_000, Promise.all(both.map((server) => server.close())));
});

test("a session that closes takes its own calls with it and nobody else's", async () => {
  await using bench = new PoolBench();
  const [one, other] = await bench.guests(2);
  const cut = one?.call("slow");
  const kept = other?.call("slow");
  await bench.world.advance(1_000);
  await one?.server.close();
  expect(one?.server.state.value.kind).toBe("closed");
  expect(await cut).toMatchObject({ kind: "unknown", error: { code: "mcp.connection_lost" } });
  expect(await one?.call("echo")).toMatchObject({ kind: "failed", error: { code: "mcp.not_ready" } });
  await bench.world.advance(5_000);
  expect(await kept).toMatchObject({ kind: "answered" });
  expect(bench.living).toBe(1);
});

test("after the last session has left, the server stays for a while, and for whoever comes meanwhile", async () => {
  await using bench = new PoolBench();
  const [one, other] = await bench.guests(2);
  await one?.server.leave();
  await other?.server.leave();
  await bench.world.advance(POOL_LIMITS.idleMs - 1_000);
  expect(bench.living).toBe(1);
  const [third] = await bench.guests(1);
  expect(third?.server.state.value.kind).toBe("ready");
  await bench.world.advance(POOL_LIMITS.idleMs * 2);
  expect(bench.living).toBe(1); // somebody is there
  await third?.server.leave();
  await bench.world.advance(POOL_LIMITS.idleMs + 10_000);
  expect(bench.living).toBe(0);
  expect(bench.world.children).toHaveLength(1);
  const [fourth] = await bench.guests(1);
  expect(fourth?.server.state.value.kind).toBe("ready");
  expect(bench.world.children).toHaveLength(2);
});

test("one that is closed, not only left, ends with its last session; so do all with the pool", async () => {
  const bench = new PoolBench();
  const [one, other] = await bench.guests(2);
  await one?.server.close();
  expect(bench.living).toBe(1);
  await bench.after(10_000, other?.server.close() ?? Promise.resolve());
  expect(bench.living).toBe(0);
  await bench.guests(2);
  expect(bench.living).toBe(1);
  await bench.after(10_000, bench.pool.close(LIMITS.exitGrace));
  expect(bench.living).toBe(0);
  expect(bench.world.clock.pendingTimers).toBe(0);
});

test("a crash is everybody's, and so is the way back", async () => {
  await using bench = new PoolBench();
  const [one, other] = await bench.guests(2);
  bench.world.children[0]?.signalGroup("SIGKILL");
  await bench.world.advance(30_000);
  for (const guest of [one, other]) expect(guest?.server.state.value.kind).toBe("ready");
  expect(bench.world.children).toHaveLength(2);
});

test("one that failed is tried anew for a session that comes", async () => {
  let isBroken = true;
  const world = fakeWorld({
    spawn: (request, given) => (isBroken ? undefined : spawnsServer({ tools: [echoTool()] })(request, given)),
  });
  await using bench = new PoolBench({}, { world });
  const [first] = await bench.guests(1);
  expect(first?.server.state.value.kind).toBe("failed");
  isBroken = false;
  const [second] = await bench.guests(1);
  for (const guest of [first, second]) expect(guest?.server.state.value.kind).toBe("ready");
});

test("lazy sessions share one that rests, and the first call starts it for all", async () => {
  const world = fakeWorld({ spawn: spawnsServer({ tools: [echoTool()] }) });
  const cache = diskCache({ world, dir: "/cache" });
  await using before = new PoolBench({}, { world, cache });
  await before.guests(1);
  await before.after(10_000, before.pool.close());
  await using bench = new PoolBench({}, { world, cache });
  const [one, other] = await bench.guests(2, { isLazy: true });
  expect(bench.living).toBe(0);
  expect(other?.server.state.value.kind).toBe("resting");
  expect(one && textOf(await bench.after(100, one.call("echo")))).toContain("g1");
  expect(other?.server.state.value.kind).toBe("ready");
  expect(bench.living).toBe(1);
});

test("a session alone with a server that asks keeps it; from then on each gets its own, also in another process", async () => {
  const world = fakeWorld({ spawn: spawnsServer({ tools: [ASKING] }) });
  const cache = diskCache({ world, dir: "/cache" });
  await using bench = new PoolBench({}, { world, cache });
  const [one] = await bench.guests(1);
  expect(one && textOf(await bench.after(100, one.call("ask")))).toContain("g1");
  expect(bench.world.children).toHaveLength(1);
  await bench.guests(2);
  expect(bench.living).toBe(3);
  await using later = new PoolBench({}, { world, cache });
  await later.guests(2);
  expect(later.living).toBe(5);
  await world.advance(POOL_LIMITS.asksMaxAgeMs);
  await using muchLater = new PoolBench({}, { world, cache });
  await muchLater.guests(2);
  expect(muchLater.living).toBe(6); // asked again, as it may have changed
});

test.each(["legacy", "modern"] as const)("tasks of a %s server are each session's own", async (era) => {
  const long: ToolScript = { name: "long", task: { takesMs: 600_000 }, reply: { kind: "echo" } };
  const short: ToolScript = { name: "short", task: { pollMs: 100 }, reply: { kind: "echo" } };
  await using bench = new PoolBench({ era, tools: [long, short] });
  const [one, other, third] = await bench.guests(3);
  if (!one || !other || !third) throw new Error("three were asked for");
  const cancel = new AbortController();
  const left = one.call("long");
  const cancelled = third.call("long", cancel.signal);
  await bench.world.advance(500);
  cancel.abort();
  await one.server.leave();
  await bench.world.advance(500);
  expect(await left).toMatchObject({ kind: "unknown" }); // whoever loads the session asks for it again
  expect(await cancelled).toEqual({ kind: "cancelled" });
  expect(textOf(await bench.after(5_000, other.call("short")))).toContain("g2");
  expect(bench.world.children).toHaveLength(1);
});

test.each([true, false])("one that is closed before it is started never is (may be shared: %s)", async (mayShare) => {
  await using bench = new PoolBench();
  const options = { world: bench.world, cwd: "/project", client: { name: "t", version: "1" } };
  const early = bench.pool.open({ spec: SPEC, options, mayShare });
  await early.close();
  early.start();
  early.startWhenUsed();
  const late = bench.pool.open({ spec: SPEC, options, mayShare });
  late.start();
  const closing = late.close(); // while it is still being decided where it belongs
  expect(await late.call("echo", {}, { signal: new AbortController().signal, onProgress: () => {} })).toMatchObject({
    kind: "failed",
    error: { code: "mcp.not_ready" },
  });
  await bench.after(10_000, closing);
  expect(bench.living).toBe(0);
  expect([early.state.value.kind, late.state.value.kind]).toEqual(["closed", "closed"]);
});
