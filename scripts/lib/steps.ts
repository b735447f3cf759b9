// The steps of `npm run check`, in the order in which their faults are cheapest to hear of.
import { join } from "node:path";
import { type Ran, ROOT, run, runTool } from "./run.js";
import { runVitest, type Tally } from "./vitest.js";

export interface StepResult extends Tally {
  readonly output: string;
}

export interface Step {
  readonly name: string;
  readonly what: string;
  readonly lane: "first" | "static" | "tests";
  /** Meaningless when this other step failed. */
  readonly needs?: string;
  run(): Promise<StepResult>;
}

const GATES = ["test/architecture.test.ts", "test/coverage-gate.test.ts"];

export const STEPS: readonly Step[] = [
  {
    name: "build",
    what: "library, command line, nothing heavy at start",
    lane: "first",
    run: () => one(run(process.execPath, ["--import", "tsx", join(ROOT, "scripts/build.ts"), "--if-needed"])),
  },
  {
    name: "format",
    what: "biome",
    lane: "static",
    run: () => one(runTool("biome", ["check", "--max-diagnostics=200", "."])),
  },
  {
    name: "lint",
    what: "oxlint, type-aware",
    lane: "static",
    run: () => one(runTool("oxlint", ["--type-aware", "--deny-warnings"])),
  },
  { name: "types", what: "tsc", lane: "static", run: () => one(runTool("tsc", ["--noEmit", "-p", "tsconfig.json"])) },
  { name: "page-types", what: "tsc", lane: "static", run: () => one(runTool("tsc", ["--noEmit", "-p", "src/page"])) },
  {
    name: "walls",
    what: "architecture and requirement coverage",
    lane: "tests",
    run: () => runVitest("walls", ["--project", "unit", ...GATES]),
  },
  {
    name: "unit",
    what: "tests beside the code",
    lane: "tests",
    run: () => runVitest("unit", ["--project", "unit", ...GATES.flatMap((gate) => ["--exclude", gate])]),
  },
  { name: "dead-code", what: "knip", lane: "static", run: () => one(runTool("knip", ["--no-progress"])) },
  {
    name: "package",
    what: "publint",
    lane: "static",
    needs: "build",
    run: () => one(runTool("publint", ["run", "--strict", "."])),
  },
  {
    name: "package-types",
    what: "are the types wrong",
    lane: "static",
    needs: "build",
    run: () => one(runTool("attw", ["--pack", ".", "--profile", "esm-only", "--no-emoji"])),
  },
];

/** A step that is no test run counts as one test. */
async function one(running: Promise<Ran>): Promise<StepResult> {
  const { code, output } = await running;
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, output };
}
