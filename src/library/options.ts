// Options of the library's functions: unknown ones are refused, and the world they ask for is made.
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { Log, World } from "../base/ports/world.js";
import { nearest } from "../base/text/nearest.js";
import { nodeWorld } from "../world/index.js";

interface GivenWorld {
  readonly world?: World;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: Log;
}

/** A misspelt option that is ignored in silence costs an afternoon. */
export function checkOptions(given: unknown, known: readonly string[], caller: string): void {
  const hint = `Options are: ${known.join(", ")}.`;
  if (typeof given !== "object" || given === null) {
    throw new TenonError("usage.invalid", `${caller} needs an object of options`, { hint });
  }
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const meant = nearest(unknown, known);
  const suggestion = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
  throw new TenonError("usage.invalid", `${caller} has no option ${JSON.stringify(unknown)}${suggestion}`, { hint });
}

const QUIET: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export function worldOf({ world, env, log }: GivenWorld): World {
  return world ?? nodeWorld({ log: log ?? QUIET, ...defined({ env }) });
}
