// Counts how often the code runs that prepares or checks schemas, by the coverage counters of V8: nothing in it is changed.
import { readFileSync } from "node:fs";
import { Session } from "node:inspector";
import { fileURLToPath } from "node:url";

/** Its modules: no function of them may run before a tool is first used. */
const SCHEMA_MODULES = /^\/\/ src\/base\/(?:schema\/[a-z-]+|text\/pattern)\.ts$/;
const ANY_MODULE = /^\/\/ (?:src|bench|node_modules)\//;

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Made before the code runs that is watched, in the bundle that holds it. */
export class SchemaWatch {
  readonly #session = new Session();
  readonly #ranges: readonly Range[];

  constructor() {
    this.#ranges = schemaRanges(readFileSync(fileURLToPath(import.meta.url), "utf8"));
    if (this.#ranges.length === 0) throw new Error("the bundle holds no module that reads schemas");
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  }

  /** Since the last time. */
  calls(): number {
    let calls = 0;
    this.#session.post("Profiler.takePreciseCoverage", (error, coverage) => {
      if (error) throw error;
      const own = coverage.result.find(({ url }) => url === import.meta.url);
      for (const { functionName, ranges } of own?.functions ?? []) {
        const [range] = ranges;
        // Without a name: the module itself, and the initialisers of classes.
        if (range && functionName !== "" && this.#isWatched(range.startOffset)) calls += range.count;
      }
    });
    return calls;
  }

  #isWatched(offset: number): boolean {
    return this.#ranges.some(({ start, end }) => offset >= start && offset < end);
  }
}

/** esbuild says in a comment of its own line which module begins. */
function schemaRanges(code: string): Range[] {
  const ranges: Range[] = [];
  let at = 0;
  let start: number | undefined;
  for (const line of code.split("\n")) {
    if (ANY_MODULE.test(line)) {
      if (start !== undefined) ranges.push({ start, end: at });
      start = SCHEMA_MODULES.test(line) ? at : undefined;
    }
    at += line.length + 1;
  }
  return ranges;
}
