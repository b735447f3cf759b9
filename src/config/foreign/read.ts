// Reads the servers of another client's file: each one translated, or with the reason why it cannot be. The file is never written.
import { posix, win32 } from "node:path";
import { messageOf } from "../../base/errors.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import { FOREIGN_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { type KeyPath, type Position, parseDocument } from "../layers/document.js";
import type { ImportName } from "../layers/entry.js";
import { kindOf, valueAt } from "../layers/findings.js";
import { realPathOf } from "../layers/paths.js";
import { nameProblem, readEntry, type Schemas } from "../layers/read-entry.js";
import {
  type Layer,
  type LayerServer,
  type Place,
  type Problem,
  type RejectedEntry,
  serverEntries,
  type WrittenServer,
  whyNotRead,
} from "../layers/read-layer.js";
import { CONFIG_LIMITS } from "../limits.js";
import { DIALECTS, foreignPlaces } from "./clients.js";
import { inputsOf, translateEntry } from "./translate.js";

export interface ForeignFile {
  readonly client: ImportName;
  readonly path: string;
  /** Whose file it is. */
  readonly owner: "user" | "project";
  /** For which configuration its entries are translated: the owner's, unless they are to be copied elsewhere. */
  readonly layer: "user" | "project";
  /** A project's file must lie in this folder, links followed. */
  readonly within?: string;
}

export interface ForeignServer {
  readonly name: string;
  readonly place: Place;
  /** The entry in Tenon's words; undefined when it cannot be used. */
  readonly server?: LayerServer<WrittenServer>;
  /** Why it cannot be used. */
  readonly problems: readonly Problem[];
  /** Nothing is wrong with it: it is only for the client it stands in. */
  readonly isExpected: boolean;
  /** What the person should know of the translation. */
  readonly notes: readonly string[];
}

export interface ForeignRead {
  readonly client: ImportName;
  readonly file: string;
  readonly owner: "user" | "project";
  readonly isThere: boolean;
  /** One of a name: the stronger of two. */
  readonly servers: readonly ForeignServer[];
  /** Of the file as a whole. */
  readonly problems: readonly Problem[];
}

export interface ForeignContext {
  readonly world: Pick<World, "platform">;
  /** The session's directory, as given and with links followed. */
  readonly project: readonly string[];
}

/** Never rejects. */
async function readForeign(world: World, file: ForeignFile, context: ForeignContext): Promise<ForeignRead> {
  const { client, path, owner, within } = file;
  const nothing: ForeignRead = { client, file: path, owner, isThere: false, servers: [], problems: [] };
  const failed = (message: string): ForeignRead => {
    return { ...nothing, isThere: true, problems: [{ severity: "error", place: placeOf(file), message }] };
  };
  try {
    const found = await world.files.find(path);
    if (!found) return nothing;
    const maxBytes = owner === "project" ? CONFIG_LIMITS.configMaxBytes : FOREIGN_LIMITS.fileMaxBytes;
    const refusal = whyNotRead(found, maxBytes, within);
    if (refusal !== undefined) return failed(refusal);
    const text = await world.files.readText(found.realPath);
    return await foreignOf(text, file, context, await import("../layers/schema.js"));
  } catch (error) {
    return failed(`the file cannot be read: ${messageOf(error)}`);
  }
}

function placeOf({ client, path, owner }: ForeignFile): Place {
  return { layer: owner, file: path, client };
}

/** Pure but for loading its parser: the text of a file to its servers. */
export async function foreignOf(
  text: string,
  file: ForeignFile,
  context: ForeignContext,
  schemas: Schemas,
): Promise<ForeignRead> {
  const { client, path, owner } = file;
  const { format, sections } = DIALECTS[client];
  const parsed = await parseForeign(text, format);
  const { root = {} } = parsed;
  const problems: Problem[] = [];
  const report = (message: string, at: Partial<Position>) => {
    problems.push({ severity: "error", place: { ...placeOf(file), ...at }, message });
  };
  for (const { message, at } of parsed.problems) report(message, at);
  const servers = new Map<string, ForeignServer>();
  for (const keys of parsed.root ? sections(root, (folder) => context.project.includes(folder)) : []) {
    const section = valueAt(root, keys);
    if (section === undefined || section === null) continue;
    const { entries, fault } = serverEntries(section, keys.join("."), owner);
    for (const [name, written] of entries) {
      servers.set(name, serverOf({ name, written, keys: [...keys, name], parsed, file, context, schemas }));
    }
    if (fault) report(fault.message, parsed.locate(keys));
  }
  return { client, file: path, owner, isThere: true, servers: [...servers.values()], problems };
}

interface ForeignEntry {
  readonly name: string;
  readonly written: JsonValue | undefined;
  readonly keys: KeyPath;
  readonly parsed: ForeignText;
  readonly file: ForeignFile;
  readonly context: ForeignContext;
  readonly schemas: Schemas;
}

