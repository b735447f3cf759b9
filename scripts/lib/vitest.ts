// Runs vitest and reads how many tests passed, failed and were skipped from its own report.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ROOT, type RunOptions, runTool } from "./run.js";

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface TestRun extends Tally {
  readonly output: string;
  /** The files that took longest, with their seconds. */
  readonly slowest: string;
}

export async function runVitest(name: string, args: readonly string[], options: RunOptions = {}): Promise<TestRun> {
  const report = join(ROOT, ".cache/reports", `${name}-${process.pid}.json`);
  mkdirSync(dirname(report), { recursive: true });
  const reporters = ["--reporter=dot", "--reporter=json", `--outputFile.json=${report}`];
  const { code, output } = await runTool("vitest", ["run", ...reporters, ...args], options);
  const { slowest, ...tally } = readReport(report);
  rmSync(report, { force: true });
  // A file that does not load, or an error outside any test, fails the run without failing a test.
  const hidden = code !== 0 && tally.failed === 0 ? 1 : 0;
  return { ...tally, failed: tally.failed + hidden, output, slowest };
}

interface Report {
  readonly numPassedTests?: number;
  readonly numFailedTests?: number;
  readonly numPendingTests?: number;
  readonly numTodoTests?: number;
  readonly testResults?: readonly { readonly name: string; readonly startTime: number; readonly endTime: number }[];
}

const SLOWEST = 12;

function readReport(path: string): Tally & Pick<TestRun, "slowest"> {
  if (!existsSync(path)) return { passed: 0, failed: 0, skipped: 0, slowest: "" };
  const report: Report = JSON.parse(readFileSync(path, "utf8"));
  const files = (report.testResults ?? []).map(({ name, startTime, endTime }) => {
    return { name: basename(name, ".test.ts"), seconds: Math.round((endTime - startTime) / 1_000) };
  });
  files.sort((one, other) => other.seconds - one.seconds);
  return {
    passed: report.numPassedTests ?? 0,
    failed: report.numFailedTests ?? 0,
    skipped: (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0),
    slowest: files
      .slice(0, SLOWEST)
      .map((file) => `${file.name} ${file.seconds}`)
      .join(", "),
  };
}
