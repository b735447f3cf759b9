// The licence texts of the packages inside a bundle: they must travel with the code.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";

export function licenceTexts(root: string, metafile: Metafile): string {
  const folders = new Set<string>();
  for (const input of Object.keys(metafile.inputs)) {
    const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
    if (folder) folders.add(folder);
  }
  return [...folders]
    .sort()
    .map((folder) => describe(join(root, folder)))
    .join("\n");
}

function describe(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry) && existsSync(join(folder, entry)));
  const text = file ? readFileSync(join(folder, file), "utf8").trim() : `Licence: ${license}`;
  return `${"=".repeat(80)}\n${name} ${version} (${license})\n${"=".repeat(80)}\n${text}\n`;
}
