// `npm run check:walls`: plants one fault at a time in a scratch copy and shows that `npm run check` fails because of it.
// `--only name,name` takes some of the faults; `--checked` says that the steps have passed on this tree without any.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { FAULTS, type Fault } from "./lib/faults.js";
import { type Ran, ROOT, run, seconds } from "./lib/run.js";

/** The tree as it would be committed: tracked and new files, without what git ignores. */
async function scratchCopy(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "tenon-walls-"));
  const { code, output } = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
  if (code !== 0) throw new Error(`git cannot list the tree:\n${output}`);
  for (const file of output.split("\0")) {
    if (file === "" || !existsSync(join(ROOT, file))) continue;
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(folder, file));
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

async function check(folder: string, step: string): Promise<Ran> {
  return await run(process.execPath, ["--import", "tsx", "scripts/check.ts", "--only", step], { cwd: folder });
}

/** Why the fault counts as missed, or nothing. */
async function verdict(folder: string, fault: Fault): Promise<string | undefined> {
  const path = join(folder, fault.file);
  const old = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  const planted = fault.plant(old ?? "");
  if (planted === old) return "the fault could not be planted: its place has moved";
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, planted);
  try {
    const { code, output } = await check(folder, fault.step);
    if (code === 0) return "MISSED: the step passed";
    // Some tools colour their output in CI whatever they are told.
    return fault.reason.test(stripVTControlCharacters(output))
      ? undefined
      : `MISSED: the step failed for another reason:\n${output}`;
  } finally {
    if (old === undefined) rmSync(path);
    else writeFileSync(path, old);
  }
}

async function main(faults: readonly Fault[], isChecked: boolean): Promise<boolean> {
  const folder = await scratchCopy();
  let isGreen = true;
  try {
    // Without this a step that is red anyway would seem to catch everything.
    for (const step of isChecked ? [] : ["build", ...new Set(faults.map((fault) => fault.step))]) {
      const { code, output } = await check(folder, step);
      if (code === 0) continue;
      isGreen = false;
      console.log(`the step ${step} is red before any fault is planted:\n${output}`);
    }
    for (const fault of faults) {
      const start = performance.now();
      const miss = await verdict(folder, fault);
      if (miss !== undefined) isGreen = false;
      const time = seconds(performance.now() - start).padStart(7);
      console.log(
        `${miss === undefined ? "caught" : "MISSED"}  ${fault.name.padEnd(20)} by ${fault.step.padEnd(10)} ${time}  ${miss ?? ""}`.trimEnd(),
      );
    }
    return isGreen;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

try {
  const { values } = parseArgs({
    options: { only: { type: "string" }, checked: { type: "boolean", default: false } },
  });
  const only = values.only?.split(",");
  const faults = FAULTS.filter(({ name }) => only === undefined || only.includes(name));
  if (faults.length === 0 || (only !== undefined && faults.length < only.length)) {
    throw new Error(`no such fault; there are: ${FAULTS.map(({ name }) => name).join(", ")}`);
  }
  process.exitCode = (await main(faults, values.checked)) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
