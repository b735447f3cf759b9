// The real World: processes in groups of their own, files that survive, zombies that do not count.
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endTree } from "../base/io/process.js";
import { LIMITS } from "../base/limits.js";
import { nodeWorld } from "./node.js";

const world = nodeWorld();
const shell = (script: string) =>
  world.spawn({ command: "/bin/sh", args: ["-c", script], env: { PATH: "/usr/bin:/bin" }, cwd: "/" });

test("a command that does not exist settles as not started instead of throwing", async () => {
  const child = world.spawn({ command: "/no/such/command", args: [], env: {}, cwd: "/" });
  child.stdin.on("error", () => {});
  expect(await child.exited).toMatchObject({ kind: "not_started", error: { code: "ENOENT" } });
  await endTree(child, world, LIMITS.exitGrace);
});

test("the child gets exactly the environment it was given", async () => {
  const child = shell("env");
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await child.exited;
  expect(text).not.toContain("HOME=");
});

test("a grandchild that outlives its parent is part of the group, and ends with it", async () => {
  const child = shell("sleep 60 >/dev/null 2>&1 & exit 0");
  await child.exited;
  expect(child.isGroupAlive()).toBe(true);
  const before = performance.now();
  await endTree(child, world, { stdinMs: 50, terminateMs: 2_000 });
  expect(child.isGroupAlive()).toBe(false);
  expect(performance.now() - before).toBeLessThan(2_000); // SIGTERM was enough: a zombie did not keep the group alive
});

test.runIf(process.platform === "linux")(
  "SIGTERM to a keeper is for those it holds, and leaves them time",
  async () => {
    const inner = "trap 'sleep 0.1; echo tidied; exit 0' TERM; echo up; while :; do sleep 0.05; done";
    const request = {
      command: "/bin/sh",
      args: ["-c", `/bin/sh -c "$0"; true`, inner],
      env: { PATH: "/usr/bin:/bin" },
      cwd: "/",
    };
    const child = world.spawn({ ...request, isKeeper: true });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await expect.poll(() => said).toBe("up\n");
    await endTree(child, world, { stdinMs: 20, terminateMs: 5_000 });
    await child.exited;
    expect(said).toBe("up\ntidied\n");
    expect(child.isGroupAlive()).toBe(false);
  },
);

test("an appended file is private, keeps what it had, and is there without being closed", () => {
  const folder = mkdtempSync(join(tmpdir(), "tenon-world-"));
  try {
    const path = join(folder, "deep", "journal");
    const file = world.files.openAppend(path);
    file.write("one\n");
    file.write("zwei ü\n");
    expect(readFileSync(path, "utf8")).toBe("one\nzwei ü\n");
    file.close();
    const again = world.files.openAppend(path);
    again.write("three\n");
    utimesSync(path, 1_000_000_000.123, 1_000_000_000.123);
    again.write("four\n", { keepsTime: true });
    expect(Math.floor(statSync(path).mtimeMs)).toBe(1_000_000_000_123);
    again.write("five\n");
    expect(statSync(path).mtimeMs).toBeGreaterThan(1_000_000_000_124);
    again.close();
    expect(readFileSync(path, "utf8")).toBe("one\nzwei ü\nthree\nfour\nfive\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a link is seen as one also when it leads to nothing, and nothing else is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tenon-world-"));
  try {
    symlinkSync("gone/away", join(folder, "dangling"));
    symlinkSync(folder, join(folder, "good"));
    expect(await world.files.linkTarget(join(folder, "dangling"))).toBe("gone/away");
    expect(await world.files.find(join(folder, "dangling"))).toBeUndefined();
    expect(await world.files.linkTarget(join(folder, "good"))).toBe(folder);
    for (const path of [folder, join(folder, "missing"), join(folder, "dangling", "below"), "a\0b"]) {
      expect(await world.files.linkTarget(path)).toBeUndefined();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
