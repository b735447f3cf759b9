// Runs cells of the matrix one after the other in this process: `runner.mjs '<request as JSON>'`; one JSON line a cell.
import { createLog } from "../../../src/base/ports/world.js";
import { nodeWorld } from "../../../src/world/index.js";
import type { Cell, Sizes } from "./cells.js";
import { type CellReport, runCell } from "./run-cell.js";
import { Neighbour } from "./traffic.js";

export interface RunnerRequest {
  readonly cells: readonly Cell[];
  readonly sizes: Sizes;
  readonly serverProgram: string;
  /** A directory for records. */
  readonly folder: string;
}

/** For cells in which something took too long and nothing else was wrong. */
const ATTEMPTS = 3;

const request: RunnerRequest = JSON.parse(process.argv[2] ?? "{}");
// What servers do is logged a lot here, and it is not what is measured: the log is formatted and thrown away.
const world = nodeWorld({ log: createLog({ level: "warn", now: () => Date.now(), write: () => {} }) });
const neighbour = new Neighbour(world, request.folder);
await neighbour.start();
for (const cell of request.cells) {
  let report: CellReport | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS && report?.delays.length !== 0; attempt++) {
    report = await runCell(cell, { world, neighbour, ...request });
    if (report.problems.length > 0) break;
  }
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
await neighbour[Symbol.asyncDispose]();
