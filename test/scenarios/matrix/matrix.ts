// Runs families of cells, each in a process of its own built from the sources, and gives their reports.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { bundleWorkersInto } from "../../../scripts/lib/workers.js";
import { type Cell, cellName, familyOf, type Sizes } from "./cells.js";
import type { CellReport } from "./run-cell.js";
import type { RunnerRequest } from "./runner.js";

const ROOT = join(import.meta.dirname, "../../..");
const FOLDER = join(ROOT, ".cache/matrix");

const PROGRAMS = { runner: "test/scenarios/matrix/runner.ts", server: "test/scenarios/matrix/server/main.ts" };

export async function buildPrograms(): Promise<void> {
  const staged = `${FOLDER}-${process.pid}`;
  await build({
    absWorkingDir: ROOT,
    entryPoints: PROGRAMS,
    outdir: staged,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    logLevel: "error",
  });
  await bundleWorkersInto(ROOT, staged);
  mkdirSync(FOLDER, { recursive: true });
  // One by one: another run may be using them right now, and what it has read stays as it was.
  for (const name of readdirSync(staged)) renameSync(join(staged, name), join(FOLDER, name));
  rmSync(staged, { recursive: true });
}

export interface MatrixOptions {
  readonly sizes: Sizes;
  /** The Node that runs the client under test; the one that runs this when left out. */
  readonly node?: string;
  readonly onReport?: (report: CellReport) => void;
}

export async function runMatrix(cells: readonly Cell[], options: MatrixOptions): Promise<CellReport[]> {
  await buildPrograms();
  const reports: CellReport[] = [];
  for (const family of new Set(cells.map(familyOf))) {
    const members = cells.filter((cell) => familyOf(cell) === family);
    reports.push(...(await runFamily(members, options)));
  }
  return reports;
}

export async function runFamily(cells: readonly Cell[], options: MatrixOptions): Promise<CellReport[]> {
  const folder = mkdtempSync(join(tmpdir(), "tenon-matrix-"));
  const { sizes, node = process.execPath, onReport } = options;
  const request: RunnerRequest = { cells, sizes, folder, serverProgram: join(FOLDER, "server.js") };
  const child = spawn(node, ["--expose-gc", join(FOLDER, "runner.js"), JSON.stringify(request)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const reports: CellReport[] = [];
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  createInterface({ input: child.stdout }).on("line", (line) => {
    const report: CellReport = JSON.parse(line);
    reports.push(report);
    onReport?.(report);
  });
  try {
    const code = await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (code === 0 && reports.length === cells.length) return reports;
    const next = cells[reports.length];
    const where = next ? `at ${cellName(next)}` : "at the end";
    throw new Error(`the runner ended ${where} with ${String(code)} after ${reports.length} cells:\n${stderr}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All that is wrong, each in one line. */
export function faultsOf({ cell, problems, delays, endings }: CellReport): string[] {
  const faults = [...problems, ...delays].map((fault) => `${cellName(cell)}: ${fault}`);
  return faults.length === 0 ? [] : [...faults, ...endings.map((ending) => `  ${ending}`)];
}

/** One line for people. */
export function reportLine(report: CellReport): string {
  const { cell, blockedMs, computedMs, longestGapMs, grownMb, heldMb, good, tookMs } = report;
  const figures = `blocked ${blockedMs} ms (${computedMs} computing; gap ${longestGapMs}), +${grownMb} MB (${heldMb} held), good ${good.medianMs}/${good.longestMs} ms, ${tookMs} ms`;
  return `${faultsOf(report).length === 0 ? "ok  " : "FAIL"} ${cellName(cell).padEnd(34)} ${figures}`;
}
