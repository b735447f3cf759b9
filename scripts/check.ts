// `npm run check`: format, lint, types, walls, tests, dead code, package. `--only a,b` runs some of them.
import { parseArgs } from "node:util";
import { checkSteps } from "./lib/check-steps.js";
import { Ledger } from "./lib/ledger.js";

try {
  const { values } = parseArgs({ options: { only: { type: "string" } } });
  const ledger = new Ledger();
  await checkSteps(ledger, values.only?.split(",") ?? []);
  process.exitCode = ledger.total.failed === 0 ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
