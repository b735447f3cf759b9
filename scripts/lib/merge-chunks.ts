// Makes few files of many: esbuild gives every set of entry points that shares something a chunk of its own, and each file costs its
// reader a third of a millisecond.
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { build, type Metafile } from "esbuild";

/** Chunks that the same of these entry points load are one file. */
const LOADED_FIRST = ["index.js", "tools.js", "mcp.js", "chunks/cli-run.js"];

const DEPENDENCY = /\b(import|export)\s*(?:(\{[^{}]*\})\s*from\s*)?"([^"]+)";/gu;

/** Rewrites the files of a build in `outDir`, and returns how many there are now. */
export async function mergeChunks(root: string, outDir: string, metafile: Metafile): Promise<number> {
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [join(root, path), output]));
  const bySet = new Map<string, string[]>();
  for (const [file, entries] of loadedBy(root, outDir, outputs)) {
    if (outputs.get(file)?.entryPoint !== undefined) continue;
    const set = entries.join(" ");
    bySet.set(set, [...(bySet.get(set) ?? []), file]);
  }
  /** By path of a chunk that is gone: where its exports are now, and what their names begin with. */
  const moved = new Map<string, { readonly file: string; readonly prefix: string }>();
  const groups = [...bySet.values()].filter(({ length }) => length > 1);
  // Their names have hashes of what is in them: a process that runs while Tenon is updated must not take a new file for an old one.
  const hash = createHash("sha256")
    .update(
      groups
        .flat()
        .map((file) => basename(file))
        .sort()
        .join("\n"),
    )
    .digest("hex");
  for (const [index, files] of groups.entries()) {
    const merged = join(outDir, `chunks/shared-${index}-${hash.slice(0, 8)}.js`);
    for (const [place, file] of files.entries()) moved.set(file, { file: merged, prefix: `c${place}_` });
  }
  const texts = new Map<string, string>();
  for (const merged of new Set(Array.from(moved.values(), ({ file }) => file))) {
    const names = [...moved].filter(([, { file }]) => file === merged);
    const lines = names.map(([file, { prefix }]) => {
      const exported = (outputs.get(file)?.exports ?? []).map((name) => `${name} as ${prefix}${name}`);
      return `export { ${exported.join(", ")} } from ${JSON.stringify(file)};`;
    });
    texts.set(merged, await concatenated(lines.join("\n"), new Set(names.map(([file]) => file)), merged));
  }
  for (const file of outputs.keys()) if (!moved.has(file)) texts.set(file, readFileSync(file, "utf8"));
  for (const [file, text] of texts) {
    const placed = withNewPlaces(text, file, moved);
    const missed = [...moved.keys()].find((gone) => placed.includes(`/${basename(gone)}"`));
    if (missed !== undefined) throw new Error(`${file} still refers to ${missed}, which is a part of another file now`);
    writeFileSync(file, placed);
  }
  for (const file of moved.keys()) rmSync(file);
  return texts.size;
}

type Outputs = ReadonlyMap<string, Metafile["outputs"][string]>;

/** By chunk, in the order in which they run: the entry points that load it. */
function loadedBy(root: string, outDir: string, outputs: Outputs): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const entry of LOADED_FIRST) {
    const seen = new Set<string>();
    const visit = (file: string) => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const { path, kind } of outputs.get(file)?.imports ?? []) {
        if (kind === "import-statement" && outputs.has(join(root, path))) visit(join(root, path));
      }
      found.set(file, [...(found.get(file) ?? []), entry]);
    };
    const file = join(outDir, entry);
    if (!outputs.has(file)) throw new Error(`${entry} is not among what was built`);
    visit(file);
  }
  return found;
}

/** What is imported from elsewhere stays an import, by the path it has from the new file. */
async function concatenated(contents: string, files: ReadonlySet<string>, merged: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: dirname(merged) },
    bundle: true,
    write: false,
    platform: "node",
    target: "node20",
    format: "esm",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
    plugins: [
      {
        name: "only-these",
        setup: ({ onResolve }) => {
          onResolve({ filter: /./ }, ({ path, resolveDir }) => {
            if (!path.startsWith(".") && !isAbsolute(path)) return { path, external: true };
            const file = isAbsolute(path) ? path : join(resolveDir, path);
            return files.has(file) ? { path: file } : { path: place(file, merged), external: true };
          });
        },
      },
    ],
  });
  const [output] = outputFiles;
  if (!output) throw new Error(`nothing came of ${merged}`);
  return output.text;
}

function place(file: string, from: string): string {
  const path = relative(dirname(from), file).replaceAll("\\", "/");
  return path.startsWith(".") ? path : `./${path}`;
}

function withNewPlaces(
  text: string,
  from: string,
  moved: ReadonlyMap<string, { readonly file: string; readonly prefix: string }>,
): string {
  const begun = new Set<string>();
  return text.replace(DEPENDENCY, (whole, word: string, names: string | undefined, path: string) => {
    const target = path.startsWith(".") ? moved.get(join(dirname(from), path)) : undefined;
    if (!target) return whole;
    const file = JSON.stringify(place(target.file, from));
    if (names === undefined) {
      const isFirst = begun.size < begun.add(file).size;
      return isFirst ? `${word}${file};` : "";
    }
    const renamed = names
      .slice(1, -1)
      .split(",")
      .map((part) => {
        const name = part.trim();
        return name.includes(" as ") ? `${target.prefix}${name}` : `${target.prefix}${name} as ${name}`;
      });
    return `${word}{${renamed.join(",")}}from${file};`;
  });
}
