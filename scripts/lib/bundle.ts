// The esbuild part of the build: ESM with lazy chunks, and a proof that nothing heavy is loaded at start.
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { type BuildResult, build, type Metafile } from "esbuild";
import { licenceTexts } from "./licences.js";

type Bundle = BuildResult<{ metafile: true }>;

/** What `initialize` must not pay for: these packages may only be reached through a dynamic import. */
const LAZY_PACKAGES = ["@agentclientprotocol/", "@modelcontextprotocol/", "@ai-sdk/", "zod/"];

/**
 * Bundled CommonJS packages `require` built-in modules. `process.getBuiltinModule` (Node 20.16) gives them without the
 * import of `node:module` that the usual `createRequire` banner costs at start.
 */
const REQUIRE_SHIM =
  'const require=(id)=>{const m=process.getBuiltinModule(id);if(m)return m;throw new Error("not bundled: "+id)};\n';

export async function bundleCli(root: string, outDir: string): Promise<string[]> {
  const entry = "src/cli/main.ts";
  if (!existsSync(join(root, entry))) throw new Error(`${entry} does not exist: there is no command line to build`);
  const { metafile } = await bundle(root, entry, join(outDir, "cli"));
  const main = outputOf(metafile, entry);
  const atStart = staticOutputs(metafile, main);
  refuseHeavyStart(metafile, entry, atStart);
  const all = Object.entries(metafile.outputs);
  const startBytes = sum(atStart.map((output) => metafile.outputs[output]?.bytes ?? 0));
  return [
    `cli: ${atStart.length} of ${all.length} files at start, ${kb(startBytes)} of ${kb(sum(all.map(([, o]) => o.bytes)))}`,
    ...atStart.map(
      (output) => `  start  ${relative(outDir, join(root, output))}  ${kb(metafile.outputs[output]?.bytes ?? 0)}`,
    ),
  ];
}

export async function bundleDemoServer(root: string, outDir: string): Promise<string[]> {
  const entry = "examples/demo-server/main.ts";
  if (!existsSync(join(root, entry))) return [];
  const { metafile } = await bundle(root, entry, join(outDir, "demo-server"));
  return [`demo server: ${kb(sum(Object.values(metafile.outputs).map((output) => output.bytes)))}`];
}

async function bundle(root: string, entry: string, outdir: string): Promise<Bundle> {
  const result = await build({
    absWorkingDir: root,
    entryPoints: { main: entry },
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    minify: true,
    metafile: true,
    chunkNames: "chunks/[name]-[hash]",
    legalComments: "none",
    logLevel: "warning",
  });
  for (const output of Object.keys(result.metafile.outputs)) {
    dropHelperImports(result.metafile, root, output);
    finish(join(root, output));
  }
  writeFileSync(join(outdir, "THIRD-PARTY-LICENSES.txt"), licenceTexts(root, result.metafile));
  return result;
}

/** esbuild's banner would go into every chunk; only the entry needs a shebang and only one chunk holds the require shim. */
function finish(file: string): void {
  let code = readFileSync(file, "utf8");
  const isEntry = file.endsWith("/main.js");
  if (code.includes("Dynamic require of")) {
    const shebang = code.startsWith("#!") ? code.slice(0, code.indexOf("\n") + 1) : "";
    code = shebang + REQUIRE_SHIM + code.slice(shebang.length);
  }
  if (isEntry && !code.startsWith("#!")) code = `#!/usr/bin/env node\n${code}`;
  writeFileSync(file, code);
  if (isEntry) chmodSync(file, 0o755);
}

/**
 * esbuild imports the chunk of its own helpers for side effects even where no helper is used. The helpers have none, and
 * a file less to load is start time.
 */
function dropHelperImports(metafile: Metafile, root: string, output: string): void {
  const meta = metafile.outputs[output];
  if (!meta) return;
  const file = join(root, output);
  let code = readFileSync(file, "utf8");
  meta.imports = meta.imports.filter(({ path, kind }) => {
    const target = metafile.outputs[path];
    if (kind !== "import-statement" || !target || Object.keys(target.inputs).length > 0) return true;
    const shorter = code.replace(new RegExp(`import"[^"]*${basename(path).replaceAll(".", "\\.")}";`), "");
    const isGone = shorter !== code;
    code = shorter;
    return !isGone;
  });
  writeFileSync(file, code);
}

function outputOf(metafile: Metafile, entry: string): string {
  const found = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === entry);
  if (!found) throw new Error(`esbuild reports no output for ${entry}`);
  return found[0];
}

/** The entry chunk and every chunk it imports statically: what Node loads before the first line runs. */
function staticOutputs(metafile: Metafile, main: string): string[] {
  const seen = new Set([main]);
  for (const output of seen) {
    for (const { path, kind } of metafile.outputs[output]?.imports ?? []) {
      if (kind === "import-statement" && metafile.outputs[path]) seen.add(path);
    }
  }
  return [...seen];
}

function refuseHeavyStart(metafile: Metafile, entry: string, atStart: readonly string[]): void {
  const heavy = new Set<string>();
  for (const output of atStart) {
    for (const [input, { bytesInOutput }] of Object.entries(metafile.outputs[output]?.inputs ?? {})) {
      if (bytesInOutput > 0 && LAZY_PACKAGES.some((name) => input.includes(`node_modules/${name}`))) heavy.add(input);
    }
  }
  const [first] = heavy;
  if (first === undefined) return;
  const chain = importChain(metafile, entry, first);
  throw new Error(
    `the start of the command line loads ${heavy.size} modules that must be lazy; the first comes in by\n  ${chain.join("\n  -> ")}`,
  );
}

/** The shortest static way from the entry to a module, so that the message shows which import to make dynamic. */
function importChain(metafile: Metafile, entry: string, target: string): string[] {
  const cameFrom = new Map<string, string>([[entry, ""]]);
  for (const input of cameFrom.keys()) {
    if (input === target) break;
    for (const { path, kind } of metafile.inputs[input]?.imports ?? []) {
      if (kind === "import-statement" && !cameFrom.has(path)) cameFrom.set(path, input);
    }
  }
  if (!cameFrom.has(target)) return [entry, "(a chunk shared with a lazy part)", target];
  const chain: string[] = [];
  for (let at = target; at !== ""; at = cameFrom.get(at) ?? "") chain.unshift(at);
  return chain;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function kb(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KB`;
}
