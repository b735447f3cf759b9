// Adds, removes, enables and disables servers in a configuration file by the smallest change of its text.

import { messageOf, TenonError } from "../base/errors.js";
import { withFileLock } from "../base/io/file-lock.js";
import { defined } from "../base/json/defined.js";
import { canonicalJson, isJsonObject, type JsonObject } from "../base/json/json.js";
import type { FoundPath, World } from "../base/ports/world.js";
import { type Document, parseDocument } from "./document.js";
import type { ProviderName } from "./entry.js";
import { isInside } from "./inside.js";
import { CONFIG_LIMITS } from "./limits.js";
import { type Place, placeText, problemText } from "./place.js";
import { nameProblem, readEntry } from "./read-entry.js";
import { removeValue, setValue } from "./text-edit.js";

export interface ConfigFile {
  readonly world: World;
  readonly path: string;
  readonly layer: "user" | "project";
  /** A project's real path: its file must lie there, links followed. */
  readonly within?: string;
}

export interface Edited {
  readonly change: "added" | "replaced" | "removed" | "enabled" | "disabled" | "unchanged";
  /** The file that was written, links followed. */
  readonly file: string;
  readonly isNewFile: boolean;
  /** The entry before and after, as it is written. */
  readonly before?: JsonObject;
  readonly after?: JsonObject;
  /** What is odd about the new entry without being wrong, one sentence each. */
  readonly warnings: readonly string[];
}

/** Throws `config.invalid` for a bad name or entry, for a name that is taken, and for a file that must be corrected first. */
export async function addServer(
  file: ConfigFile,
  name: string,
  entry: JsonObject,
  options: { readonly mayReplace?: boolean } = {},
): Promise<Edited> {
  const badName = nameProblem(name);
  if (badName !== undefined) throw invalid(`the server ${JSON.stringify(name)} cannot be added: ${badName}`);
  const warnings = await checkEntry(file, name, entry);
  return await edit(
    file,
    ({ text, before }) => {
      if (before && !options.mayReplace) {
        throw invalid(
          `there is a server ${JSON.stringify(name)} in ${file.path} already`,
          "Remove it first, or replace it.",
        );
      }
      if (before && canonicalJson(before) === canonicalJson(entry)) return { change: "unchanged", text, warnings };
      return { change: before ? "replaced" : "added", text: setValue(text, ["mcpServers", name], entry), warnings };
    },
    name,
  );
}

export async function removeServer(file: ConfigFile, name: string): Promise<Edited> {
  return await edit(
    file,
    ({ text, before }) => {
      if (!before) throw notThere(file, name);
      return { change: "removed", text: removeValue(text, ["mcpServers", name]) };
    },
    name,
  );
}

/** An enabled entry has no `disabled` at all, so that it is again exactly what it was before, and what was approved. */
export async function setServerEnabled(file: ConfigFile, name: string, isEnabled: boolean): Promise<Edited> {
  const path = ["mcpServers", name, "disabled"];
  return await edit(
    file,
    ({ text, before }) => {
      if (!before) throw notThere(file, name);
      const isNow = before["disabled"] !== true;
      if (isNow === isEnabled) return { change: "unchanged", text };
      if (isEnabled) return { change: "enabled", text: removeValue(text, path) };
      return { change: "disabled", text: setValue(text, path, true) };
    },
    name,
  );
}

/** Says where the key of a model provider is to be had (`keyring:name`); the key itself is not for a file. Returns the file. */
export async function setProviderKey(file: ConfigFile, provider: ProviderName, reference: string): Promise<string> {
  const path = (await locate(file))?.realPath ?? file.path;
  return await withConfigLock(file.world, path, async () => {
    const found = await locate(file);
    const text = found ? await readText(file, found) : "";
    faultless(text, file);
    const edited = setValue(text, ["providers", provider, "apiKey"], reference);
    faultless(edited, file);
    await write(file, found?.realPath ?? path, edited, found?.mode);
    return found?.realPath ?? path;
  });
}

