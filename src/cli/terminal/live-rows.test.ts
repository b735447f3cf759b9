// Rows are redrawn in place and leave nothing; without a terminal, or on a dumb one, there is one plain line at most.
import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { liveRows } from "./live-rows.js";
import { type Clock, createPalette } from "./stream.js";

/** Ticks when told to. */
function handClock(): Clock & { tick(): void; pass(ms: number): void } {
  const ticks = new Set<() => void>();
  let nowMs = 0;
  return {
    now: () => nowMs,
    every: (_ms, run) => {
      ticks.add(run);
      return () => ticks.delete(run);
    },
    after: (_ms, run) => {
      ticks.add(run);
      return () => ticks.delete(run);
    },
    tick: () => {
      for (const run of ticks) run();
    },
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

function streams(isTTY: boolean) {
  const errorOutput = Object.assign(new PassThrough(), isTTY ? { isTTY, columns: 60 } : {});
  return { errorOutput, said: () => String(errorOutput.read() ?? "") };
}

const palette = createPalette(false);
const ROWS = new Map([
  ["files", "npx is downloading or starting server-filesystem"],
  ["web", "connecting to example.com"],
]);

afterEach(() => vi.unstubAllEnvs());

test("each row says what goes on and for how long; what is drawn is erased before it is drawn again", () => {
  vi.stubEnv("TERM", "xterm");
  const clock = handClock();
  const { errorOutput, said } = streams(true);
  const rows = liveRows(ROWS, { errorOutput, palette, clock });
  const first = said();
  expect(first).not.toContain("A"); // nothing above is touched
  expect(first.replaceAll("\u001b[2K", "")).toMatch(
    /^⠋ files {2}npx is downloading.* {2}0 ms\n⠋ web {4}connecting to example\.com {2}0 ms\n$/u,
  );
  clock.pass(1_500);
  rows.done("web", "✓", "ready, 3 tools");
  const drawn = said();
  expect(drawn.startsWith("\u001b[2A\u001b[2K")).toBe(true);
  expect(drawn).toMatch(/\n\u001b\[2K✓ web {4}ready, 3 tools {2}1\.5 s\n$/u);
  clock.pass(1_000);
  clock.tick();
  expect(said()).toContain("✓ web    ready, 3 tools  1.5 s"); // its time stands still
  rows[Symbol.dispose]();
  expect(said()).toBe("\u001b[2A\u001b[2K\n\u001b[2K\n\u001b[2A");
});

test("names of wide characters leave the texts one below the other", () => {
  vi.stubEnv("TERM", "xterm");
  const { errorOutput, said } = streams(true);
  const names = new Map([
    ["服务器", "connecting"],
    ["files", "connecting"],
  ]);
  using _ = liveRows(names, { errorOutput, palette, clock: handClock() });
  expect(said().replaceAll("\u001b[2K", "")).toMatch(/^⠋ 服务器 {2}connecting.*\n⠋ files {3}connecting/u);
});

test.each([
  ["a pipe", false, "xterm"],
  ["a dumb terminal", true, "dumb"],
])("%s gets one line, of those that are still waited for", (_name, isTTY, term) => {
  vi.stubEnv("TERM", term);
  const clock = handClock();
  const { errorOutput, said } = streams(isTTY);
  const rows = liveRows(ROWS, { errorOutput, palette, clock });
  rows.done("web", "✓", "ready");
  expect(said()).toBe("");
  clock.tick();
  expect(said()).toBe("Connecting to files…\n");
  rows[Symbol.dispose]();
});

test("many rows are bounded, those that are waited for first", () => {
  vi.stubEnv("TERM", "xterm");
  const { errorOutput, said } = streams(true);
  const many = new Map(Array.from({ length: 40 }, (_, at) => [`server-${at}`, "connecting"]));
  const rows = liveRows(many, { errorOutput, palette, clock: handClock() });
  const lines = said().trimEnd().split("\n");
  expect(lines).toHaveLength(13);
  expect(lines.at(-1)).toContain("… 28 more");
  rows[Symbol.dispose]();
});
