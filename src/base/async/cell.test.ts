// What listeners of a cell hear, in which order, and how waiting for a value ends.
import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { createLog, shareLog } from "../ports/world.js";
import { Cell } from "./cell.js";
import { abortListeners } from "./scope.js";

const never = new AbortController().signal;

describe("a cell", () => {
  test("tells every change, and neither the current value nor an identical one", () => {
    const cell = new Cell(Number.NaN);
    const heard: number[] = [];
    cell.subscribe((value) => heard.push(value));
    for (const value of [Number.NaN, 1, 1, 2, 0, -0]) cell.set(value);
    expect(heard).toEqual([1, 2, 0, -0]);
    expect(cell.value).toBe(-0);
  });

  test("tells nobody who has stopped, not even within the same change", () => {
    const cell = new Cell(0);
    const heard: string[] = [];
    cell.subscribe(() => stopSecond());
    const stopSecond = cell.subscribe((value) => heard.push(`second ${value}`));
    cell.subscribe((value) => heard.push(`third ${value}`));
    cell.set(1);
    expect(heard).toEqual(["third 1"]);
  });

  test("tells a change to those who listened when it was made", () => {
    const cell = new Cell(0);
    const heard: number[] = [];
    const stop = cell.subscribe(() => {
      stop();
      cell.set(2);
      cell.subscribe((value) => heard.push(value));
    });
    cell.set(1);
    expect([heard, cell.value]).toEqual([[], 2]);
    cell.set(3);
    expect(heard).toEqual([3]);
  });

  test("tells all listeners one order, also when a listener sets it", () => {
    const cell = new Cell(0);
    const heard: number[] = [];
    cell.subscribe((value) => value === 1 && cell.set(2));
    cell.subscribe((value) => heard.push(value));
    cell.set(1);
    expect(heard).toEqual([1, 2]);
  });

  test("counts one function subscribed twice as two listeners", () => {
    const cell = new Cell(0);
    const heard: number[] = [];
    const listener = (value: number) => heard.push(value);
    const stop = cell.subscribe(listener);
    cell.subscribe(listener);
    stop();
    stop();
    cell.set(1);
    expect(heard).toEqual([1]);
  });

  test("tells the others when a listener throws, reports it, and goes on working", () => {
    const lines: string[] = [];
    shareLog(createLog({ level: "error", now: () => 0, write: (line) => lines.push(line) }));
    const cell = new Cell(0);
    const heard: number[] = [];
    const stopFirst = cell.subscribe(() => {
      throw new Error("first");
    });
    cell.subscribe((value) => heard.push(value));
    cell.set(1);
    const stopLast = cell.subscribe(() => {
      throw new Error("last");
    });
    cell.set(2);
    stopFirst();
    stopLast();
    cell.set(3);
    expect(heard).toEqual([1, 2, 3]);
    expect(lines.map((line) => /"error":"(\w+)"/u.exec(line)?.[1])).toEqual(["first", "first", "last"]);
  });
});

describe("until", () => {
  test("resolves with the current value when it passes, even on an aborted signal", async () => {
    expect(await new Cell(1).until((value) => value === 1, AbortSignal.abort())).toBe(1);
  });

  test("resolves with the first value that passes, though it is gone by then", async () => {
    const cell = new Cell(0);
    const passed = cell.until((value) => value >= 2, never);
    for (const value of [1, 2, 3, 0]) cell.set(value);
    expect(await passed).toBe(2);
  });

  test("rejects with the reason of its signal, before or while it waits", async () => {
    const cell = new Cell(0);
    await expect(cell.until(() => false, AbortSignal.abort("early"))).rejects.toBe("early");
    const controller = new AbortController();
    const waiting = cell.until(() => false, controller.signal);
    controller.abort("late");
    await expect(waiting).rejects.toBe("late");
  });

  test("rejects when the test throws, and does not trouble whoever set the value", async () => {
    const cell = new Cell(0);
    const failing = (value: number) => {
      if (value === 1) throw new Error("bad test");
      return false;
    };
    const waiting = cell.until(failing, never);
    expect(() => cell.set(1)).not.toThrow();
    await expect(waiting).rejects.toThrow("bad test");
    await expect(cell.until(failing, never)).rejects.toThrow("bad test");
  });

  test("takes one listener of a signal, however many wait: Node warns of a leak at the eleventh", async () => {
    const cell = new Cell(0);
    const controller = new AbortController();
    const waiting = Array.from({ length: 20 }, () => cell.until((value) => value === 1, controller.signal));
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    cell.set(1);
    await expect(Promise.all(waiting)).resolves.toHaveLength(20);
  });

  test("leaves no listener behind, on the signal or on the cell", async () => {
    const cell = new Cell(0);
    const controller = new AbortController();
    let calls = 0;
    const test = (value: number) => {
      calls += 1;
      return value === 1;
    };
    const passed = cell.until(test, controller.signal);
    expect(abortListeners(controller.signal).size).toBe(1);
    cell.set(1);
    await passed;
    expect(abortListeners(controller.signal).size).toBe(0);
    const aborted = cell.until((value) => test(value) && false, controller.signal);
    controller.abort("end");
    await expect(aborted).rejects.toBe("end");
    const before = calls;
    cell.set(2);
    expect(calls).toBe(before);
  });
});
