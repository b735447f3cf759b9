// Options of the library's functions: unknown ones and those of the wrong kind are refused, and the world they ask for is made.
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject } from "../base/json/json.js";
import type { Log, World } from "../base/ports/world.js";
import { nearest } from "../base/text/nearest.js";
import { nodeWorld } from "../world/index.js";

interface GivenWorld {
  readonly world?: World;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: Log;
}

/** What an option must be, in words and as a test; one that is left out is never tested. */
export interface OptionKind {
  readonly words: string;
  readonly fits: (value: unknown) => boolean;
}

const isFunction = (value: unknown): boolean => typeof value === "function";

export const TEXT: OptionKind = { words: "a text", fits: (value) => typeof value === "string" };
export const FLAG: OptionKind = { words: "true or false", fits: (value) => typeof value === "boolean" };
export const FUNCTION: OptionKind = { words: "a function", fits: isFunction };
export const OBJECT: OptionKind = { words: "an object", fits: isJsonObject };
export const TEXTS: OptionKind = { words: "a list of texts", fits: listOf(TEXT) };
export const SIGNAL: OptionKind = {
  words: "an AbortSignal",
  fits: (value) =>
    isJsonObject(value) && typeof value["aborted"] === "boolean" && isFunction(value["addEventListener"]),
};
/** Checked elsewhere, with words of its own. */
export const ANYTHING: OptionKind = { words: "anything", fits: () => true };

export function objectWith(...methods: readonly string[]): OptionKind {
  const words = `an object with ${methods.map((name) => `${name}()`).join(", ")}`;
  return { words, fits: (value) => isJsonObject(value) && methods.every((name) => isFunction(value[name])) };
}

export function listOf({ fits }: OptionKind): (value: unknown) => boolean {
  return (value) => Array.isArray(value) && value.every(fits);
}

/** A misspelt option that is ignored in silence costs an afternoon; so does one of the wrong kind that fails much later. */
export function checkOptions(given: unknown, known: Readonly<Record<string, OptionKind>>, caller: string): void {
  const names = Object.keys(known);
  const hint = `Options are: ${names.join(", ")}.`;
  if (typeof given !== "object" || given === null) {
    throw new TenonError("usage.invalid", `${caller} needs an object of options`, { hint });
  }
  for (const [key, value] of Object.entries(given)) {
    const kind = Object.hasOwn(known, key) ? known[key] : undefined;
    if (!kind) {
      const meant = nearest(key, names);
      const suggestion = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
      throw new TenonError("usage.invalid", `${caller} has no option ${JSON.stringify(key)}${suggestion}`, { hint });
    }
    if (value === undefined || kind.fits(value)) continue;
    throw new TenonError("usage.invalid", `${caller}: the option ${JSON.stringify(key)} must be ${kind.words}`, {
      hint: "See docs/how-to/library.md.",
    });
  }
}

const QUIET: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export function worldOf({ world, env, log }: GivenWorld): World {
  return world ?? nodeWorld({ log: log ?? QUIET, ...defined({ env }) });
}
