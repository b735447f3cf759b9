// What a tree of processes takes is what the system shows for all of it, and nothing of others.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { totalmem } from "node:os";
import { expect, test } from "vitest";
import { memoryBytes, memoryOf } from "./processes.js";

const MB = 2 ** 20;

/** Holds 100 MB itself, and has a child in another group that holds 60 MB. */
const PROGRAM = `
const held = Buffer.alloc(100 * 2 ** 20, 1);
const child = require("node:child_process").spawn(process.execPath, ["-e",
  "const held = Buffer.alloc(60 * 2 ** 20, 1); console.log('ready'); setInterval(() => held.length, 1000);"],
  { detached: true, stdio: ["ignore", "inherit", "ignore"] });
process.stdin.on("end", () => { child.kill("SIGKILL"); process.exit(0); }).resume();
setInterval(() => held.length, 1000);
`;

test("there is as much as the machine has, or the container", () => {
  expect(memoryBytes()).toBeGreaterThan(0);
  expect(memoryBytes()).toBeLessThanOrEqual(totalmem());
});

test.skipIf(process.platform !== "linux")("all of a tree is counted, also what left its group", async () => {
  const child = spawn(process.execPath, ["-e", PROGRAM], { detached: true, stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  const id = child.pid ?? 0;
  const all = memoryOf([id, process.pid]);
  const bytes = all?.get(id) ?? 0;
  expect(bytes).toBeGreaterThan(160 * MB);
  expect(bytes).toBeLessThan(600 * MB);
  const own = process.memoryUsage.rss();
  expect(Math.abs((memoryOf([process.pid, id])?.get(process.pid) ?? 0) - own)).toBeLessThan(own);
  child.stdin.end();
  await once(child, "exit");
  expect(memoryOf([id])?.get(id)).toBeUndefined();
});
