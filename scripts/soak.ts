// `npm run soak -- <name> [options]`: runs scripts/soak/<name>.ts; what it finds without options is kept in docs/soak.md.
// Without a name all of them run, one after the other.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./lib/run.js";
import { type Soak, type SoakFacts, type SoakReport, withSection } from "./lib/soak-report.js";

const FOLDER = join(ROOT, "scripts/soak");
const DOCUMENT = join(ROOT, "docs/soak.md");

/** A soak is a file, or a folder with a `main.ts` where it has parts. */
function entryOf(name: string): string | undefined {
  return [`${name}.ts`, `${name}/main.ts`].map((file) => join(FOLDER, file)).find((file) => existsSync(file));
}

async function run(name: string, args: readonly string[]): Promise<boolean> {
  const entry = entryOf(name);
  if (entry === undefined) throw new Error(`there is no soak ${name}`);
  const module: { readonly soak: Soak } = await import(pathToFileURL(entry).href);
  console.log(`soak ${name}`);
  const report = await module.soak(args);
  const facts = {
    date: new Date().toISOString().slice(0, 10),
    commit: execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim(),
    machine: `Node ${process.version} on ${process.platform} with ${cpus().length} cores`,
    command: `npm run soak -- ${name}`,
  };
  if (args.length === 0) keep(name, report, facts); // with options it is a part, or something else
  console.log(`soak ${name}: ${report.passed} passed, ${report.failed} failed`);
  return report.failed === 0;
}

function keep(name: string, report: SoakReport, facts: SoakFacts): void {
  mkdirSync(dirname(DOCUMENT), { recursive: true });
  const document = existsSync(DOCUMENT) ? readFileSync(DOCUMENT, "utf8") : "";
  writeFileSync(DOCUMENT, withSection(document, name, report, facts));
}

async function main([name, ...args]: readonly string[]): Promise<number> {
  const all = readdirSync(FOLDER).map((file) => file.replace(/\.ts$/, ""));
  const known = [...new Set(all)].filter((candidate) => entryOf(candidate) !== undefined).sort();
  if (name !== undefined && !known.includes(name)) {
    console.error(`usage: npm run soak -- [name] [options]; there are: ${known.join(", ") || "none yet"}`);
    return 2;
  }
  let isGreen = true;
  for (const one of name === undefined ? known : [name]) isGreen = (await run(one, args)) && isGreen;
  return isGreen ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
