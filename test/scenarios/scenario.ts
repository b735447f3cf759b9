// How a scenario is written: it names the requirements it shows, and ends with the leak check.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { defined } from "../../src/base/json/defined.js";
import { leakCheck } from "../../src/testing/index.js";
import { lacksPostgres, type Postgres, type PostgresOptions, startPostgres } from "../postgres.js";
import type { RequirementId } from "../requirements.js";
import { agentNode } from "./peers.js";

export interface ScenarioOptions {
  readonly timeoutMs?: number;
  /** Programs of the system it drives. Where one is missing it does not run, and its name says which. */
  readonly needs?: readonly string[];
  /** What this machine has not got for it: then it does not run, and its name says so. */
  readonly lacks?: string;
  /** The system it is for: elsewhere it does not run. */
  readonly platform?: NodeJS.Platform;
}

function isInstalled(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
}

/**
 * The ids must be literals: the coverage gate reads them from the source, so that a scenario that does not run on some
 * machine still counts as written and one that was deleted does not.
 */
export function scenario(
  ids: readonly [RequirementId, ...RequirementId[]],
  name: string,
  run: () => Promise<void>,
  options: ScenarioOptions = {},
): void {
  const { needs = [], platform = process.platform } = options;
  const missing = needs.filter((program) => !isInstalled(program)).map((program) => `${program} is not installed`);
  if (options.lacks !== undefined) missing.push(`there is not ${options.lacks}`);
  if (platform !== process.platform) missing.push(`this is not ${platform}`);
  test.skipIf(missing.length > 0)(
    `[${ids.join(" ")}] ${name}${missing.length === 0 ? "" : ` (not run: ${missing.join(", ")})`}`,
    options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs },
    async () => {
      const check = await leakCheck();
      await run();
      await check.verify();
    },
  );
}

/**
 * Of many cases that each take seconds one of so many parts: which one goes by the Node that is tested and by the day.
 * All of them where TENON_ALL_CASES is set, as `npm run verify:all` does.
 */
export function partOf<T>(cases: readonly T[], parts: number): readonly T[] {
  if (process.env["TENON_ALL_CASES"] !== undefined) return cases;
  const part = (Math.floor(Date.now() / 86_400_000) + (agentNode() === process.execPath ? 0 : 1)) % parts;
  return cases.filter((_, index) => index % parts === part);
}

/** One for all scenarios of a file. `lacks` is for their options. */
export function postgresOfFile(options?: PostgresOptions): { get(): Postgres; readonly lacks?: string } {
  const lacks = lacksPostgres();
  let postgres: Postgres | undefined;
  beforeAll(async () => {
    if (lacks === undefined) postgres = await startPostgres(options);
  });
  afterAll(() => postgres?.stop());
  return {
    get: () => {
      if (!postgres) throw new Error("it is started before the first scenario");
      return postgres;
    },
    ...defined({ lacks }),
  };
}
