// `npm run docs`: writes docs/reference from the code, with --picture also docs/picture.svg from a run of what was built.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { referencePages } from "./docs/pages.js";
import { pictureLines, pictureSvg } from "./docs/picture.js";
import { ROOT } from "./lib/run.js";

function write(path: string, text: string): void {
  const file = join(ROOT, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(`wrote ${path}`);
}

for (const { path, text } of referencePages()) write(path, text);
if (process.argv.includes("--picture")) write("docs/picture.svg", pictureSvg(await pictureLines()));
