// `npm run bench -- <name> [options]`: builds if needed, then runs bench/<name>; each prints one JSON line.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "./lib/run.js";

const FOLDER = join(ROOT, "bench");
const [name, ...rest] = process.argv.slice(2);
const names = readdirSync(FOLDER, { withFileTypes: true })
  .map((entry) => (entry.isDirectory() ? entry.name : entry.name.replace(/(\.test)?\.(ts|mjs)$/, "")))
  .filter((candidate) => entryOf(candidate) !== undefined);

/** A bench is a file, or a folder with a `main.ts` where it has parts. */
function entryOf(bench: string): string | undefined {
  return [`${bench}.ts`, `${bench}.mjs`, `${bench}/main.ts`]
    .map((file) => join(FOLDER, file))
    .find((file) => existsSync(file));
}

async function main(): Promise<number> {
  const entry = name === undefined ? undefined : entryOf(name);
  if (entry === undefined) {
    console.error(
      `usage: npm run bench -- <name> [options]; there are: ${[...new Set(names)].join(", ") || "none yet"}`,
    );
    return 2;
  }
  const build = await run(process.execPath, ["--import", "tsx", join(ROOT, "scripts/build.ts"), "--if-needed"]);
  if (build.code !== 0) {
    console.error(build.output);
    return build.code;
  }
  return spawnSync(process.execPath, ["--import", "tsx", entry, ...rest], { cwd: ROOT, stdio: "inherit" }).status ?? 1;
}

process.exitCode = await main();
