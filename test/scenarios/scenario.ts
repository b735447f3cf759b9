// How a scenario is written: it names the requirements it shows, and ends with the leak check.
import { test } from "vitest";
import { leakCheck } from "../../src/testing/index.js";
import type { RequirementId } from "../requirements.js";

export interface ScenarioOptions {
  readonly timeoutMs?: number;
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
  test(
    `[${ids.join(" ")}] ${name}`,
    options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs },
    async () => {
      const check = await leakCheck();
      await run();
      await check.verify();
    },
  );
}
