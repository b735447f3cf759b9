// The esbuild part of the build: one file to start with, lazy chunks beside it, and a proof that the start stays light.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";
import { licenceTexts } from "./licences.js";
import { mergeChunks } from "./merge-chunks.js";
import { throughDoors } from "./through-doors.js";

/** What `initialize` must not pay for: these packages may only be reached through a dynamic import. */
const LAZY_PACKAGES = [
  ...["@agentclientprotocol/", "@modelcontextprotocol/", "@ai-sdk/", "@opentelemetry/", "zod/"],
  ...["diff/", "htmlparser2/", "entities/", "ws/", "prom-client/", "uqr/"],
];

/**
 * The start and the chunks each carry their own copy of the small modules both use. These may not be in the start: a
 * second copy of the error class breaks `instanceof`, and a second copy of a module's state is a second state.
 */
const ONE_COPY = ["src/base/errors.ts", "src/base/io/process.ts", "src/world/guardian.ts"];

/**
 * Bundled CommonJS packages `require` built-in modules. `process.getBuiltinModule` (Node 20.16) gives them without the
 * import of `node:module` that the usual `createRequire` banner costs at start.
 */
const REQUIRE_SHIM =
  'const require=(id)=>{const m=process.getBuiltinModule(id);if(m)return m;throw new Error("not bundled: "+id)};\n';

const SHEBANG = "#!/usr/bin/env node\n";

type Output = { readonly metafile: Metafile };

/** The entry points of the library: what `exports` of package.json names, from `src/library`. */
export const LIBRARY_ENTRIES = ["index", "mcp", "tools", "acp", "gateway", "testing"] as const;

/** The two packages that are not bundled: one is an optional peer, the other has native code and is optional. */
const EXTERNAL = ["@opentelemetry/api", "@napi-rs/keyring"];

/**
 * Two builds. The start of the command line is one self-contained CommonJS file: every file more is a read and a compile, and
 * Node's ESM loader alone costs a fifth of an empty process on Node 20. The library and what the command line imports
 * dynamically are built together as ESM, so that both use the same chunks.
 */
export async function bundleProduct(root: string, outDir: string): Promise<string[]> {
  const entry = "src/cli/main.ts";
  if (!existsSync(join(root, entry))) throw new Error(`${entry} does not exist: there is no command line to build`);
  const folder = join(outDir, "cli");
  const lazy = new Map<string, string>();
  const start = await bundle(root, {
    entryPoints: { main: entry },
    outdir: folder,
    format: "cjs",
    plugins: [lazyImports(root, lazy)],
    logOverride: { "empty-import-meta": "silent" }, // code that starts workers is left out of it: refuseMissingWorkers
  });
  refuseHeavyStart(start.metafile, entry);
  refuseSecondCopies(start.metafile);
  makeCommand(join(folder, "main.js"));
  writeFileSync(join(folder, "package.json"), '{ "type": "commonjs" }\n');
  const product = await bundle(root, {
    entryPoints: {
      ...Object.fromEntries(LIBRARY_ENTRIES.map((name) => [name, `src/library/${name}.ts`])),
      ...Object.fromEntries(Array.from(lazy, ([name, source]) => [`chunks/${name}`, source])),
    },
    outdir: outDir,
    format: "esm",
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    external: EXTERNAL,
    plugins: [WITHOUT_PROCESS_METRICS, throughDoors(root)],
  });
  writeFileSync(join(outDir, "THIRD-PARTY-LICENSES.txt"), licenceTexts(root, product.metafile));
  const files = await mergeChunks(root, outDir, product.metafile);
  return [
    `cli: ${kb(bytesOf(start))} at start in one file; ${kb(bytesOf(product))} in ${files} files shared with the library`,
  ];
}

/** The metrics that prom-client has of the process require the optional peer at once; Tenon has its own. */
const WITHOUT_PROCESS_METRICS: Plugin = {
  name: "without-process-metrics",
  setup: ({ onLoad }) => {
    onLoad({ filter: /prom-client[\\/]lib[\\/]defaultMetrics\.js$/ }, () => {
      return { contents: "module.exports = () => {};", loader: "js" };
    });
  },
};