/** One editor of a file at a time, across processes; the lock file lies beside it. */
export async function withConfigLock<T>(world: World, path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  const unlocked = (what: string, options: { readonly cause?: unknown; readonly hint?: string }) =>
    new TenonError("config.unreadable", what, options);
  const heldTooLong = (heldBy: number) =>
    unlocked(`another process (${heldBy}) is editing the file: ${lock} is there`, {
      hint: "Wait for it; if that is no Tenon, delete the lock file.",
    });
  let hasLock = false;
  try {
    return await withFileLock(world, lock, { ...CONFIG_LIMITS.configLock, heldTooLong }, async () => {
      hasLock = true;
      return await work();
    });
  } catch (error) {
    if (hasLock || error instanceof TenonError) throw error;
    throw unlocked(`${lock} cannot be made: ${messageOf(error)}`, { cause: error });
  }
}

interface Current {
  readonly text: string;
  readonly before: JsonObject | undefined;
}

interface Change {
  readonly change: Edited["change"];
  readonly text: string;
  readonly warnings?: readonly string[];
}

async function edit(file: ConfigFile, make: (current: Current) => Change, name: string): Promise<Edited> {
  const path = (await locate(file))?.realPath ?? file.path;
  return await withConfigLock(file.world, path, async () => {
    const found = await locate(file);
    const text = found ? await readText(file, found) : "";
    const before = entryOf(faultless(text, file), name, file);
    const { change, text: edited, warnings = [] } = make({ text, before });
    const after = entryOf(faultless(edited, file), name, file);
    if (change !== "unchanged") await write(file, found?.realPath ?? path, edited, found?.mode);
    const entries = defined({ before, after });
    return { change, file: found?.realPath ?? path, isNewFile: !found, warnings, ...entries };
  });
}

async function locate({ world, path, within }: ConfigFile): Promise<FoundPath | undefined> {
  const found = await world.files.find(path);
  if (!found) return undefined;
  if (found.kind !== "file") throw new TenonError("config.unreadable", `${path} is no file`);
  if (within !== undefined && !isInside(found.realPath, within)) {
    throw invalid(`${path} is a link that leads out of the project, to ${found.realPath}; it is not changed`);
  }
  return found;
}

async function readText({ world, path }: ConfigFile, found: FoundPath): Promise<string> {
  try {
    return await world.files.readText(found.realPath);
  } catch (error) {
    throw new TenonError("config.unreadable", `${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

async function write({ world }: ConfigFile, path: string, text: string, mode: number | undefined): Promise<void> {
  try {
    await world.files.writeAtomic(path, text, mode);
  } catch (error) {
    throw new TenonError("config.unreadable", `${path} cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

/** A text with faults is not edited: what is meant by it is a guess. */
function faultless(text: string, file: ConfigFile): Document {
  const document = parseDocument(text);
  const [first] = document.problems;
  if (!first) return document;
  const place: Place = { layer: file.layer, file: file.path, ...first.position };
  throw invalid(`${placeText(place)}: ${first.message}`, "Correct the file by hand first.");
}

function entryOf({ value }: Document, name: string, file: ConfigFile): JsonObject | undefined {
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) throw invalid(`${file.path} must hold one object`);
  const servers = value["mcpServers"];
  if (servers === undefined) return undefined;
  if (!isJsonObject(servers)) throw invalid(`mcpServers in ${file.path} must be an object`);
  if (!Object.hasOwn(servers, name)) return undefined;
  const entry = servers[name];
  // A malformed entry can be removed and replaced like any other.
  return isJsonObject(entry) ? entry : {};
}

async function checkEntry(file: ConfigFile, name: string, entry: JsonObject): Promise<readonly string[]> {
  const { value, findings } = readEntry(entry, file.layer, await import("./schema.js"));
  const texts = findings.map(({ severity, message, suggestion }) =>
    problemText({
      severity,
      place: { layer: file.layer, name: `server ${JSON.stringify(name)}` },
      message,
      ...defined({ suggestion }),
    }),
  );
  if (!value) throw invalid(texts.join("; "));
  return texts;
}

function notThere(file: ConfigFile, name: string): TenonError {
  return invalid(`there is no server ${JSON.stringify(name)} in ${file.path}`, "See tenon mcp list.");
}

function invalid(message: string, hint?: string): TenonError {
  return new TenonError("config.invalid", message, hint === undefined ? {} : { hint });
}
