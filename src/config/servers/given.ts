// Server entries that a program hands over: the same entries and checks as in a file, one error for each bad one, no value shown.
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { ServerSpec } from "../../mcp/index.js";
import type { KeyPath } from "../layers/document.js";
import type { ServerEntry } from "../layers/entry.js";
import { kindOf, pathText, shownKey } from "../layers/findings.js";
import { possiblePaths } from "../layers/paths.js";
import { nameProblem, readGivenEntry } from "../layers/read-entry.js";
import type { Place } from "../layers/read-layer.js";
import { CONFIG_LIMITS } from "../limits.js";
import { type ServerSettings, toSpec } from "./spec.js";

/** One entry, ready to be opened or with the reason why it cannot be. */
export type GivenEntry =
  | {
      readonly name: string;
      readonly spec: ServerSpec;
      readonly settings: ServerSettings;
      /** What is odd about it without being wrong, one sentence each. */
      readonly warnings: readonly string[];
    }
  | { readonly name: string; readonly reason: string; readonly isRequired: boolean };

export interface GivenContext {
  readonly world: World;
  /** The folder that `{file:…}` and relative paths begin at. */
  readonly cwd: string;
  /** What the entries stand in, for messages. */
  readonly place: string;
}

/** A map from names to entries, or a list of entries with names. Never rejects; of equal names the last one counts. */
export async function readGivenServers(raw: unknown, context: GivenContext): Promise<readonly GivenEntry[]> {
  const written = writtenEntries(raw, context.place);
  const read = await Promise.all(written.map(async (one) => ("reason" in one ? one : await readGiven(one, context))));
  const byName = new Map<string, GivenEntry>();
  for (const one of read) {
    const isDouble = byName.has(one.name) && "spec" in one;
    const double = `${context.place} has two entries with the name ${shownKey(one.name)}: the last one counts`;
    byName.set(one.name, isDouble ? { ...one, warnings: [...one.warnings, double] } : one);
  }
  return [...byName.values()];
}

interface WrittenEntry {
  readonly name: string;
  readonly place: string;
  readonly entry: unknown;
}

interface CheckedEntry {
  readonly name: string;
  readonly entry: ServerEntry;
  readonly written: JsonObject;
  readonly warnings: readonly string[];
}

type Refused = Extract<GivenEntry, { readonly reason: string }>;

function writtenEntries(raw: unknown, place: string): readonly (WrittenEntry | Refused)[] {
  if (raw === undefined || raw === null) return [];
  const refuse = (reason: string): Refused => ({ name: place, reason, isRequired: false });
  if (typeof raw !== "object") {
    return [refuse(`${place} must be an object of entries by name, or a list of entries with names`)];
  }
  try {
    const count = Array.isArray(raw) ? raw.length : Object.keys(raw).length;
    const most = CONFIG_LIMITS.givenServers;
    if (count > most) return [refuse(`${place} has ${count} entries: there may be at most ${most}`)];
    if (!Array.isArray(raw)) {
      const own: object = raw;
      return Object.keys(own).map((name) => {
        const at = placeOf(place, name);
        return unlessThrown({ name, place: at }, () => ({ name, entry: Reflect.get(own, name), place: at }));
      });
    }
    return Array.from({ length: count }, (_, index) => {
      const at = `${place}[${index}]`;
      return unlessThrown({ name: at, place: at }, () => listed(raw[index], at));
    });
  } catch {
    return [refuse(`${place} cannot be read: one of its properties throws`)];
  }
}

/** An entry that throws when it is read is refused by itself; the others are kept. */
function unlessThrown(
  { name, place }: Pick<WrittenEntry, "name" | "place">,
  read: () => WrittenEntry | Refused,
): WrittenEntry | Refused {
  try {
    return read();
  } catch {
    return { name, reason: `${place} cannot be read: one of its properties throws`, isRequired: false };
  }
}

/** Where the entry of that name is, for messages. */
export function placeOf(place: string, name: string): string {
  return `${place}.${/^[\w.-]{1,64}$/u.test(name) ? name : shownKey(name)}`;
}

