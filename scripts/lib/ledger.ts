// Runs named pieces of work one after the other, says how each went, and keeps the sum.
import { seconds } from "./run.js";
import type { Tally } from "./vitest.js";

type Recorded = Tally & { readonly output: string; readonly slowest?: string };

export class Ledger {
  readonly #failed = new Set<string>();
  #passed = 0;
  #failures = 0;
  #skipped = 0;

  get total(): Tally {
    return { passed: this.#passed, failed: this.#failures, skipped: this.#skipped };
  }

  hasFailed(name: string): boolean {
    return this.#failed.has(name);
  }

  /** Prints the outcome in one line, and the whole output only when there is a fault to look for. */
  async record(name: string, what: string, work: () => Promise<Recorded>): Promise<void> {
    const start = performance.now();
    const result: Recorded = await work().catch((error: unknown) => ({
      passed: 0,
      failed: 1,
      skipped: 0,
      output: String(error),
    }));
    const isGreen = result.failed === 0;
    if (!isGreen) this.#failed.add(name);
    this.#passed += result.passed;
    this.#failures += result.failed;
    this.#skipped += result.skipped;
    if (!isGreen) console.log(`${result.output}\n`);
    const tests = result.passed + result.failed > 1 ? `${result.passed} passed, ${result.failed} failed; ` : "";
    const skipped = result.skipped > 0 ? `; ${result.skipped} skipped` : "";
    const time = seconds(performance.now() - start);
    console.log(`${isGreen ? "ok  " : "FAIL"}  ${name.padEnd(14)} ${time.padStart(8)}  ${tests}${what}${skipped}`);
    if (result.slowest) console.log(`      slowest files, in seconds: ${result.slowest}`);
  }

  skip(name: string, why: string): void {
    this.#failed.add(name);
    this.#failures += 1;
    console.log(`FAIL  ${name.padEnd(14)} ${"-".padStart(8)}  not run: ${why}`);
  }
}
