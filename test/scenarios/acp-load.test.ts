// What `npm run bench -- stream --assert` and `npm run bench -- sessions --assert` promise, on the Node under test.
import { join } from "node:path";
import { expect } from "vitest";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const ROOT = join(import.meta.dirname, "../..");

async function keepsItsPromises(bench: string, samples: number): Promise<void> {
  using home = new TemporaryFolder();
  const args = [
    "--import",
    "tsx",
    `bench/${bench}.ts`,
    "--assert",
    "--samples",
    String(samples),
    "--node",
    agentNode(),
  ];
  const runs: string[] = [];
  // Other work on a shared machine can spoil a median; it does not spoil three in a row.
  for (let attempt = 1; attempt <= 3; attempt++) {
    const { code, stdout, stderr } = await runCommand(process.execPath, args, { cwd: ROOT, env: cleanEnv(home.path) });
    expect(JSON.parse(stdout), stderr).toMatchObject({ bench });
    if (code === 0) return;
    runs.push(stderr);
  }
  expect.fail(`a promise is broken three times in a row:\n${runs.join("\n")}`);
}

scenario(
  ["P64"],
  "updates come at least as fast as from the bare SDK, and a chunk takes less than a millisecond",
  () => keepsItsPromises("stream", 3),
  { timeoutMs: 300_000 },
);

scenario(
  ["P64"],
  "an idle session among a thousand holds no more than one among a hundred, and nothing when it is closed",
  () => keepsItsPromises("sessions", 1),
  { timeoutMs: 600_000 },
);
