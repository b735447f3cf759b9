// Many timers of one length cost one; each fires in its turn, and a cleared one does not.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LongTimers } from "./node.js";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.restoreAllMocks(); // first: a spy on the fake timer would put the fake one back
  vi.useRealTimers();
});

test("each runs once, at its time and in the order of the times", () => {
  const timers = new LongTimers();
  const ran: string[] = [];
  timers.after(3_000, () => ran.push("third"));
  timers.after(1_000, () => ran.push("first"));
  timers.after(2_000, () => ran.push("second"));
  vi.advanceTimersByTime(999);
  expect(ran).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ran).toEqual(["first"]);
  vi.advanceTimersByTime(10_000);
  expect(ran).toEqual(["first", "second", "third"]);
});

test("what was cleared never runs, also when the one before it clears it", () => {
  const timers = new LongTimers();
  const ran: string[] = [];
  const early = timers.after(1_000, () => ran.push("early"));
  const first = timers.after(2_000, () => {
    ran.push("first");
    second.clear();
  });
  const second = timers.after(2_000, () => ran.push("second"));
  early.clear();
  vi.advanceTimersByTime(5_000);
  first.clear();
  expect(ran).toEqual(["first"]);
});

test("a thousand waits one after another set one real timer, which keeps the process alive only while somebody waits", () => {
  const timers = new LongTimers();
  const set = vi.spyOn(globalThis, "setTimeout");
  for (let index = 0; index < 1_000; index++) timers.after(120_000, () => {}).clear();
  expect(set).toHaveBeenCalledTimes(1);
  const real: NodeJS.Timeout | undefined = set.mock.results[0]?.value;
  expect(real?.hasRef()).toBe(false);
  const wait = timers.after(120_000, () => {});
  expect(real?.hasRef()).toBe(true);
  wait.clear();
  vi.advanceTimersByTime(300_000);
  expect(vi.getTimerCount()).toBe(0);
});

test("one that is set and cleared by those whose turn it is leaves nothing that keeps the process alive", () => {
  const timers = new LongTimers();
  const set = vi.spyOn(globalThis, "setTimeout");
  let late: { clear(): void } | undefined;
  timers.after(1_000, () => {
    late = timers.after(60_000, () => {});
  });
  timers.after(1_000, () => late?.clear());
  timers.after(1_000, () => {});
  vi.advanceTimersByTime(1_000);
  const real: NodeJS.Timeout | undefined = set.mock.results.at(-1)?.value;
  expect(real?.hasRef()).toBe(false);
});

test("one that is due after the timer of one that was cleared still runs on time", () => {
  const timers = new LongTimers();
  const ran: number[] = [];
  timers.after(1_000, () => ran.push(0)).clear();
  vi.advanceTimersByTime(500);
  timers.after(1_000, () => ran.push(performance.now()));
  const startMs = performance.now();
  vi.advanceTimersByTime(1_000);
  expect(ran).toEqual([startMs + 1_000]);
});

test("one that throws does not take the others with it, and one may set another", () => {
  const timers = new LongTimers();
  const ran: string[] = [];
  timers.after(1_000, () => {
    throw new Error("of no use");
  });
  timers.after(1_000, () => {
    ran.push("second");
    timers.after(1_000, () => ran.push("third"));
  });
  vi.advanceTimersByTime(1_000);
  vi.advanceTimersByTime(1_001);
  expect(ran).toEqual(["second", "third"]);
});
