// `npm test [vitest arguments]`: builds if needed, installs the peers if needed, then runs unit tests and scenarios.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensurePeers } from "./lib/peers.js";
import { ROOT, run } from "./lib/run.js";

const build = await run(process.execPath, ["--import", "tsx", join(ROOT, "scripts/build.ts"), "--if-needed"], {
  echo: true,
});
if (build.code === 0) {
  await ensurePeers();
  const vitest = join(ROOT, "node_modules/.bin/vitest");
  const { status } = spawnSync(vitest, ["run", ...process.argv.slice(2)], { cwd: ROOT, stdio: "inherit" });
  process.exitCode = status ?? 1;
} else process.exitCode = build.code;
