// A lock that only the death of its holder takes away.
import { describe, expect, it } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { withLivenessLock } from "./liveness-lock.js";

const LOCK = "/locks/it";
const NEVER = new AbortController().signal;

describe("a lock by liveness", () => {
  it("is taken from a dead process at once, and given back after the work", async () => {
    const world = fakeWorld();
    world.files.write(LOCK, "77 identity-77 abcd\n");
    expect(await withLivenessLock(world, LOCK, NEVER, async () => "done")).toBe("done");
    expect(world.files.paths).toEqual([]);
  });

  it("is taken from a process whose number another one has now", async () => {
    const world = fakeWorld();
    world.otherProcesses.set(77, "identity-new");
    world.files.write(LOCK, "77 identity-old abcd\n");
    expect(await withLivenessLock(world, LOCK, NEVER, async () => "done")).toBe("done");
  });

  it("is not taken from a living process, however long it holds it", async () => {
    const world = fakeWorld();
    world.otherProcesses.set(77, "identity-77");
    world.files.write(LOCK, "77 identity-77 abcd\n");
    let hasRun = false;
    const waiting = withLivenessLock(world, LOCK, NEVER, async () => {
      hasRun = true;
    });
    await world.advance(60_000);
    expect(hasRun).toBe(false);
    world.otherProcesses.delete(77); // killed in the middle of it
    await world.advance(100);
    await waiting;
    expect(hasRun).toBe(true);
  });

  it("is not waited for without end: the process that holds it is named", async () => {
    const world = fakeWorld();
    world.otherProcesses.set(77, "identity-77");
    world.files.write(LOCK, "77 identity-77 abcd\n");
    const waiting = withLivenessLock(world, LOCK, NEVER, async () => {});
    const verdict = waiting.catch((error: unknown) => error);
    await world.advance(91_000);
    expect(await verdict).toMatchObject({ message: "another process has held a log-in for more than 90 s" });
    expect(world.files.text(LOCK)).toBe("77 identity-77 abcd\n");
  });

  it("is not waited for by one who gave up", async () => {
    const world = fakeWorld();
    world.otherProcesses.set(77, "identity-77");
    world.files.write(LOCK, "77 identity-77 abcd\n");
    const controller = new AbortController();
    const waiting = withLivenessLock(world, LOCK, controller.signal, async () => {});
    const verdict = waiting.catch((error: unknown) => error);
    await world.settle();
    controller.abort(new Error("gave up"));
    expect(await verdict).toMatchObject({ message: "gave up" });
  });

  it("is not taken from one who is just writing it, but from one who died before", async () => {
    const world = fakeWorld();
    world.files.write(LOCK, "");
    let hasRun = false;
    const waiting = withLivenessLock(world, LOCK, NEVER, async () => {
      hasRun = true;
    });
    await world.advance(500);
    expect(hasRun).toBe(false);
    await world.advance(1_000);
    await waiting;
    expect(hasRun).toBe(true);
  });

  it("has one holder at a time when many find a dead one", async () => {
    const world = fakeWorld();
    world.files.write(LOCK, "77 identity-77 abcd\n");
    world.files.write(`${LOCK}.break`, "78 identity-78 abcd\n"); // and one that died while it cleared away
    let holders = 0;
    const work = async () => {
      expect(++holders).toBe(1);
      await world.settle();
      holders--;
    };
    const all = Promise.all(Array.from({ length: 10 }, () => withLivenessLock(world, LOCK, NEVER, work)));
    for (let round = 0; round < 40; round++) await world.advance(25);
    await all;
    expect(world.files.paths).toEqual([]);
  });
});
