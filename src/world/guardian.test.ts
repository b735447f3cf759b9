// The guardian: whoever is registered ends when the host does, however it ends, and the guardian leaves with the last of them.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { endTree } from "../base/io/process.js";
import { LIMITS } from "../base/limits.js";
import { guardian, MARKER } from "./guardian.js";
import { nodeWorld } from "./node.js";

const ROOT = join(import.meta.dirname, "../..");
const isLinux = process.platform === "linux";

/** A zombie is dead: how soon it is reaped is up to this machine's init. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isLinux || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

async function untilGone(pids: readonly number[], withinMs: number): Promise<number> {
  const start = performance.now();
  while (pids.some((pid) => isAlive(pid)) && performance.now() - start < withinMs) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(pids.filter((pid) => isAlive(pid))).toEqual([]);
  return performance.now() - start;
}

/** A process that uses the real World as Tenon does, and prints what its `body` returns. */
async function host(body: string): Promise<{ kill: () => void; facts: Record<string, unknown> }> {
  const script = `
    import { nodeWorld } from "./src/world/index.ts";
    import { guardian } from "./src/world/guardian.ts";
    const world = nodeWorld();
    const shell = (script) => world.spawn({ command: "/bin/sh", args: ["-c", script], env: { PATH: "/usr/bin:/bin" }, cwd: "/" });
    const line = (child) => new Promise((resolve) => child.stdout.once("data", (chunk) => resolve(chunk.toString().trim())));
    const facts = await (async () => { ${body} })();
    process.stdout.write(JSON.stringify({ guardian: guardian.pid, ...facts }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [text] = await once(child.stdout, "data");
  const facts: Record<string, unknown> = JSON.parse(String(text));
  return { kill: () => child.kill("SIGKILL"), facts };
}

describe.runIf(isLinux)("after SIGKILL of the host", () => {
  test("a group that ignores TERM is gone within half a second, daemons and the scratch folder too, then the guardian", async () => {
    const { kill, facts } = await host(`
      const stubborn = shell("trap '' TERM; sleep 60 & echo $!; wait");
      const grandchild = Number(await line(stubborn));
      const daemon = shell("setsid sh -c 'echo $$; trap \\"\\" TERM; exec sleep 60 >/dev/null 2>&1'");
      return { stubborn: stubborn.pid, grandchild, daemon: Number(await line(daemon)), folder: world.files.scratchFolder() };`);
    const { folder, ...pids } = facts;
    const all = Object.values(pids).map(Number);
    expect(all.every((pid) => pid > 1 && isAlive(pid))).toBe(true);
    kill();
    const { guardian: guardianPid, ...servers } = pids;
    expect(await untilGone(Object.values(servers).map(Number), 3_000)).toBeLessThan(500);
    await untilGone([Number(guardianPid)], 3_000);
    expect(existsSync(String(folder))).toBe(false);
  });
});

describe.runIf(isLinux)("folders that were made for a sandbox", () => {
  test("go with a host that is killed where they are empty, and stay where something lies in them", async () => {
    const { kill, facts } = await host(`
      const { mkdirSync, writeFileSync } = await import("node:fs");
      const folder = world.files.scratchFolder();
      const root = folder + "-made";
      for (const name of ["empty", "full", "released"]) mkdirSync(root + "/" + name, { recursive: true });
      writeFileSync(root + "/full/file", "");
      const start = (...names) => world.spawn({ command: "/bin/sh", args: ["-c", "exec sleep 60"], env: { PATH: "/usr/bin:/bin" }, cwd: "/",
        madeFolders: names.map((name) => root + "/" + name) });
      const other = start("released", "empty");
      start("empty", "full");
      other.signalGroup("SIGKILL");
      await other.exited;
      await other.release();
      mkdirSync(root + "/released", { recursive: true });
      mkdirSync(root + "/empty", { recursive: true });
      return { root };`);
    kill();
    await untilGone([Number(facts["guardian"])], 3_000);
    const root = String(facts["root"]);
    expect(readdirSync(root).sort()).toEqual(["full", "released"]);
    rmSync(root, { recursive: true });
  });
});

describe.skipIf(process.platform === "win32")("in a host that lives", () => {
  const world = nodeWorld();
  const shell = (script: string) =>
    world.spawn({ command: "/bin/sh", args: ["-c", script], env: { PATH: "/usr/bin:/bin" }, cwd: "/" });

  test("there is one for all children, and none when the last has been ended", async () => {
    const [one, two] = [shell("cat"), shell("cat")];
    const pid = guardian.pid ?? 0;
    expect(isAlive(pid)).toBe(true);
    await endTree(one, world, LIMITS.exitGrace);
    expect(guardian.pid).toBe(pid);
    await endTree(two, world, LIMITS.exitGrace);
    expect(guardian.pid).toBeUndefined();
    expect(isAlive(pid)).toBe(false);
  });

  test("one that is killed is replaced while there is something to guard", async () => {
    const child = shell("cat");
    const first = guardian.pid ?? 0;
    process.kill(first, "SIGKILL");
    await expect.poll(() => guardian.pid !== undefined && guardian.pid !== first).toBe(true);
    await endTree(child, world, LIMITS.exitGrace);
    expect(guardian.pid).toBeUndefined();
  });

  test.runIf(isLinux)("signals that reach a whole terminal do not end it", async () => {
    const child = shell("cat");
    const pid = guardian.pid ?? 0;
    const ignored = () => /SigIgn:\s*(\w+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    await expect.poll(() => BigInt(`0x${ignored()}`) & 0x4000n).toBe(0x4000n); // once it runs, TERM is nothing to it
    for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.kill(pid, signal);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([guardian.pid, isAlive(pid)]).toEqual([pid, true]);
    await endTree(child, world, LIMITS.exitGrace);
  });

  test.runIf(isLinux)("a daemon that left its group is ended with its server, and only that server's", async () => {
    const daemonise = "setsid sh -c 'echo $$; exec sleep 60 >/dev/null 2>&1' & cat >/dev/null";
    const [one, two] = [shell(daemonise), shell(daemonise)];
    const pids = await Promise.all([one, two].map(async ({ stdout }) => Number(String(await once(stdout, "data")))));
    expect(pids.every((pid) => isAlive(pid))).toBe(true);
    await endTree(one, world, LIMITS.exitGrace);
    expect(pids.map((pid) => isAlive(pid))).toEqual([false, true]);
    await endTree(two, world, LIMITS.exitGrace);
    expect(pids.map((pid) => isAlive(pid))).toEqual([false, false]);
  });

  test("a child carries its marker, a value that is its own", async () => {
    const children = [shell(`echo "$${MARKER}"`), shell(`echo "$${MARKER}"`)];
    const values = await Promise.all(children.map(async ({ stdout }) => String(await once(stdout, "data")).trim()));
    expect(new Set(values).size).toBe(2);
    for (const value of values) expect(value.startsWith(`${guardian.id}.`)).toBe(true);
    for (const child of children) await endTree(child, world, LIMITS.exitGrace);
  });

  test("the scratch folder is private, and the guardian goes when it is empty again", async () => {
    const folder = world.files.scratchFolder();
    const file = world.files.openAppend(join(folder, "a", "b"));
    file.close();
    expect(guardian.pid).toBeDefined();
    await world.files.remove(join(folder, "a"));
    expect([existsSync(folder), guardian.pid]).toEqual([false, undefined]);
  });
});