function serverOf({ name, written, keys, parsed, file, context, schemas }: ForeignEntry): ForeignServer {
  const place = { ...placeOf(file), ...parsed.locate(keys) };
  const unusable = (reasons: readonly string[], notes: readonly string[] = [], isExpected = false): ForeignServer => {
    const problems = reasons.map((message): Problem => ({ severity: "error", place, server: name, message }));
    return { name, place, problems, notes, isExpected };
  };
  const badName = nameProblem(name);
  if (badName !== undefined) return unusable([badName]);
  if (parsed.isBroken(keys)) return unusable(["left out: there is a syntax error in its entry"]);
  if (!isJsonObject(written)) return unusable([`expected an object, got ${kindOf(written)}`]);
  const { entry, syntax } = DIALECTS[file.client];
  const raw = entry(written);
  if ("reason" in raw) return unusable([raw.reason], [], true);
  const { platform } = context.world;
  const paths = platform === "win32" ? win32 : posix;
  const translated = translateEntry(raw, {
    syntax,
    layer: file.layer,
    platform,
    folder: paths.dirname(file.path),
    resolve: (...parts) => paths.resolve(...parts),
    inputs: inputsOf(parsed.root?.["inputs"]),
  });
  const checked = readEntry(translated.entry, file.layer, schemas);
  const errors = checked.findings.filter(({ severity }) => severity === "error");
  // What is wrong by the rules of our own files follows from what the translation has said already.
  const faults = translated.problems.length > 0 ? translated.problems : errors.map(({ message }) => message);
  if (!checked.value || faults.length > 0) return unusable(faults, translated.notes);
  const definition: WrittenServer = {
    kind: "entry",
    entry: checked.value,
    written: translated.entry,
    placeOf: () => place, // its own words are not those of the file
  };
  const only = keys[0] === "projects" ? ["there it is for this project only"] : [];
  const notes = [...translated.notes, ...only];
  return { name, place, server: { name, place, definition }, problems: [], notes, isExpected: false };
}

// Another client's servers as a layer of the configuration, for `import`.

/**
 * Entries that are for that client only are left out without a word, and so are those that cannot be used and that the
 * user has written out themselves (`taken`): both are shown by `tenon mcp import`.
 */
export function foreignLayer({ owner, file, servers, problems }: ForeignRead, taken: ReadonlySet<string>): Layer {
  const invalid = servers.flatMap(({ name, place, server, isExpected, problems: faults }): RejectedEntry[] =>
    server || isExpected || taken.has(name) ? [] : [{ status: "invalid", name, place, problems: faults }],
  );
  return {
    kind: owner,
    file,
    servers: servers.flatMap(({ server }) => (server ? [owner === "user" ? withoutLine(server) : server] : [])),
    invalid,
    values: [],
    problems: [...problems, ...invalid.flatMap((entry) => entry.problems)],
  };
}

/**
 * Other programs write these files all the time (`~/.claude.json` with every prompt), and whatever they write above an
 * entry moves it: that is no change of the configuration, and sessions must not take it for one.
 */
function withoutLine(server: LayerServer<WrittenServer>): LayerServer<WrittenServer> {
  const { line: _, column: __, ...place } = server.place;
  return { ...server, place, definition: { ...server.definition, placeOf: () => place } };
}

// Every file of some other clients, for this person and this project: what `import` keeps live and `tenon mcp import` copies.

export interface ImportRequest {
  readonly world: World;
  readonly env: World["env"];
  /** The session's directory, as given and with links followed. */
  readonly cwd: string;
  readonly projectPath: string;
  /** Whether projects' files are looked at. */
  readonly hasProject: boolean;
  /** For which configuration all of them are translated; each for its owner's unless given. */
  readonly layer?: "user" | "project";
}

/** `reads` in the order of the names, and of one client the weaker first; `paths` whether they are there or not. Never rejects. */
export async function readImports(
  names: readonly ImportName[],
  request: ImportRequest,
): Promise<{ readonly reads: readonly ForeignRead[]; readonly paths: readonly string[] }> {
  const files = (await Promise.all([...new Set(names)].map((client) => filesOf(client, request)))).flat();
  const { world, cwd, projectPath } = request;
  const context = { world, project: [...new Set([cwd, projectPath])] };
  const reads = await Promise.all(files.map((file) => readForeign(world, file, context)));
  return { reads, paths: files.map(({ path }) => path) };
}

