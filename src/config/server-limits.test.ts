// What is said about all servers together comes from the user alone; whether one is shared, from its own entry.
import { expect, test } from "vitest";
import { fakeWorld } from "../testing/index.js";
import { readyServers } from "./effective.js";
import { type EffectiveConfig, loadConfig } from "./load-config.js";

const USER = "/home/me/.config/tenon/config.json";

async function load(files: Readonly<Record<string, object>>): Promise<EffectiveConfig> {
  const texts = Object.entries(files).map(([path, value]) => [path, JSON.stringify(value)]);
  const env = { HOME: "/home/me", PATH: "/usr/bin" };
  const world = fakeWorld({ env, files: { "/usr/bin/run": "", ...Object.fromEntries(texts) } });
  return await loadConfig({ world, cwd: "/project" });
}

const settingsOf = (config: EffectiveConfig) =>
  readyServers(config).map(({ settings: { mayShare, pool } }) => ({ mayShare, pool }));

test("limits reach every server, in the units the pool counts in; what is not said is left to it", async () => {
  const mcpServers = {
    a: { command: "run" },
    b: { command: "run", shared: false },
    c: { url: "https://x.test/", shared: true },
  };
  const serverLimits = { maxProcesses: 7, maxMemoryMb: 100, idleMs: 0 };
  const pool = { maxProcesses: 7, maxMemoryBytes: 104_857_600, idleMs: 0 };
  expect(settingsOf(await load({ [USER]: { mcpServers, serverLimits } }))).toEqual([
    { mayShare: true, pool },
    { mayShare: false, pool },
    { mayShare: true, pool },
  ]);
  expect(settingsOf(await load({ [USER]: { mcpServers: { a: { command: "run" } } } }))).toEqual([
    { mayShare: true, pool: {} },
  ]);
});

test("a project cannot say how many servers may run, and nobody can say nonsense", async () => {
  const mcpServers = { a: { command: "run" } };
  const project = await load({
    [USER]: { mcpServers },
    "/project/.tenon/config.json": { serverLimits: { maxProcesses: 9_999 } },
  });
  expect(settingsOf(project)).toEqual([{ mayShare: true, pool: {} }]);
  expect(project.problems).toMatchObject([
    { message: expect.stringContaining("a project can never change how many servers may run") },
  ]);
  const wrong = await load({ [USER]: { mcpServers, serverLimits: { maxProcesses: 0, maxMemory: 1 } } });
  expect(settingsOf(wrong)).toEqual([{ mayShare: true, pool: {} }]);
  expect(wrong.problems.length).toBeGreaterThan(0);
});
