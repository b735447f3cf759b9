// Commands after `!`.
import { expect, it } from "vitest";
import { systemClock } from "../terminal/stream.js";
import { runShell } from "./shell.js";

it.skipIf(process.platform === "win32")("shows lines as they are, and of an endless one the beginning", async () => {
  const lines: string[] = [];
  const { code } = await runShell("echo one; echo; head -c 3000000 /dev/zero | tr '\\0' x; echo; printf last", {
    cwd: "/",
    env: { PATH: process.env["PATH"], SHELL: "/bin/sh" },
    signal: new AbortController().signal,
    clock: systemClock,
    onLine: (line) => lines.push(line),
  });
  expect(code).toBe(0);
  expect(lines.map((line) => line.slice(0, 4))).toEqual(["one", "", "xxxx", "last"]);
  expect(lines[2]?.length).toBe(16_385);
  expect(lines[2]?.endsWith("x…")).toBe(true);
});

it.skipIf(process.platform === "win32").each([
  ["is asked to end and does not", "trap '' TERM; echo begun; while :; do sleep 0.01; done"],
  // It ends when nobody reads any more.
  ["left one behind that holds its output", "setsid sh -c 'echo begun; while echo on; do sleep 0.01; done' & sleep 60"],
])("stops a command that %s", async (_, command) => {
  const stop = new AbortController();
  const waits: number[] = [];
  const { code } = await runShell(command, {
    cwd: "/",
    env: { PATH: process.env["PATH"], SHELL: "/bin/sh" },
    signal: stop.signal,
    clock: {
      after: (delayMs, run) => {
        waits.push(delayMs);
        const timer = setImmediate(run);
        return () => clearImmediate(timer);
      },
    },
    onLine: (line) => {
      if (line === "begun") stop.abort();
    },
  });
  expect(code).toBeNull();
  expect(waits).toEqual([2_000]);
});
