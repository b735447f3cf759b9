// Runs vitest and reads how many tests passed, failed and were skipped from its own report.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT, type RunOptions, runTool } from "./run.js";

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface TestRun extends Tally {
  readonly output: string;
}

export async function runVitest(name: string, args: readonly string[], options: RunOptions = {}): Promise<TestRun> {
  const report = join(ROOT, ".cache/reports", `${name}-${process.pid}.json`);
  mkdirSync(dirname(report), { recursive: true });
  const reporters = ["--reporter=dot", "--reporter=json", `--outputFile.json=${report}`];
  const { code, output } = await runTool("vitest", ["run", ...reporters, ...args], options);
  const tally = readReport(report);
  rmSync(report, { force: true });
  // A file that does not load, or an error outside any test, fails the run without failing a test.
  const hidden = code !== 0 && tally.failed === 0 ? 1 : 0;
  return { ...tally, failed: tally.failed + hidden, output };
}

function readReport(path: string): Tally {
  if (!existsSync(path)) return { passed: 0, failed: 0, skipped: 0 };
  const report: Record<string, unknown> = JSON.parse(readFileSync(path, "utf8"));
  const count = (key: string): number => (typeof report[key] === "number" ? report[key] : 0);
  return {
    passed: count("numPassedTests"),
    failed: count("numFailedTests"),
    skipped: count("numPendingTests") + count("numTodoTests"),
  };
}
