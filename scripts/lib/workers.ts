// The files that run in a thread or a process of their own: every `src/**/*-worker.ts` and `*-program.ts`, each bundled into one `.mjs`
// file that needs no other.
// Source refers to it as `new URL("./x-worker.mjs", import.meta.url)`, so it has to be beside the code that starts it.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";

/** Beside its source, where tests and tsx find it. Git ignores it. */
export async function bundleWorkersInSource(root: string): Promise<void> {
  for (const [path, code] of await bundleWorkers(root)) write(join(root, "src", path), code);
}

/** Beside every file of the product that starts it. */
export async function bundleWorkersInto(root: string, outDir: string): Promise<string[]> {
  const workers = new Map(Array.from(await bundleWorkers(root), ([path, code]) => [basename(path), code]));
  for (const file of readdirSync(outDir, { recursive: true, encoding: "utf8" }).filter((path) =>
    /\.m?js$/.test(path),
  )) {
    for (const [, name = ""] of readFileSync(join(outDir, file), "utf8").matchAll(
      /["'`]\.\/([\w-]+-(?:worker|program)\.mjs)["'`]/g,
    )) {
      const code = workers.get(name);
      if (code === undefined) throw new Error(`${file} starts ${name}, which has no source`);
      write(join(outDir, dirname(file), name), code);
    }
  }
  return [`workers: ${[...workers.keys()].join(", ")}`];
}

/** Path below `src/`, with its new extension -> code. */
export async function bundleWorkers(root: string): Promise<Map<string, string>> {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  const workers = new Map<string, string>();
  for (const source of sources.filter((path) => /-(worker|program)\.ts$/.test(path)).sort()) {
    const { outputFiles } = await build({
      absWorkingDir: root,
      entryPoints: [join("src", source)],
      bundle: true,
      write: false,
      platform: "node",
      format: "esm",
      target: "node20",
      minify: true,
      legalComments: "none",
      logLevel: "warning",
    });
    workers.set(source.replace(/\.ts$/, ".mjs"), outputFiles[0]?.text ?? "");
  }
  return workers;
}

/** By renaming, so that a test run at the same time never reads half a file. */
function write(file: string, code: string): void {
  if (existsSync(file) && readFileSync(file, "utf8") === code) return;
  mkdirSync(dirname(file), { recursive: true });
  const staged = `${file}.${process.pid}`;
  writeFileSync(staged, code);
  renameSync(staged, file);
}
