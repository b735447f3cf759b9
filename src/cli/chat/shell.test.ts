// Commands after `!`.
import { expect, it } from "vitest";
import { runShell } from "./shell.js";

it.skipIf(process.platform === "win32")("shows lines as they are, and of an endless one the beginning", async () => {
  const lines: string[] = [];
  const { code } = await runShell("echo one; echo; head -c 3000000 /dev/zero | tr '\\0' x; echo; printf last", {
    cwd: "/",
    env: { PATH: process.env["PATH"], SHELL: "/bin/sh" },
    signal: new AbortController().signal,
    onLine: (line) => lines.push(line),
  });
  expect(code).toBe(0);
  expect(lines.map((line) => line.slice(0, 4))).toEqual(["one", "", "xxxx", "last"]);
  expect(lines[2]?.length).toBe(16_385);
  expect(lines[2]?.endsWith("x…")).toBe(true);
});
