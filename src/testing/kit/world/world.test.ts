// The fake world keeps the promises of the World port, and time stands until it is moved.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { sleep } from "../../../base/async/deadline.js";
import { endTree } from "../../../base/io/process.js";
import { LIMITS } from "../../../base/limits.js";
import type { SpawnRequest } from "../../../base/ports/world.js";
import { echoTool } from "../mcp-server/behaviour.js";
import type { FakeChild } from "./child.js";
import { fakeWorld, spawnsChild, spawnsServer } from "./world.js";

const REQUEST: SpawnRequest = { command: "server", args: ["-x"], env: { A: "1" }, cwd: "/project" };
const GRACE = { stdinMs: 1_000, terminateMs: 1_000 };

function only(children: readonly FakeChild[]): FakeChild {
  const [child] = children;
  if (!child || children.length !== 1) throw new Error(`expected one child, got ${children.length}`);
  return child;
}

test("timers run in the order of their times, and in the order they were set when those are equal", () => {
  return fc.assert(
    fc.asyncProperty(fc.array(fc.nat(50), { maxLength: 12 }), async (delays) => {
      const world = fakeWorld();
      const ran: { delay: number; index: number; at: number }[] = [];
      delays.forEach((delay, index) => {
        world.after(delay, () => ran.push({ delay, index, at: world.monotonicMs() }));
      });
      await world.advance(50);
      const expected = delays
        .map((delay, index) => ({ delay, index, at: delay }))
        .sort((a, b) => a.delay - b.delay || a.index - b.index);
      expect(ran).toEqual(expected);
      expect(world.clock.pendingTimers).toBe(0);
    }),
    { numRuns: 20 },
  );
});

test("a timer set by a timer runs in the same advance when it falls due in it, and not before its time", async () => {
  const world = fakeWorld({ nowMs: 1_000 });
  const seen: number[] = [];
  const again = () => {
    seen.push(world.now());
    world.after(10, again);
  };
  world.after(10, again);
  await world.advance(35);
  expect(seen).toEqual([1_010, 1_020, 1_030]);
  expect(world.now()).toBe(1_035);
});

test("cleared timers never run, and code that awaits goes on between timers", async () => {
  const world = fakeWorld();
  const steps: string[] = [];
  world.after(5, () => steps.push("cleared")).clear();
  const { signal } = new AbortController();
  const work = (async () => {
    await sleep(world, 10, signal);
    steps.push("slept");
    await sleep(world, 10, signal);
    steps.push("again");
  })();
  await world.advance(15);
  expect(steps).toEqual(["slept"]);
  await world.advance(5);
  await work;
  expect(steps).toEqual(["slept", "again"]);
});

test("deadlines follow the fake clock and their parents", async () => {
  const world = fakeWorld();
  const deadline = world.deadline(100);
  await world.advance(99);
  expect(deadline.signal.aborted).toBe(false);
  await world.advance(1);
  expect([deadline.expired, deadline.signal.aborted]).toEqual([true, true]);
  const parent = new AbortController();
  const child = world.deadline(100, parent.signal);
  parent.abort();
  expect([child.expired, child.signal.aborted]).toEqual([false, true]);
  expect(world.clock.pendingTimers).toBe(0);
});

test("the log is kept with the world's time", () => {
  const world = fakeWorld({ nowMs: 0 });
  world.log.warn("server.failed", { server: "files" });
  expect(world.logEntries).toEqual([
    { server: "files", t: "1970-01-01T00:00:00.000Z", level: "warn", event: "server.failed" },
  ]);
  expect(world.logLines[0]).toMatch(/\n$/);
});

test("files append, read back, and tell what was synced and what is open", async () => {
  const world = fakeWorld({ files: { "/a": "old" } });
  const file = world.files.openAppend("/b");
  file.write("one\n");
  file.sync();
  file.write("two\n");
  expect(await world.files.readText("/b")).toBe("one\ntwo\n");
  expect(world.files.syncedText("/b")).toBe("one\n");
  expect(world.files.openPaths).toEqual(["/b"]);
  file.close();
  file.close();
  expect(world.files.openPaths).toEqual([]);
  expect(() => file.write("x")).toThrow("/b is closed");
  expect(await world.files.readText("/a")).toBe("old");
  await expect(world.files.readText("/none")).rejects.toMatchObject({ code: "ENOENT" });
});