export async function bundleDemoServer(root: string, outDir: string): Promise<string[]> {
  const entry = "examples/demo-server/main.ts";
  if (!existsSync(join(root, entry))) return [];
  const folder = join(outDir, "demo-server");
  const output = await bundle(root, { entryPoints: { main: entry }, outdir: folder, format: "esm" });
  makeCommand(join(folder, "main.js"));
  writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), licenceTexts(root, output.metafile));
  return [`demo server: ${kb(bytesOf(output))}`];
}

async function bundle(root: string, options: BuildOptions & { readonly outdir: string }): Promise<Output> {
  mkdirSync(options.outdir, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    mainFields: ["module", "main"], // the UMD form of jsonc-parser hides its requires from bundlers
    target: "node20",
    minify: true,
    metafile: true,
    legalComments: "none",
    logLevel: "warning",
    ...options,
  });
  if (!metafile) throw new Error("esbuild gave no metafile");
  if (options.format === "esm") for (const output of Object.keys(metafile.outputs)) addRequire(join(root, output));
  return { metafile };
}

/** Leaves every `import()` of our own files to the chunks, and collects what has to be there: chunk name -> source. */
function lazyImports(root: string, found: Map<string, string>): Plugin {
  const isOurs = Symbol("resolved by this plugin");
  return {
    name: "lazy-imports",
    setup: ({ onResolve, resolve }) => {
      onResolve({ filter: /^\./ }, async ({ path, kind, resolveDir, importer, pluginData }) => {
        if (kind !== "dynamic-import" || pluginData === isOurs) return undefined;
        const target = await resolve(path, { kind, resolveDir, importer, pluginData: isOurs });
        if (target.errors.length > 0) return { errors: target.errors };
        const source = relative(root, target.path);
        const name = source
          .replace(/^src\//, "")
          .replace(/\.ts$/, "")
          .replaceAll("/", "-");
        found.set(name, source);
        return { path: `../chunks/${name}.js`, external: true };
      });
    },
  };
}

/** esbuild's banner would go into every chunk; only those that hold bundled CommonJS need the shim. */
function addRequire(file: string): void {
  const code = readFileSync(file, "utf8");
  if (!code.includes("Dynamic require of")) return;
  const shebang = code.startsWith("#!") ? code.slice(0, code.indexOf("\n") + 1) : "";
  writeFileSync(file, shebang + REQUIRE_SHIM + code.slice(shebang.length));
}

function makeCommand(file: string): void {
  const code = readFileSync(file, "utf8");
  if (!code.startsWith("#!")) writeFileSync(file, SHEBANG + code);
  chmodSync(file, 0o755);
}

function refuseHeavyStart(metafile: Metafile, entry: string): void {
  const heavy = inputsOf(metafile).filter((input) =>
    LAZY_PACKAGES.some((name) => input.includes(`node_modules/${name}`)),
  );
  const [first] = heavy;
  if (first === undefined) return;
  const chain = importChain(metafile, entry, first);
  throw new Error(
    `the start of the command line loads ${heavy.length} modules that must be lazy; the first comes in by\n  ${chain.join("\n  -> ")}`,
  );
}

function refuseSecondCopies(metafile: Metafile): void {
  const twice = inputsOf(metafile).filter((input) => ONE_COPY.includes(input));
  if (twice.length > 0) {
    throw new Error(`${twice.join(", ")} is in the start of the command line and in its chunks: it must exist once`);
  }
}

/** The modules of which something is left in the output. */
function inputsOf(metafile: Metafile): string[] {
  return Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([input, { bytesInOutput }]) => (bytesInOutput > 0 ? [input] : [])),
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
  if (!cameFrom.has(target)) return [entry, "(an import() of a package)", target];
  const chain: string[] = [];
  for (let at = target; at !== ""; at = cameFrom.get(at) ?? "") chain.unshift(at);
  return chain;
}

function bytesOf({ metafile }: Output): number {
  return Object.values(metafile.outputs).reduce((total, output) => total + output.bytes, 0);
}

function kb(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KB`;
}
