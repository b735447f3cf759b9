// Server entries as programs hand them over, and the user's own configuration file.
import { TenonError } from "../base/errors.js";
import type { World } from "../base/ports/world.js";
import {
  type ConfigFile,
  checkGivenEntry,
  type GivenEntry,
  placeOf,
  type RemoteEntry,
  readGivenServers,
  type StdioEntry,
  tenonPaths,
} from "../config/index.js";
import type { GivenServers } from "../session/index.js";
import { checkOptions, TEXT } from "./options.js";

/**
 * A server, as a configuration file has it: `command` with `args` and `env`, or `url` with `type` and `headers`, and the settings
 * `allow`, `deny`, `prefix`, `rename`, `timeoutMs`, `required`, `include`, `tools`, …
 *
 * @example
 * const files: ServerEntry = { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."], deny: ["write_*"] };
 * const notes: ServerEntry = { type: "http", url: "http://localhost:3000/mcp", headers: { "X-Team": "${TEAM}" } };
 */
export type ServerEntry = StdioEntry | RemoteEntry;

/**
 * A server entry that has its name with it.
 *
 * @example
 * const entry: NamedServerEntry = { name: "files", command: "my-server" };
 */
export type NamedServerEntry = ServerEntry & { readonly name: string };

/**
 * Servers by name, or a list of entries with names.
 *
 * @example
 * const servers: ServerEntries = { files: { command: "my-server" } };
 */
export type ServerEntries = Readonly<Record<string, ServerEntry>> | readonly NamedServerEntry[];

/** What entries stand in, for messages: as a program writes it. */
const PLACE = "mcpServers";

export interface ReadServers {
  readonly given: GivenServers;
  /** What is odd about entries without being wrong. */
  readonly warnings: readonly string[];
}

/** A bad entry becomes a failed server of the session: it costs no other one. */
export async function readServers(
  world: World,
  cwd: string,
  ...sets: readonly (ServerEntries | undefined)[]
): Promise<ReadServers> {
  const read = await Promise.all(sets.map((set) => readGivenServers(set, { world, cwd, place: PLACE })));
  // An entry of a later set takes the place of an earlier one, whichever of the two is malformed.
  return asGiven([...new Map(read.flat().map((entry) => [entry.name, entry])).values()]);
}

function asGiven(entries: readonly GivenEntry[]): ReadServers {
  const ready = entries.flatMap((entry) => ("spec" in entry ? [entry] : []));
  const rejected = entries.flatMap((entry) => {
    if ("spec" in entry) return [];
    const { name, reason, isRequired } = entry;
    return [{ name, reason, isRequired, origin: "client", hint: "Correct the entry." } as const];
  });
  const given = {
    servers: ready.map(({ spec }) => spec),
    settings: Object.fromEntries(ready.map(({ name, settings }) => [name, settings])),
    rejected,
  };
  return { given, warnings: ready.flatMap(({ warnings }) => warnings) };
}

function checkName(name: unknown): void {
  if (typeof name === "string") return;
  throw new TenonError("config.invalid", "the name of a server must be a text", { hint: "Give the server a name." });
}

/** One entry that was named in a call. Throws `config.invalid`. */
export async function readServer(
  world: World,
  cwd: string,
  name: string,
  entry: ServerEntry,
): Promise<Extract<GivenEntry, { readonly spec: unknown }>> {
  checkName(name);
  const [read] = await readGivenServers({ [name]: entry }, { world, cwd, place: PLACE });
  if (read && "spec" in read) return read;
  throw new TenonError("config.invalid", read?.reason ?? "there is no entry", { hint: "Correct the entry." });
}

/**
 * Where an entry is saved.
 *
 * @example
 * await runtime.saveServer("notes", { url: "https://notes.example/mcp" }, { file: "/home/me/.config/tenon/config.json" });
 */
export interface SaveOptions {
  /** The configuration file; the user's own unless given. */
  readonly file?: string;
}

/** Comments and formatting of the file stay as they are. Throws `config.invalid` for a malformed entry or file. */
export async function saveServer(world: World, name: string, entry: ServerEntry, options: SaveOptions): Promise<void> {
  checkSave(name, options, "saveServer");
  const checked = await checkGivenEntry({ name, entry, place: placeOf(PLACE, name) });
  if ("reason" in checked) throw new TenonError("config.invalid", checked.reason, { hint: "Correct the entry." });
  const { addServer } = await import("../config/index.js");
  await addServer(fileOf(world, options), name, checked.written, { mayReplace: true });
}

export async function deleteServer(world: World, name: string, options: SaveOptions): Promise<void> {
  checkSave(name, options, "deleteServer");
  const { removeServer } = await import("../config/index.js");
  await removeServer(fileOf(world, options), name);
}

function checkSave(name: unknown, options: SaveOptions, caller: string): void {
  checkName(name);
  checkOptions(options, { file: TEXT }, caller);
}

function fileOf(world: World, { file }: SaveOptions): ConfigFile {
  const path = file ?? tenonPaths(world.env).configFile;
  if (path !== undefined) return { world, layer: "user", path };
  throw new TenonError("config.unreadable", "there is no home directory for the user's configuration", {
    hint: "Give the file.",
  });
}
