// The programs that benches start: bundled once per run, so that neither a loader nor many small files are measured.
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "../../scripts/lib/run.js";
import { bundleWorkersInto } from "../../scripts/lib/workers.js";

const FOLDER = join(ROOT, ".cache/bench");

const REQUIRE =
  'const require = (id) => { const found = process.getBuiltinModule(id); if (!found) throw new Error("no " + id); return found; };';

/** Bundles `bench/<source>` without `loaded`, and says where the result is. Not minified: a profile of it must be readable. */
export async function bundleProgram(source: string, loaded: readonly string[] = []): Promise<string> {
  const outfile = join(FOLDER, source.replaceAll("/", "-").replace(/\.ts$/, ".mjs"));
  await build({
    absWorkingDir: ROOT,
    entryPoints: [join("bench", source)],
    outfile,
    bundle: true,
    platform: "node",
    mainFields: ["module", "main"], // the UMD form of jsonc-parser hides its requires from bundlers
    target: "node20",
    format: "esm",
    // Bundled CommonJS packages require built-in modules, and `ws` two packages that need not be there.
    external: ["bufferutil", "utf-8-validate", ...loaded],
    banner: { js: REQUIRE },
    logLevel: "warning",
  });
  await bundleWorkersInto(ROOT, FOLDER); // beside the programs that start them
  return outfile;
}
