// Runs after `npm install` in a checkout: points git at the hooks of this repository. Never fails an install.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");

// Without git, in a tarball or where someone has hooks of their own there is nothing to set.
if (existsSync(join(ROOT, ".git"))) {
  const current = spawnSync("git", ["config", "--local", "core.hooksPath"], { cwd: ROOT, encoding: "utf8" });
  if (current.error === undefined && current.stdout.trim() === "") {
    spawnSync("git", ["config", "--local", "core.hooksPath", ".githooks"], { cwd: ROOT, stdio: "ignore" });
  }
}
