// Builds `dist/`: the library by tsc, the command line and the demo server by esbuild. Staged aside, swapped in at the end.
// `--if-needed` does nothing when no input changed; `--cli-only` leaves the library of the last build as it is.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bundleCli, bundleDemoServer } from "./lib/bundle.js";
import { hashTree } from "./lib/hash-tree.js";
import { ROOT, runTool } from "./lib/run.js";
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

async function buildLibrary(outDir: string): Promise<void> {
  const { code, output } = await runTool("tsc", ["-p", "tsconfig.build.json", "--outDir", outDir]);
  if (code !== 0) throw new Error(`tsc found faults in the library:\n${output}`);
}

async function main(flags: ReadonlySet<string>): Promise<void> {
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
    const lines = [await bundleCli(ROOT, staged), await bundleDemoServer(ROOT, staged)];
    lines.push(await bundleWorkersInto(ROOT, staged));
    if (flags.has("--cli-only")) {
      rmSync(STAMP, { force: true });
      for (const part of ["cli", "demo-server"]) {
        if (existsSync(join(staged, part))) swap(join(staged, part), join(ROOT, "dist", part));
      }
    } else {
      await buildLibrary(staged);
      swap(staged, join(ROOT, "dist"));
      writeFileSync(STAMP, hash);
    }
    for (const line of lines.flat()) console.log(line);
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
