// Builds `dist/`: library, command line, demo server and page by esbuild, the declarations by tsc and rolldown. Staged aside, swapped in
// at the end. `--if-needed` does nothing when no input changed; `--no-types` leaves the declarations out.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bundleDemoServer, bundleProduct } from "./lib/bundle.js";
import { bundleTypes } from "./lib/declarations.js";
import { hashTree } from "./lib/hash-tree.js";
import { bundlePage } from "./lib/page.js";
import { ROOT, run } from "./lib/run.js";
import { bundleWorkersInSource, bundleWorkersInto } from "./lib/workers.js";

const STAMP = join(ROOT, ".cache/build.stamp");
const INPUTS = [
  "src",
  "examples/demo-server",
  "scripts/build.ts",
  "scripts/lib",
  "package.json",
  "tsconfig.json",
].concat("tsconfig.build.json", "package-lock.json");

function swap(staged: string, target: string): void {
  const old = `${staged}.old`;
  mkdirSync(dirname(target), { recursive: true });
  if (existsSync(target)) renameSync(target, old);
  renameSync(staged, target);
  rmSync(old, { recursive: true, force: true });
}

async function main(flags: ReadonlySet<string>): Promise<void> {
  await run(process.execPath, [join(ROOT, "scripts/prepare.mjs")], { echo: true });
  await bundleWorkersInSource(ROOT); // first: they are among the inputs
  const hash = hashTree(ROOT, INPUTS);
  const isCurrent = existsSync(join(ROOT, "dist")) && existsSync(STAMP) && readFileSync(STAMP, "utf8") === hash;
  if (flags.has("--if-needed") && isCurrent) {
    console.log("build: up to date");
    return;
  }
  const staged = join(ROOT, `.cache/build-${process.pid}`);
  mkdirSync(staged, { recursive: true });
  try {
    const hasTypes = !flags.has("--no-types");
    const [product, demo, page] = await Promise.all([
      bundleProduct(ROOT, staged),
      bundleDemoServer(ROOT, staged),
      bundlePage(ROOT, staged),
      hasTypes ? bundleTypes(ROOT, staged) : undefined,
    ]);
    const workers = await bundleWorkersInto(ROOT, staged);
    swap(staged, join(ROOT, "dist"));
    if (hasTypes) writeFileSync(STAMP, hash);
    else rmSync(STAMP, { force: true });
    for (const line of [...product, ...demo, ...page, ...workers]) console.log(line);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

try {
  await main(new Set(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
