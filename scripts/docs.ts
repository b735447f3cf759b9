// `npm run docs`: writes docs/reference from the code and, for the library, from what was built; with --screens also the pictures of the chat, from a terminal that runs what was built.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { API_REPORT, apiReport } from "./docs/api-report.js";
import { referencePages } from "./docs/pages.js";
import { ROOT } from "./lib/run.js";

function write(path: string, text: string): void {
  const file = join(ROOT, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(`wrote ${path}`);
}

for (const { path, text } of referencePages()) write(path, text);
write(API_REPORT, apiReport()); // from dist/, so build first
if (process.argv.includes("--screens")) {
  const { screens } = await import("./docs/screens.js");
  for (const path of await screens()) console.log(`wrote ${path}`);
}
