// Imports through the index of a folder, as the bundler should see them: from the file that has what is imported. It would load
// everything the index names otherwise, wherever one name of it is used.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Plugin } from "esbuild";

const IMPORT = /^(import|export)\s+\{([^}]*)\}\s+from\s+"([^"]+)";/gmu;

interface Origin {
  readonly file: string;
  readonly name: string;
}

export function throughDoors(root: string): Plugin {
  const doors = new Map<string, ReadonlyMap<string, Origin>>();
  const doorOf = (file: string): ReadonlyMap<string, Origin> => {
    const known = doors.get(file);
    if (known) return known;
    const found = new Map<string, Origin>();
    for (const [, word, names = "", from = ""] of readFileSync(file, "utf8").matchAll(IMPORT)) {
      if (word !== "export") continue;
      for (const { name, as } of namesIn(names)) found.set(as, { file: fileAt(file, from), name });
    }
    doors.set(file, found);
    return found;
  };
  return {
    name: "through-doors",
    setup: ({ onLoad }) => {
      onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
        if (!path.startsWith(join(root, "src"))) return undefined;
        const text = readFileSync(path, "utf8");
        const contents = text.replace(IMPORT, (whole, word: string, names: string, from: string) => {
          if (!from.startsWith(".") || !from.endsWith("/index.js")) return whole;
          const door = doorOf(fileAt(path, from));
          const lines = namesIn(names).map(({ name, as }) => {
            const origin = door.get(name);
            const place = origin ? pathFrom(path, origin.file) : from;
            return `${word} { ${origin?.name ?? name} as ${as} } from ${JSON.stringify(place)};`;
          });
          return lines.join(" ") + "\n".repeat(whole.split("\n").length - 1);
        });
        return { contents, loader: "ts" };
      });
    },
  };
}

/** Without those that are types only. */
function namesIn(list: string): readonly { readonly name: string; readonly as: string }[] {
  const parts = list.split(",").map((part) => part.trim());
  return parts.flatMap((part) => {
    if (part === "" || part.startsWith("type ")) return [];
    const [, name, as] = /^(\w+)(?:\s+as\s+(\w+))?$/u.exec(part) ?? [];
    if (name === undefined) throw new Error(`the build cannot read this name of an import: ${part}`);
    return [{ name, as: as ?? name }];
  });
}

function fileAt(importer: string, from: string): string {
  return join(dirname(importer), from).replace(/\.js$/u, ".ts");
}

function pathFrom(importer: string, file: string): string {
  const path = relative(dirname(importer), file).replaceAll("\\", "/").replace(/\.ts$/u, ".js");
  return path.startsWith(".") ? path : `./${path}`;
}
