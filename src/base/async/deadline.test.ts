// Deadlines, sleeping and racing an abort, on a clock that the test turns.
import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { World } from "../ports/world.js";
import { createDeadline, orAborted, sleep } from "./deadline.js";

/** Runs what is due, in order of time; nothing runs by itself. */
class Clock {
  #nowMs = 0;
  readonly #due = new Map<object, { readonly atMs: number; readonly run: () => void }>();

  get pending(): number[] {
    return [...this.#due.values()].map((entry) => entry.atMs - this.#nowMs);
  }

  readonly after: World["after"] = (delayMs, run) => {
    const key = {};
    this.#due.set(key, { atMs: this.#nowMs + delayMs, run });
    return { clear: () => this.#due.delete(key) };
  };

  advance(ms: number): void {
    this.#nowMs += ms;
    const ripe = [...this.#due]
      .filter(([, entry]) => entry.atMs <= this.#nowMs)
      .sort(([, a], [, b]) => a.atMs - b.atMs);
    for (const [key, entry] of ripe) if (this.#due.delete(key)) entry.run();
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function abortListeners(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

describe("a deadline", () => {
  test("aborts with a TimeoutError when its time is over, not before", () => {
    const clock = new Clock();
    const deadline = createDeadline(clock.after, 100);
    clock.advance(99);
    expect([deadline.signal.aborted, deadline.expired]).toEqual([false, false]);
    clock.advance(1);
    expect([deadline.signal.aborted, deadline.expired]).toEqual([true, true]);
    expect(deadline.signal.reason).toMatchObject({ name: "TimeoutError", message: "timed out after 100 ms" });
  });

  test("aborts with its parent's reason, and does not call that expired", () => {
    const clock = new Clock();
    const parent = new AbortController();
    const deadline = createDeadline(clock.after, 100, parent.signal);
    parent.abort("enough");
    expect([deadline.signal.reason, deadline.expired, clock.pending]).toEqual(["enough", false, []]);
    clock.advance(100);
    expect([deadline.signal.reason, deadline.expired]).toEqual(["enough", false]);
  });

  test("is over from the start when its parent is", () => {
    const clock = new Clock();
    const deadline = createDeadline(clock.after, 100, AbortSignal.abort("before"));
    expect([deadline.signal.reason, deadline.expired, clock.pending]).toEqual(["before", false, []]);
  });

  test.each(["clear", "dispose", "expiry"])("leaves no timer and no listener after %s", (way) => {
    const clock = new Clock();
    const parent = new AbortController();
    const deadline = createDeadline(clock.after, 100, parent.signal);
    expect([abortListeners(parent.signal), clock.pending]).toEqual([1, [100]]);
    if (way === "clear") deadline.clear();
    else if (way === "dispose") deadline[Symbol.dispose]();
    else clock.advance(100);
    expect([abortListeners(parent.signal), clock.pending]).toEqual([0, []]);
    parent.abort();
    clock.advance(1_000);
    expect(deadline.expired).toBe(way === "expiry");
    expect(deadline.signal.aborted).toBe(way === "expiry");
  });

  test("never asks a timer for more than it can wait: such a timer would fire at once", () => {
    const clock = new Clock();
    createDeadline(clock.after, Number.POSITIVE_INFINITY);
    createDeadline(clock.after, 1e12);
    expect(clock.pending).toEqual([2 ** 31 - 1, 2 ** 31 - 1]);
  });
});

describe("sleep", () => {
  test("resolves when the time is over and leaves no listener", async () => {
    const clock = new Clock();
    const controller = new AbortController();
    let isAwake = false;
    const sleeping = sleep(clock, 50, controller.signal).then(() => (isAwake = true));
    clock.advance(49);
    await settled();
    expect(isAwake).toBe(false);
    clock.advance(1);
    await sleeping;
    expect(abortListeners(controller.signal)).toBe(0);
  });

  test("rejects with the reason when aborted, and leaves no timer", async () => {
    const clock = new Clock();
    const controller = new AbortController();
    const sleeping = sleep(clock, 50, controller.signal);
    controller.abort("up");
    await expect(sleeping).rejects.toBe("up");
    await expect(sleep(clock, 50, controller.signal)).rejects.toBe("up");
    expect(clock.pending).toEqual([]);
  });
});

describe("orAborted", () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => unhandled.push(reason);
  beforeEach(() => {
    unhandled.length = 0;
    process.on("unhandledRejection", onUnhandled);
  });
  afterEach(async () => {
    await settled();
    process.off("unhandledRejection", onUnhandled);
    if (unhandled.length > 0) throw new Error(`unhandled rejection: ${String(unhandled[0])}`);
  });

  test("gives what the promise gives, and leaves no listener", async () => {
    const controller = new AbortController();
    expect(await orAborted(Promise.resolve(1), controller.signal)).toBe(1);
    await expect(orAborted(Promise.reject(new Error("own")), controller.signal)).rejects.toThrow("own");
    expect(abortListeners(controller.signal)).toBe(0);
    controller.abort();
  });

  test("rejects with the reason when aborted first; a later failure of the promise is not heard", async () => {
    const controller = new AbortController();
    let fail: (error: Error) => void = () => {};
    const raced = orAborted(new Promise((_, reject) => (fail = reject)), controller.signal);
    controller.abort("stop");
    await expect(raced).rejects.toBe("stop");
    fail(new Error("late"));
  });

  test("rejects at once when aborted before; a later failure of the promise is not heard either", async () => {
    await expect(
      orAborted(Promise.reject(new Error("nobody else holds this")), AbortSignal.abort("before")),
    ).rejects.toBe("before");
  });
});
