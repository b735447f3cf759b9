// Time to the first answer: the promises that `npm run bench -- start --assert` checks, on the Node under test.
import { join } from "node:path";
import { expect } from "vitest";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const ROOT = join(import.meta.dirname, "../..");

scenario(
  ["S5", "S6"],
  "initialize takes at most 2.5 times an empty Node, and session/new at most 10 ms with any number of servers",
  async () => {
    using home = new TemporaryFolder();
    const args = ["--import", "tsx", "bench/start.ts", "--assert", "--samples", "7", "--node", agentNode()];
    const { code, stdout, stderr } = await runCommand(process.execPath, args, { cwd: ROOT, env: cleanEnv(home.path) });
    const { broken, results } = JSON.parse(stdout);
    expect(results, stderr).toHaveLength(1);
    expect(broken, stderr).toEqual([]);
    expect(code, stderr).toBe(0);
  },
);
