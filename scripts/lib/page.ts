// The build of the page: hashed files that the gateway serves, and the script and style of a page that stands alone.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { type BuildOptions, build, type Metafile } from "esbuild";
import { licenceTexts } from "./licences.js";

/** What a browser loads before it shows anything, compressed: more than this is no light page. */
const FIRST_MAX_BYTES = 120_000;

const OPTIONS = {
  bundle: true,
  platform: "browser",
  target: ["es2023", "chrome120", "firefox121", "safari17"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  metafile: true,
  legalComments: "none",
  logLevel: "warning",
} as const satisfies BuildOptions;

/** Writes `page/` (served) and `trace-page/` (put into a file by `tenon trace`). */
export async function bundlePage(root: string, outDir: string): Promise<string[]> {
  const folder = join(outDir, "page");
  const { metafile } = await build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints: { page: "src/page/main.tsx" },
    outdir: folder,
    format: "esm",
    splitting: true,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
  });
  const alone = await build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints: { trace: "src/page/trace.tsx" },
    outdir: join(outDir, "trace-page"),
    format: "iife",
  });
  const script = outputOf(metafile, ".js");
  const style = outputOf(metafile, ".css");
  const icon = readFileSync(join(root, "src/page/icon.svg"));
  const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, iconName), icon);
  const chunks = staticImports(metafile, script);
  const preloads = chunks.map((path) => `<link rel="modulepreload" href="/assets/${basename(path)}" />`).join("\n    ");
  const html = readFileSync(join(root, "src/page/index.html"), "utf8")
    .replace("<!-- PRELOADS -->", preloads)
    .replace("ICON", iconName)
    .replace("STYLE", basename(style))
    .replace("SCRIPT", basename(script));
  writeFileSync(join(folder, "index.html"), html);
  writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), licenceTexts(root, metafile));
  const first = [script, style, ...chunks].map((path) => readFileSync(join(root, path)));
  const bytes = [...first, Buffer.from(html)].reduce((sum, file) => sum + gzipSync(file).length, 0);
  if (bytes > FIRST_MAX_BYTES)
    throw new Error(`the page loads ${bytes} bytes first, and ${FIRST_MAX_BYTES} is the most`);
  const all = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
  const kb = (size: number) => `${(size / 1024).toFixed(1)} KB`;
  return [`page: ${kb(bytes)} compressed at first, ${kb(all)} in all; ${kb(sizeOf(alone.metafile))} to stand alone`];
}

function sizeOf({ outputs }: Metafile): number {
  return Object.values(outputs).reduce((sum, output) => sum + output.bytes, 0);
}

function outputOf(metafile: Metafile, ending: string): string {
  const isEntry = ([path]: [string, unknown]) => path.endsWith(ending) && basename(path).startsWith("page-");
  const found = Object.entries(metafile.outputs).find(isEntry)?.[0];
  if (found === undefined) throw new Error(`the build of the page made no ${ending}`);
  return found;
}

function staticImports({ outputs }: Metafile, entry: string): string[] {
  const found = new Set<string>();
  const visit = (path: string) => {
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind !== "import-statement" || found.has(next)) continue;
      found.add(next);
      visit(next);
    }
  };
  visit(entry);
  return [...found];
}
