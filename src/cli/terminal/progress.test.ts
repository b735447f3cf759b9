// Progress is for what takes longer than a second, and leaves nothing on a terminal.
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { progress } from "./screen.js";
import type { Clock } from "./stream.js";
import { wrapText } from "./text.js";

class TestClock implements Clock {
  #nowMs = 0;
  readonly #runs = new Set<{
    readonly everyMs: number;
    nextMs: number;
    readonly isOnce: boolean;
    readonly run: () => void;
  }>();

  now(): number {
    return this.#nowMs;
  }

  every(everyMs: number, run: () => void): () => void {
    return this.#add({ everyMs, nextMs: this.#nowMs + everyMs, isOnce: false, run });
  }

  after(everyMs: number, run: () => void): () => void {
    return this.#add({ everyMs, nextMs: this.#nowMs + everyMs, isOnce: true, run });
  }

  advance(ms: number): void {
    for (let passed = 0; passed < ms; passed++) {
      this.#nowMs += 1;
      for (const timer of this.#runs) {
        if (timer.nextMs > this.#nowMs) continue;
        timer.nextMs += timer.everyMs;
        if (timer.isOnce) this.#runs.delete(timer);
        timer.run();
      }
    }
  }

  get count(): number {
    return this.#runs.size;
  }

  #add(timer: { everyMs: number; nextMs: number; isOnce: boolean; run: () => void }): () => void {
    this.#runs.add(timer);
    return () => this.#runs.delete(timer);
  }
}

function streams(isTerminal: boolean): { errorOutput: PassThrough; said: () => string } {
  const errorOutput = Object.assign(new PassThrough(), isTerminal ? { isTTY: true, columns: 40 } : {});
  return { errorOutput, said: () => String(errorOutput.read() ?? "") };
}

test("elsewhere it is one line after a second, with the words of then, and none for what was quicker", () => {
  const clock = new TestClock();
  const { errorOutput, said } = streams(false);
  const slow = progress({ errorOutput }, "Connecting to a, b…", clock);
  slow.update("Connecting to b…");
  clock.advance(999);
  expect(said()).toBe("");
  clock.advance(5_000);
  slow[Symbol.dispose]();
  expect(said()).toBe("Connecting to b…\n");
  progress({ errorOutput }, "quick", clock)[Symbol.dispose]();
  clock.advance(5_000);
  expect([said(), clock.count]).toEqual(["", 0]);
});

test("on a terminal it is one line within the width that is gone at the end", () => {
  const clock = new TestClock();
  const { errorOutput, said } = streams(true);
  const shown = progress({ errorOutput }, `Connecting to ${"x".repeat(100)}\u001b[2J`, clock);
  clock.advance(2_000);
  shown[Symbol.dispose]();
  const frames = said().split("\r\u001b[2K");
  expect(frames.at(-1)).toBe("");
  expect(frames.length).toBeGreaterThan(20);
  for (const frame of frames) expect(frame.length).toBeLessThan(40);
  expect(frames.join("")).not.toContain("\u001b");
  expect(clock.count).toBe(0);
});

test("text is broken between words, and never loses one", () => {
  const text = "one two three four five six";
  for (const width of [1, 5, 9, 100]) expect(wrapText(text, width).join(" ")).toBe(text);
  expect(wrapText(text, 9)).toEqual(["one two", "three", "four five", "six"]);
  expect(wrapText("", 9)).toEqual([""]);
});
