// How a scope ends: order, failures, re-entrance, late arrivals.
import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Log, LogFields } from "../ports/world.js";
import { Scope } from "./scope.js";

function recordingLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const line =
    (level: string) =>
    (event: string, fields: LogFields = {}) => {
      lines.push(`${level} ${event} ${fields["work"] ?? ""}: ${fields["error"]}`);
    };
  return { log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") }, lines };
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

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

describe("closing a scope", () => {
  test("aborts at once, then disposes in reverse order, one after the other, and only once", async () => {
    const scope = new Scope(recordingLog().log);
    const steps: string[] = [];
    scope.defer(() => {
      steps.push("first");
    });
    scope.own({ [Symbol.dispose]: () => steps.push("second") });
    scope.own({
      async [Symbol.asyncDispose]() {
        await settled();
        steps.push("third");
      },
    });
    const closing = scope.close();
    expect([scope.signal.aborted, scope.isClosed]).toEqual([true, true]);
    expect(scope.close()).toBe(closing);
    await closing;
    await scope[Symbol.asyncDispose]();
    expect(steps).toEqual(["third", "second", "first"]);
  });

  test("prefers the asynchronous disposer of what has both", async () => {
    const steps: string[] = [];
    const both = {
      [Symbol.dispose]: () => steps.push("sync"),
      [Symbol.asyncDispose]: async () => void steps.push("async"),
    };
    const scope = new Scope(recordingLog().log);
    expect(scope.own(both)).toBe(both);
    await scope.close();
    expect(steps).toEqual(["async"]);
  });

  test("goes on when a disposer fails, and logs it", async () => {
    const { log, lines } = recordingLog();
    const scope = new Scope(log);
    let isDisposed = false;
    scope.defer(() => {
      isDisposed = true;
    });
    scope.defer(() => Promise.reject(new Error("async")));
    scope.defer(() => {
      throw new Error("sync");
    });
    await scope.close();
    expect(isDisposed).toBe(true);
    expect(lines).toEqual(["error scope.dispose_failed : sync", "error scope.dispose_failed : async"]);
  });

  test("keeps the order when an abort listener or a disposer closes it again", async () => {
    const scope = new Scope(recordingLog().log);
    const steps: string[] = [];
    const again: Promise<void>[] = [];
    scope.defer(() => {
      steps.push("first");
    });
    scope.defer(async () => {
      again.push(scope.close());
      steps.push("second begins");
      await settled();
      steps.push("second ends");
    });
    scope.signal.addEventListener("abort", () => {
      expect(scope.isClosed).toBe(true);
      again.push(scope.close());
    });
    const closing = scope.close();
    await closing;
    expect(steps).toEqual(["second begins", "second ends", "first"]);
    expect(again).toEqual([closing, closing]);
  });

  test("awaits its work, work that work starts included", async () => {
    const scope = new Scope(recordingLog().log);
    const steps: string[] = [];
    scope.run("outer", async (signal) => {
      await untilAborted(signal).catch(() => {});
      scope.run("inner", async () => {
        await settled();
        steps.push("inner");
      });
      steps.push("outer");
    });
    await scope.close();
    expect(steps).toEqual(["outer", "inner"]);
  });

  test("disposes even if work is deaf to its signal until then", async () => {
    const scope = new Scope(recordingLog().log);
    let endStream = () => {};
    scope.defer(() => endStream());
    scope.run("read to the end", () => new Promise<void>((resolve) => (endStream = resolve)));
    await scope.close();
    expect(scope.isClosed).toBe(true);
  });
});

describe("work of a scope", () => {
  test("starts at once with the scope's signal", () => {
    const scope = new Scope(recordingLog().log);
    let given: AbortSignal | undefined;
    scope.run("work", async (signal) => {
      given = signal;
    });
    expect(given).toBe(scope.signal);
  });

  test("is logged when it fails, also when it throws before its first await", async () => {
    const { log, lines } = recordingLog();
    const scope = new Scope(log);
    scope.run("late", async () => {
      await settled();
      throw new Error("after a while");
    });
    expect(() =>
      scope.run("early", () => {
        throw new Error("at once");
      }),
    ).not.toThrow();
    await settled();
    await settled();
    expect(lines).toEqual(["error scope.work_failed early: at once", "error scope.work_failed late: after a while"]);
    await scope.close();
  });

  test("says nothing when it ends by the abort, and only whispers when it breaks because of it", async () => {
    const { log, lines } = recordingLog();
    const scope = new Scope(log);
    scope.run("obedient", untilAborted);
    scope.run("breaking", (signal) => untilAborted(signal).catch(() => Promise.reject(new Error("pipe broke"))));
    await scope.close();
    expect(lines).toEqual(["debug scope.work_aborted breaking: pipe broke"]);
  });

  test("sees an aborted signal when the scope is closed already", async () => {
    const scope = new Scope(recordingLog().log);
    await scope.close();
    let wasAborted = false;
    scope.run("late", async (signal) => {
      wasAborted = signal.aborted;
    });
    expect(wasAborted).toBe(true);
  });
});

describe("what comes late to a scope", () => {
  test("is disposed at once, and awaited if the scope is still closing", async () => {
    const scope = new Scope(recordingLog().log);
    const steps: string[] = [];
    scope.defer(() => {
      scope.defer(async () => {
        await settled();
        steps.push("while closing");
      });
    });
    await scope.close();
    expect(steps).toEqual(["while closing"]);
    scope.own({ [Symbol.dispose]: () => steps.push("closed") });
    expect(steps).toEqual(["while closing", "closed"]);
  });

  test("is logged when its disposal fails", async () => {
    const { log, lines } = recordingLog();
    const scope = new Scope(log);
    await scope.close();
    scope.defer(() => Promise.reject(new Error("too late")));
    await settled();
    expect(lines).toEqual(["error scope.dispose_failed : too late"]);
  });
});

describe("the parent of a scope", () => {
  test("aborts its signal with the same reason, without closing it", async () => {
    const parent = new AbortController();
    await using scope = new Scope(recordingLog().log, parent.signal);
    parent.abort("enough");
    expect([scope.signal.aborted, scope.signal.reason, scope.isClosed]).toEqual([true, "enough", false]);
    await using late = new Scope(recordingLog().log, parent.signal);
    expect([late.signal.aborted, late.signal.reason]).toEqual([true, "enough"]);
  });

  test("is not listened to any more once the scope is closed", async () => {
    const parent = new AbortController();
    const scope = new Scope(recordingLog().log, parent.signal);
    expect(getEventListeners(parent.signal, "abort")).toHaveLength(1);
    await scope.close();
    expect(getEventListeners(parent.signal, "abort")).toHaveLength(0);
  });
});