test("the same seed gives the same numbers, another seed others, all within their range", () => {
  const draw = (seed: number) => {
    const world = fakeWorld({ seed });
    return [...world.randomBytes(4), world.random(), world.random()];
  };
  expect(draw(1)).toEqual(draw(1));
  expect(draw(1)).not.toEqual(draw(2));
  const world = fakeWorld();
  const values = Array.from({ length: 1_000 }, () => world.random());
  expect(values.every((value) => value >= 0 && value < 1)).toBe(true);
  expect(new Set(values).size).toBeGreaterThan(990);
});

test("a command without a script is not found, and there is no network", async () => {
  const world = fakeWorld();
  const child = world.spawn(REQUEST);
  expect(child.pid).toBe(undefined);
  expect(child.isGroupAlive()).toBe(false);
  expect(await child.exited).toMatchObject({ kind: "not_started", error: { code: "ENOENT" } });
  await expect(world.fetch("https://example.com/x")).rejects.toThrow("no network: https://example.com/x");
});

test("a fake child ends with its input, and its tree with it", async () => {
  const world = fakeWorld({ spawn: spawnsChild() });
  const child = world.spawn(REQUEST);
  const ending = endTree(child, world, GRACE);
  await world.advance(LIMITS.groupPollMs);
  await ending;
  expect(await child.exited).toEqual({ kind: "exited", code: 0, signal: null });
  expect(only(world.children).signals).toEqual([]);
  expect(only(world.children).request).toEqual(REQUEST);
});

test("what ignores its input gets TERM, what ignores that too gets KILL, each in its time", async () => {
  const polite = fakeWorld({ spawn: spawnsChild({ ignoresEof: true }) });
  const ending = endTree(polite.spawn(REQUEST), polite, GRACE);
  await polite.advance(999);
  expect(only(polite.children).signals).toEqual([]);
  await polite.advance(30);
  await ending;
  expect(only(polite.children).signals).toEqual(["SIGTERM"]);

  const stubborn = fakeWorld({ spawn: spawnsChild({ ignoresEof: true, ignoresSigterm: true }) });
  const killing = endTree(stubborn.spawn(REQUEST), stubborn, GRACE);
  await stubborn.advance(2_100);
  await killing;
  expect(only(stubborn.children).signals).toEqual(["SIGTERM", "SIGKILL"]);
});

test("processes left in the group keep it alive after the child has gone", async () => {
  const world = fakeWorld({ spawn: spawnsChild() });
  const child = world.spawn(REQUEST);
  only(world.children).startInGroup();
  only(world.children).startInGroup({ ignoresSigterm: true });
  const ending = endTree(child, world, GRACE);
  await world.settle();
  expect(await child.exited).toMatchObject({ code: 0 });
  expect(child.isGroupAlive()).toBe(true);
  await world.advance(2_500);
  await ending;
  expect(child.isGroupAlive()).toBe(false);
  expect(only(world.children).signals).toEqual(["SIGTERM", "SIGKILL"]);
});

test("a scripted server behind a fake child answers over its streams, on the fake clock", async () => {
  const world = fakeWorld({
    spawn: spawnsServer({
      tools: [echoTool()],
      steps: {
        start: [
          { do: "stderr", text: "up" },
          { do: "delay", ms: 500 },
          { do: "garbage", text: "noise" },
        ],
      },
    }),
  });
  const child = world.spawn(REQUEST);
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  child.stdin.write(
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"}}}\n',
  );
  await world.advance(499);
  expect([errors, output]).toEqual(["up\n", ""]);
  await world.advance(1);
  const [noise, answer] = output.split("\n");
  expect(noise).toBe("noise");
  expect(JSON.parse(answer ?? "")).toMatchObject({ id: 1, result: { content: [{ text: '{"text":"a"}' }] } });
  child.stdin.end();
  expect(await child.exited).toMatchObject({ code: 0 });
});

test("a scripted server behind a fake child crashes and leaves processes behind as told", async () => {
  const world = fakeWorld({
    spawn: spawnsServer({
      steps: {
        start: [
          { do: "spawn_children", count: 2 },
          { do: "delay", ms: 10 },
          { do: "crash", exitCode: 4, stderr: "oh no" },
        ],
      },
    }),
  });
  const child = world.spawn(REQUEST);
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  await world.advance(10);
  expect(await child.exited).toEqual({ kind: "exited", code: 4, signal: null });
  expect(errors).toBe("oh no\n");
  expect(child.isGroupAlive()).toBe(true);
  child.signalGroup("SIGTERM");
  expect(child.isGroupAlive()).toBe(false);
});
