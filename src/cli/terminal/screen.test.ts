// The screen keeps answers whole, puts lines between them, and leaves no trace of live lines.
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { Screen } from "./screen.js";
import type { Clock } from "./stream.js";

class ManualClock implements Clock {
  readonly #ticks = new Set<() => void>();

  now(): number {
    return 0;
  }

  every(_intervalMs: number, run: () => void): () => void {
    this.#ticks.add(run);
    return () => this.#ticks.delete(run);
  }

  after(): () => void {
    return () => {};
  }

  get running(): number {
    return this.#ticks.size;
  }

  tick(): void {
    for (const run of [...this.#ticks]) run();
  }
}

function collect(stream: PassThrough): () => string {
  let all = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => (all += chunk));
  return () => {
    const seen = all;
    all = "";
    return seen;
  };
}

function terminal(): PassThrough & { isTTY: boolean; columns: number } {
  return Object.assign(new PassThrough(), { isTTY: true, columns: 20 });
}

const live = { render: (columns: number, spinner: string) => `${spinner} busy ${columns}` };
const UP_AND_CLEAR = "\u001b[1A\u001b[0J";

describe("Screen", () => {
  it("ends a streamed line before it writes a line of its own", () => {
    const main = new PassThrough();
    const side = new PassThrough();
    const [answers, lines] = [collect(main), collect(side)];
    const screen = new Screen({ main, side, clock: new ManualClock() });
    screen.text("half ");
    screen.text("a line");
    screen.line("a note");
    screen.text("whole\n");
    screen.line("another");
    screen.endLine();
    expect(answers()).toBe("half a line\nwhole\n");
    expect(lines()).toBe("a note\nanother\n");
  });

  it("shows no live line and starts no timer where nobody looks", () => {
    const stream = new PassThrough();
    const written = collect(stream);
    const clock = new ManualClock();
    const screen = new Screen({ main: stream, side: stream, clock });
    const stop = screen.show(live);
    expect(clock.running).toBe(0);
    stop();
    expect(written()).toBe("");
  });

  it("turns the spinner in place and takes the live line away when it ends", () => {
    const stream = terminal();
    const written = collect(stream);
    const clock = new ManualClock();
    const screen = new Screen({ main: stream, side: stream, clock });
    const stop = screen.show(live);
    expect(written()).toBe("⠋ busy 20\n");
    clock.tick();
    expect(written()).toBe(`${UP_AND_CLEAR}⠙ busy 20\n`);
    stop();
    expect(written()).toBe(UP_AND_CLEAR);
    expect(clock.running).toBe(0);
  });

  it("writes lines above a live line, and hides it while an answer is in the middle of a line", () => {
    const stream = terminal();
    const written = collect(stream);
    const clock = new ManualClock();
    const screen = new Screen({ main: stream, side: stream, clock });
    screen.show(live);
    written();
    screen.line("a note");
    expect(written()).toBe(`${UP_AND_CLEAR}a note\n⠋ busy 20\n`);
    screen.text("half");
    expect(written()).toBe(`${UP_AND_CLEAR}half`);
    clock.tick();
    expect(written()).toBe("");
    screen.text(" done\n");
    expect(written()).toBe(" done\n⠙ busy 20\n");
  });

  it("stays away from live lines while it is held", () => {
    const stream = terminal();
    const written = collect(stream);
    const clock = new ManualClock();
    const screen = new Screen({ main: stream, side: stream, clock });
    screen.show(live);
    written();
    const resume = screen.hold();
    clock.tick();
    expect(written()).toBe(UP_AND_CLEAR);
    resume();
    resume();
    expect(written()).toBe("⠙ busy 20\n");
  });

  it("draws at most six live lines", () => {
    const stream = terminal();
    const written = collect(stream);
    const screen = new Screen({ main: stream, side: stream, clock: new ManualClock() });
    for (let count = 0; count < 9; count += 1) screen.show({ render: () => `line ${count}` });
    expect(written().split("\u001b[0J").at(-1)).toBe("line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n");
  });
});
