// The walls hold: a fault planted in a copy of this very tree is caught. `npm run check:walls` plants all of them.
import { join } from "node:path";
import { expect } from "vitest";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const ROOT = join(import.meta.dirname, "../..");
/** One of each step that catches some; all of them are planted once in a run of CI. */
const FAULTS = ["door bypassed", "floating promise"];

scenario(
  ["S4"],
  "a fault planted in each wall makes the responsible step of npm run check fail, for that reason",
  async () => {
    using home = new TemporaryFolder();
    // The reasons name the planted file, so a step that is red anyway catches nothing; `check` itself ran them before.
    const args = ["--import", "tsx", "scripts/check-walls.ts", "--checked", "--only", FAULTS.join(",")];
    const { code, stdout, stderr } = await runCommand(process.execPath, args, { cwd: ROOT, env: cleanEnv(home.path) });
    for (const fault of FAULTS) expect(stdout).toMatch(new RegExp(`^caught +${fault} +by `, "m"));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  },
  { timeoutMs: 300_000 },
);