function listed(entry: unknown, place: string): WrittenEntry | Refused {
  const refuse = (reason: string): Refused => ({ name: place, reason, isRequired: false });
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    return refuse(`${place} must be an object with a name, got ${kindOf(typeof entry === "object" ? null : "")}`);
  }
  const { name, ...rest } = { name: undefined, ...entry };
  if (typeof name !== "string") return refuse(`${place}.name must be a text: it names the server`);
  return { name, entry: rest, place };
}

/** An entry as plain data that has passed the checks, or why it has not; references in it are not filled in. */
export async function checkGivenEntry({ name, place, entry: raw }: WrittenEntry): Promise<CheckedEntry | Refused> {
  const badName = nameProblem(name);
  if (badName !== undefined) return { name: place, reason: `${place}: ${badName}`, isRequired: false };
  const plain = plainEntry(raw, place);
  const written: JsonObject = isJsonObject(plain.value) ? plain.value : {};
  const refuse = (reason: string): Refused => ({ name, reason, isRequired: written["required"] === true });
  if (plain.problem !== undefined) return refuse(plain.problem);
  try {
    const { value: entry, findings } = await readGivenEntry(plain.value, () => import("../layers/schema.js"));
    const told = entry ? findings : findings.filter(({ severity }) => severity === "error");
    const warnings = told.map(({ message, suggestion }) => {
      return `${place}: ${message}${suggestion === undefined ? "" : `; did you mean ${JSON.stringify(suggestion)}?`}`;
    });
    return entry ? { name, entry, written, warnings } : refuse(warnings.join("; "));
  } catch (error) {
    return refuse(`${place} cannot be read: ${messageOf(error)}`);
  }
}

async function readGiven(given: WrittenEntry, { world, cwd }: GivenContext): Promise<GivenEntry> {
  const checked = await checkGivenEntry(given);
  if ("reason" in checked) return checked;
  const { name, place } = given;
  const { entry, written, warnings } = checked;
  const refuse = (reason: string): Refused => ({ name, reason, isRequired: entry.required === true });
  if (entry.disabled === true) return refuse(`${place} is switched off: disabled is true`);
  const at: Place = { layer: "client", name: place };
  const definition = { kind: "entry", entry, written, placeOf: () => at } as const;
  const rules = { allowHosts: [], sandbox: { paths: possiblePaths(world.env) } };
  const source = { world, env: world.env, folder: cwd, isPrivate: true, patience: new AbortController().signal };
  const made = await toSpec({ name, place: at, definition }, rules, source);
  if (made.kind !== "ready") return refuse(`${place}: ${made.reason}`);
  const { spec, settings } = made;
  const approved = { by: "program", files: [] } as const;
  return { name, spec: spec.kind === "stdio" ? { ...spec, approved } : spec, settings, warnings };
}

/** Deeper nesting than any entry has. */
const MAX_DEPTH = 32;

class NotPlain extends Error {}

/** The entry as plain data: getters are read once, `undefined` is left out, and what is no data is named by its place. */
function plainEntry(raw: unknown, place: string): { readonly value?: JsonValue; readonly problem?: string } {
  try {
    const value = plainValue(raw, []);
    return defined({ value });
  } catch (error) {
    const problem = error instanceof NotPlain ? error.message : "one of its properties throws";
    return { problem: `${place}: ${problem}` };
  }
}

function plainValue(raw: unknown, path: KeyPath): JsonValue | undefined {
  if (path.length > MAX_DEPTH) throw new NotPlain("it is nested too deep, or refers to itself");
  if (raw === null || typeof raw === "string" || typeof raw === "boolean") return raw;
  if (typeof raw === "number" && Number.isFinite(raw)) return raw;
  const at = path.length === 0 ? "it" : pathText(path);
  if (raw === undefined) return undefined;
  if (typeof raw !== "object") {
    const what = typeof raw === "number" ? "a number that JSON has" : `plain data, got a ${typeof raw}`;
    throw new NotPlain(`${at} must be ${what}`);
  }
  if (Array.isArray(raw)) return raw.map((one: unknown, index) => plainValue(one, [...path, index]) ?? null);
  const entries = Object.entries(raw).map(([key, value]) => [key, plainValue(value, [...path, key])] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
