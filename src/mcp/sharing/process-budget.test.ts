// One server more than fits waits, and is told what takes the room; what runs is left alone.
import { expect, test } from "vitest";
import { type Guest, PoolBench, SPEC } from "../../../test/pool-bench.js";
import type { TenonError } from "../../base/errors.js";
import { fakeWorld } from "../../testing/index.js";
import type { ProcessSlot } from "../connection/options.js";
import { POOL_LIMITS } from "../limits.js";
import { budgetLimits, ProcessBudget } from "./process-budget.js";

const MB = 2 ** 20;

function errorOf({ server }: Guest): { readonly message: string; readonly hint: string } | undefined {
  const state = server.state.value;
  return state.kind === "connecting" ? state.queued : undefined;
}

const named = (name: string) => ({ spec: { ...SPEC, name } });

test("the number of processes is bounded for all sessions together; shared ones count once", async () => {
  await using bench = new PoolBench();
  const limits = { maxProcesses: 2 };
  const shared = await bench.guests(5, limits);
  const second = bench.guest("g1", { ...named("own"), ...limits, mayShare: false });
  const third = bench.guest("x", { ...named("third"), ...limits, mayShare: false });
  await bench.world.advance(100);
  expect(errorOf(third)).toMatchObject({
    code: "mcp.over_budget",
    message:
      'the server "third" waits for a place: 2 server processes run, which is the limit (serverLimits.maxProcesses): 2 of other sessions',
    hint: expect.stringContaining("/mcp disable"),
  });
  expect(bench.living).toBe(2);
  for (const guest of shared) expect(guest.server.state.value.kind).toBe("ready");
  await bench.after(10_000, second.server.close());
  await bench.world.advance(100);
  expect(third.server.state.value.kind).toBe("ready");
  await bench.after(10_000, third.server.close());
});

test("a session that leaves a shared server for its own gives up the place that its own may be waiting for", async () => {
  await using bench = new PoolBench();
  const [one, other] = await bench.guests(2, { maxProcesses: 2 });
  if (!one || !other) throw new Error("two were asked for");
  await bench.after(100, one.call("ask"));
  await bench.world.advance(20_000);
  expect([one, other].map(({ server }) => server.state.value.kind)).toEqual(["ready", "ready"]);
  const pids = await bench.after(100, Promise.all([one.call("pid"), other.call("pid")]));
  expect(new Set(pids.map((outcome) => JSON.stringify(outcome))).size).toBe(2);
  expect(pids.map(({ kind }) => kind)).toEqual(["answered", "answered"]);
  expect(bench.living).toBe(2);
});

test("so is their memory, with what each takes: a session's own by name, those of others as a sum", async () => {
  await using bench = new PoolBench();
  const limits = { maxMemoryBytes: 1_000 * MB, mayShare: false };
  const running = [
    bench.guest("me", { ...named("small"), ...limits }),
    bench.guest("me", { ...named("large"), ...limits }),
    bench.guest("somebody", { ...named("secret"), ...limits }),
  ];
  await bench.world.advance(POOL_LIMITS.young.forMs);
  for (const [index, bytes] of [100, 700, 300].entries()) {
    const child = bench.world.children[index];
    if (child) child.memoryBytes = bytes * MB;
  }
  const refused = bench.guest("me", { ...named("more"), ...limits });
  await bench.world.advance(100);
  expect(errorOf(refused)?.message).toBe(
    'the server "more" waits for a place: the server processes use 1100 MB of memory, and 1000 MB is the limit (serverLimits.maxMemoryMb): "large" (700 MB), "small" (100 MB), 1 of other sessions (300 MB)',
  );
  expect(errorOf(refused)?.message).not.toContain("secret");
  for (const guest of running) expect(guest.server.state.value.kind).toBe("ready");
  for (const guest of [...running, refused]) await bench.after(10_000, guest.server.close());
});

test("those that have just begun count for what they are about to take: a burst does not slip through", async () => {
  const world = fakeWorld();
  const budget = new ProcessBudget(world);
  const limits = budgetLimits(world, { maxMemoryBytes: POOL_LIMITS.young.bytes * 3 });
  const { admit, waiting } = asking(budget, limits);
  for (let count = 0; count < 4; count++) admit("a");
  expect(waiting).toHaveLength(1);
  expect(waiting[0]).toMatch(/waits for a place: the server processes use 192 MB/u);
  await world.advance(POOL_LIMITS.young.forMs + POOL_LIMITS.queueCheckMs);
  expect(waiting).toEqual([]); // none of them came to anything
});

test("where the system does not say what memory processes take, only their number counts, in a burst too", () => {
  const world = fakeWorld();
  world.processes.memoryOf = () => undefined;
  const budget = new ProcessBudget(world);
  const { admit, waiting } = asking(budget, budgetLimits(world, { maxMemoryBytes: POOL_LIMITS.young.bytes }));
  for (let count = 0; count < 4; count++) expect(admit("a")).toBeDefined();
  expect(waiting).toEqual([]);
});

function asking(budget: ProcessBudget, limits: ReturnType<typeof budgetLimits>) {
  const waiting: string[] = [];
  const leaving = new AbortController();
  const admit = (session: string): ProcessSlot | undefined => {
    const onQueued = ({ message }: TenonError) => waiting.push(message);
    const queue = { signal: leaving.signal, onQueued };
    const slot = budget.admit({ server: "s", session, limits, isOf: (one) => one === session }, queue);
    if (!(slot instanceof Promise)) return slot;
    slot.then(
      () => waiting.shift(),
      () => waiting.push("left"),
    );
    return undefined;
  };
  return { waiting, admit, leaving };
}

test("a session may have so many and no more, whatever the others have; more wait, in their order", async () => {
  const world = fakeWorld();
  const budget = new ProcessBudget(world);
  const limits = budgetLimits(world, { maxSessionProcesses: 2, maxMemoryBytes: Number.MAX_SAFE_INTEGER });
  const { admit, waiting, leaving } = asking(budget, limits);
  const first = admit("a");
  admit("a");
  admit("a");
  admit("a");
  expect(waiting).toEqual(Array(2).fill(expect.stringMatching(/this session has 2 server processes/u)));
  expect(admit("b")).toBeDefined(); // nobody waits for the queue of others
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  await world.settle();
  expect(waiting).toHaveLength(1);
  leaving.abort();
  await world.settle();
  expect(waiting.at(-1)).toBe("left");
  expect(budgetLimits(world).maxMemoryBytes).toBe(world.processes.memoryBytes / 2);
});
