// `npm run verify`: installs what is missing, then runs everything CI runs. The last line is always `N passed, N failed`.
// Plain JavaScript without dependencies: it runs before anything is installed.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isInstalled } from "./lib/installed.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");

function run(command, args) {
  const shell = process.platform === "win32";
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"], shell });
  if (error) console.error(error.message);
  return status;
}

function main() {
  if (!isInstalled(ROOT) && run("npm", ["ci", "--include=dev"]) !== 0) {
    console.log("FAIL  npm ci could not install the dependencies\n");
    return undefined;
  }
  const status = run(process.execPath, ["--import", "tsx", join(ROOT, "scripts/verify.ts"), ...process.argv.slice(2)]);
  return status === 0 || status === 1 ? status : undefined;
}

// `undefined`: whatever should have counted did not come to its end.
const status = main();
if (status === undefined) console.log("0 passed, 1 failed");
process.exitCode = status ?? 1;
