// The whole misbehaviour matrix at full size: `npm run soak -- matrix [--only <text>] [--rounds n] [--ci]`.
import { parseArgs } from "node:util";
import { allCells, CI_SIZES, cellName, FULL_SIZES } from "../../test/scenarios/matrix/cells.js";
import { faultsOf, reportLine, runMatrix } from "../../test/scenarios/matrix/matrix.js";
import type { SoakReport } from "../lib/soak-report.js";

export async function soak(args: readonly string[]): Promise<SoakReport> {
  const { values } = parseArgs({
    args: [...args],
    options: { only: { type: "string" }, rounds: { type: "string" }, ci: { type: "boolean" } },
  });
  const cells = allCells().filter((cell) => cellName(cell).includes(values.only ?? ""));
  const sizes = values.ci === true ? CI_SIZES : FULL_SIZES;
  const rounds = Number(values.rounds ?? 1);
  const reports = [];
  for (let round = 0; round < rounds; round++) {
    const onReport = (report: Parameters<typeof reportLine>[0]) => {
      console.log([reportLine(report), ...faultsOf(report)].join("\n       "));
    };
    reports.push(...(await runMatrix(cells, { sizes, onReport })));
  }
  const bad = reports.filter((report) => faultsOf(report).length > 0);
  const longest = Math.max(...reports.map(({ blockedMs }) => blockedMs));
  const largest = Math.max(...reports.map(({ grownMb }) => grownMb));
  return {
    passed: reports.length - bad.length,
    failed: bad.length,
    notes: [
      `- ${cells.length} cells, ${rounds} round(s); a long line has ${sizes.longBytes.toLocaleString("en")} bytes, a storm ${sizes.notices.toLocaleString("en")} notices`,
      `- the event loop was held up for at most ${longest} ms, memory grew by at most ${largest} MB`,
      ...bad.map(({ cell, problems, delays }) => `- FAILED ${cellName(cell)}: ${[...problems, ...delays].join("; ")}`),
    ],
  };
}