async function filesOf(client: ImportName, request: ImportRequest): Promise<readonly ForeignFile[]> {
  const { world, env, cwd, projectPath, layer } = request;
  const { user, project } = foreignPlaces(client, { platform: world.platform, env, cwd });
  // Where the home is the project, the person's own file lies where a project's would: it is theirs.
  const own = new Set(await Promise.all(user.map((path) => realPathOf(world, path))));
  const files: ForeignFile[] = user.map((path) => ({ client, path, owner: "user", layer: layer ?? "user" }));
  for (const path of request.hasProject ? project : []) {
    if (own.has(await realPathOf(world, path))) continue;
    files.push({ client, path, owner: "project", layer: layer ?? "project", within: projectPath });
  }
  return files;
}

// The text of another client's file as data, with places: JSON with comments, or TOML. Never throws.

interface ForeignText {
  /** Undefined when nothing can be read of it. */
  readonly root: JsonObject | undefined;
  readonly problems: readonly { readonly message: string; readonly at: Partial<Position> }[];
  locate(path: KeyPath): Partial<Position>;
  /** Whether a syntax error lies in it: then what was read of it may not be what was meant. */
  isBroken(path: KeyPath): boolean;
}

async function parseForeign(text: string, format: "json" | "toml" | "yaml"): Promise<ForeignText> {
  if (format === "yaml") return await parseYaml(text);
  if (format === "toml") return await parseToml(text);
  return text.length > CONFIG_LIMITS.configMaxBytes ? parseLarge(text) : parseSmall(text);
}

function parseSmall(text: string): ForeignText {
  const document = parseDocument(text);
  const faults = document.problems.filter(({ severity }) => severity === "error");
  const problems = faults.map(({ message, position }) => ({ message, at: position }));
  return {
    root: isJsonObject(document.value) ? document.value : undefined,
    problems: isJsonObject(document.value) || document.value === undefined ? problems : [...problems, NO_OBJECT],
    locate: (path) => document.locate(path, "key"),
    isBroken: (path) => document.isBroken(path),
  };
}

const NO_OBJECT = { message: "expected an object", at: {} };

/** `~/.claude.json` holds what was done in every project: too much for a tree with places. */
function parseLarge(text: string): ForeignText {
  const parsed = parseJson(text);
  if (!parsed.ok) return unreadable(parsed.reason, {});
  return isJsonObject(parsed.value) ? whole(parsed.value, () => ({})) : unreadable(NO_OBJECT.message, {});
}

async function parseToml(text: string): Promise<ForeignText> {
  const { parse, TomlError } = await import("smol-toml"); // a few people's file
  try {
    const value = asJson(parse(text));
    return whole(isJsonObject(value) ? value : {}, (path) => tablePlace(text, path));
  } catch (error) {
    const at = error instanceof TomlError ? { line: error.line, column: error.column } : {};
    return unreadable((messageOf(error).split("\n")[0] ?? "").replace(/^Invalid TOML document: /u, ""), at);
  }
}

/** Aliases are not followed beyond a count, so that a small file cannot become a large value. */
async function parseYaml(text: string): Promise<ForeignText> {
  const { default: yaml } = await import("yaml"); // a few people's file
  try {
    const document = yaml.parseDocument(text, { schema: "core" });
    const [fault] = document.errors;
    if (fault) {
      const [start] = fault.linePos ?? [];
      return unreadable(fault.message.split("\n")[0] ?? "", start ? { line: start.line, column: start.col } : {});
    }
    const value = asJson(document.toJS({ maxAliasCount: 100 }));
    return whole(isJsonObject(value) ? value : {}, () => ({}));
  } catch (error) {
    return unreadable(messageOf(error), {}); // nested too deep, or too many aliases
  }
}

function whole(root: JsonObject, locate: ForeignText["locate"]): ForeignText {
  return { root, problems: [], locate, isBroken: () => false };
}

function unreadable(message: string, at: Partial<Position>): ForeignText {
  return { root: undefined, problems: [{ message, at }], locate: () => ({}), isBroken: () => false };
}

/** Where a table begins: the parser does not say. */
function tablePlace(text: string, path: KeyPath): Partial<Position> {
  const wanted = path.map(String);
  const lines = text.split("\n");
  const at = lines.findIndex((line) => {
    const keys = /^\s*\[([^[\]]+)\]/u.exec(line)?.[1]?.match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^.\s]+/gu) ?? [];
    return keys.length >= wanted.length && wanted.every((key, index) => unquoted(keys[index] ?? "") === key);
  });
  return at < 0 ? {} : { line: at + 1, column: 1 };
}

function unquoted(key: string): string {
  if (key.startsWith("'")) return key.slice(1, -1);
  const parsed = key.startsWith('"') ? parseJson(key) : undefined;
  return parsed?.ok && typeof parsed.value === "string" ? parsed.value : key;
}

/** Dates and numbers that JSON does not have become texts. Not deep: the parser bounds that. */
function asJson(value: unknown): JsonValue {
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (Array.isArray(value)) return value.map(asJson);
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object") return null;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, asJson(field)]));
}
