// Many listeners on one signal cost one; each is heard, and none stays when it is over.
import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { abortListeners } from "./scope.js";

describe("abortListeners", () => {
  it("runs everything that was added when the signal aborts, once and in order", () => {
    const controller = new AbortController();
    const ran: number[] = [];
    for (let index = 0; index < 3; index++) abortListeners(controller.signal).add(() => ran.push(index));
    controller.abort();
    controller.abort();
    expect(ran).toEqual([0, 1, 2]);
  });

  it("puts one listener on a signal, however many wait and however often", () => {
    const { signal } = new AbortController();
    for (let index = 0; index < 100; index++) {
      const run = () => {};
      abortListeners(signal).add(run);
      if (index % 2 === 0) abortListeners(signal).delete(run);
    }
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
  });

  it("does not run what was deleted, not even by a listener before it", () => {
    const controller = new AbortController();
    const listeners = abortListeners(controller.signal);
    const ran: string[] = [];
    const late = () => ran.push("late");
    listeners.add(() => {
      ran.push("first");
      listeners.delete(late);
    });
    listeners.add(late);
    controller.abort();
    expect(ran).toEqual(["first"]);
  });

  it("holds nothing after the abort", () => {
    const controller = new AbortController();
    const listeners = abortListeners(controller.signal);
    listeners.add(() => {});
    controller.abort();
    expect(listeners.size).toBe(0);
  });
});
