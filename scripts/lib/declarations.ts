// The declarations of the library: emitted by tsc, then one file per entry point, with the types of packages inside.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { LIBRARY_ENTRIES } from "./bundle.js";
import { runTool } from "./run.js";

/** Throws with what tsc says, and when a declaration would need a package: an installed Tenon brings none along. */
export async function bundleTypes(root: string, outDir: string): Promise<void> {
  const emitted = `${outDir}-types`;
  try {
    const { code, output } = await runTool("tsc", ["-p", "tsconfig.build.json", "--outDir", emitted]);
    if (code !== 0) throw new Error(`tsc found faults in the library:\n${output}`);
    const bundle = await rolldown({
      cwd: root,
      input: Object.fromEntries(LIBRARY_ENTRIES.map((name) => [name, join(emitted, "library", `${name}.d.ts`)])),
      external: /^node:/,
      plugins: [dts({ dtsInput: true, tsconfig: false, resolver: "oxc" })],
    });
    const { output: files } = await bundle.generate({ format: "es", chunkFileNames: "types/[name]-[hash].js" });
    for (const file of files) {
      if (file.type !== "chunk" || !file.fileName.endsWith(".d.ts")) continue;
      const foreign = file.imports.filter(
        (name) => !name.startsWith("node:") && !name.endsWith(".ts") && !name.endsWith(".js"),
      );
      if (foreign.length > 0) throw new Error(`${file.fileName} mentions types of ${foreign.join(", ")}`);
      mkdirSync(join(outDir, dirname(file.fileName)), { recursive: true });
      writeFileSync(join(outDir, file.fileName), file.code);
    }
  } finally {
    rmSync(emitted, { recursive: true, force: true });
  }
}
