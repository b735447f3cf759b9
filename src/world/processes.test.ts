// A process is told apart from the one before it, and from none at all.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { processes } from "./processes.js";

test("a living process has one identity, and none once it is gone", async () => {
  expect(processes.identityOf(processes.ownId)).toBe(processes.identityOf(process.pid));
  const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] });
  const id = child.pid ?? 0;
  const identity = processes.identityOf(id);
  expect(identity).toBeDefined();
  expect(identity).not.toBe(processes.identityOf(process.pid));
  expect(processes.identityOf(id)).toBe(identity);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(processes.identityOf(id)).toBeUndefined();
});

test("what is no number of a process is no process", () => {
  for (const id of [0, -1, 1.5, Number.NaN, 2 ** 40]) expect(processes.identityOf(id)).toBeUndefined();
});
