// Runs before a build in a checkout: points git at the hooks of this repository and completes the lockfiles. Never fails it.
// No script of npm's own (`prepare`): npm would warn whoever installs or links the package that it wants to run something.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { completeLocks } from "./lib/complete-lock.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");

function useHooks() {
  const current = spawnSync("git", ["config", "--local", "core.hooksPath"], { cwd: ROOT, encoding: "utf8" });
  // Without git, or where someone has hooks of their own, there is nothing to set.
  if (current.error !== undefined || current.stdout.trim() !== "") return;
  spawnSync("git", ["config", "--local", "core.hooksPath", ".githooks"], { cwd: ROOT, stdio: "ignore" });
}

if (existsSync(join(ROOT, ".git"))) {
  useHooks();
  try {
    completeLocks(ROOT);
  } catch (error) {
    console.error(`prepare: the lockfiles are left as they are: ${error.message}`);
  }
}
