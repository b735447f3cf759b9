// Reads the servers of another client's file: each one translated, or with the reason why it cannot be. The file is never written.
import { posix, win32 } from "node:path";
import { messageOf } from "../../base/errors.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { FOREIGN_LIMITS, LAUNCH_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { KeyPath } from "../layers/document.js";
import type { ImportName } from "../layers/entry.js";
import { kindOf } from "../layers/findings.js";
import type { InvalidServer, Layer, LayerServer, Place, Problem, WrittenServer } from "../layers/layer.js";
import { isInside } from "../layers/paths.js";
import { nameProblem, readEntry, type Schemas } from "../layers/read-entry.js";
import { tooManyServers } from "../layers/read-layer.js";
import { CONFIG_LIMITS } from "../limits.js";
import { DIALECTS, foreignPlaces, isUnusable } from "./clients.js";
import { type ForeignText, parseForeign } from "./text.js";
import { inputsOf, type TranslatedEntry, translateEntry } from "./translate.js";

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
  const place: Place = { layer: file.owner, file: file.path, client: file.client };
  const failed = (message: string): ForeignRead => ({
    ...nothingIn(file),
    isThere: true,
    problems: [{ severity: "error", place, message }],
  });
  try {
    const found = await world.files.find(file.path);
    if (!found) return nothingIn(file);
    if (found.kind !== "file") return failed("this is no file");
    const maxBytes = file.owner === "project" ? CONFIG_LIMITS.configMaxBytes : FOREIGN_LIMITS.fileMaxBytes;
    if (found.bytes > maxBytes) return failed(`the file is larger than ${maxBytes} bytes`);
    if (file.within !== undefined && !isInside(found.realPath, file.within)) {
      return failed(`the file is a link that leads out of the project, to ${found.realPath}; it is not read`);
    }
    const text = await world.files.readText(found.realPath);
    return await foreignOf(text, file, context, await import("../layers/schema.js"));
  } catch (error) {
    return failed(`the file cannot be read: ${messageOf(error)}`);
  }
}

function nothingIn({ client, path, owner }: ForeignFile): ForeignRead {
  return { client, file: path, owner, isThere: false, servers: [], problems: [] };
}

/** Pure but for loading its parser: the text of a file to its servers. */
export async function foreignOf(
  text: string,
  file: ForeignFile,
  context: ForeignContext,
  schemas: Schemas,
): Promise<ForeignRead> {
  const reader = new ForeignReader(await parseForeign(text, DIALECTS[file.client].format), file, context, schemas);
  return reader.read();
}

class ForeignReader {
  readonly #text: ForeignText;
  readonly #file: ForeignFile;
  readonly #context: ForeignContext;
  readonly #schemas: Schemas;
  readonly #servers = new Map<string, ForeignServer>();
  readonly #problems: Problem[] = [];

  constructor(text: ForeignText, file: ForeignFile, context: ForeignContext, schemas: Schemas) {
    this.#text = text;
    this.#file = file;
    this.#context = context;
    this.#schemas = schemas;
  }

  read(): ForeignRead {
    const { client, path: file, owner } = this.#file;
    const { root, problems } = this.#text;
    for (const { message, at } of problems) {
      this.#problems.push({ severity: "error", place: { ...this.#place([]), ...at }, message });
    }
    const isProject = (path: string) => this.#context.project.includes(path);
    for (const path of root ? DIALECTS[client].sections(root, isProject) : []) this.#readSection(path, root ?? {});
    return { client, file, owner, isThere: true, servers: [...this.#servers.values()], problems: this.#problems };
  }

  #readSection(path: KeyPath, root: JsonObject): void {
    const section = path.reduce<JsonValue | undefined>(
      (value, key) => (isJsonObject(value) && Object.hasOwn(value, key) ? value[String(key)] : undefined),
      root,
    );
    if (isJsonObject(section)) {
      const entries = Object.entries(section);
      const isBounded = this.#file.owner === "project" && entries.length > LAUNCH_LIMITS.projectServers;
      const read = isBounded ? entries.slice(0, LAUNCH_LIMITS.projectServers) : entries;
      for (const [name, written] of read) this.#readServer(name, written, [...path, name]);
      if (!isBounded) return;
      const message = tooManyServers(entries.map(([name]) => name));
      this.#problems.push({ severity: "error", place: this.#place(path), message });
    } else if (section !== undefined && section !== null) {
      const message = `${path.join(".")} must be an object of entries by name, got ${kindOf(section)}`;
      this.#problems.push({ severity: "error", place: this.#place(path), message });
    }
  }

  #readServer(name: string, written: JsonValue | undefined, path: KeyPath): void {
    const place = this.#place(path);
    const unusable = (reasons: readonly string[], notes: readonly string[] = [], isExpected = false): void => {
      const problems = reasons.map((message): Problem => ({ severity: "error", place, server: name, message }));
      this.#servers.set(name, { name, place, problems, notes, isExpected });
    };
    const badName = nameProblem(name);
    if (badName !== undefined) return unusable([badName]);
    if (this.#text.isBroken(path)) return unusable(["left out: there is a syntax error in its entry"]);
    if (!isJsonObject(written)) return unusable([`expected an object, got ${kindOf(written)}`]);
    const raw = DIALECTS[this.#file.client].entry(written);
    if (isUnusable(raw)) return unusable([raw.reason], [], raw.isExpected === true);
    const translated = translateEntry(raw, this.#textContext());
    const checked = readEntry(translated.entry, this.#file.layer, this.#schemas);
    const faults = [...translated.problems, ...faultsOf(translated, checked.findings)];
    if (!checked.value || faults.length > 0) return unusable(faults, translated.notes);
    const definition: WrittenServer = {
      kind: "entry",
      entry: checked.value,
      written: translated.entry,
      placeOf: () => place, // its own words are not those of the file
    };
    const server: LayerServer<WrittenServer> = { name, place, definition };
    const only = path[0] === "projects" ? ["there it is for this project only"] : [];
    const notes = [...translated.notes, ...only];
    this.#servers.set(name, { name, place, server, problems: [], notes, isExpected: false });
  }

  #textContext(): Parameters<typeof translateEntry>[1] {
    const { platform } = this.#context.world;
    const paths = platform === "win32" ? win32 : posix;
    const { client, path, layer } = this.#file;
    return {
      syntax: DIALECTS[client].syntax,
      layer,
      platform,
      folder: paths.dirname(path),
      resolve: (...parts) => paths.resolve(...parts),
      inputs: inputsOf(this.#text.root?.["inputs"]),
    };
  }

  #place(path: KeyPath): Place {
    const { client, path: file, owner } = this.#file;
    return { layer: owner, file, client, ...(path.length === 0 ? {} : this.#text.locate(path)) };
  }
}

/** What is wrong by the rules of our own files; what the translation has said already is not said again. */
function faultsOf(
  { problems }: TranslatedEntry,
  findings: ReturnType<typeof readEntry>["findings"],
): readonly string[] {
  return problems.length > 0
    ? []
    : findings.flatMap(({ severity, message }) => (severity === "error" ? [message] : []));
}

// Another client's servers as a layer of the configuration, for `import`.

/**
 * Entries that are for that client only are left out without a word, and so are those that cannot be used and that the
 * user has written out themselves (`taken`): both are shown by `tenon mcp import`.
 */
export function foreignLayer({ owner, file, servers, problems }: ForeignRead, taken: ReadonlySet<string>): Layer {
  const invalid = servers.flatMap(({ name, place, server, isExpected, problems: faults }): InvalidServer[] =>
    server || isExpected || taken.has(name) ? [] : [{ name, place, problems: faults }],
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

export interface ImportedFiles {
  /** In the order of the names, and of one client the weaker first. */
  readonly reads: readonly ForeignRead[];
  /** Whether they are there or not. */
  readonly paths: readonly string[];
}

/** Never rejects. */
export async function readImports(names: readonly ImportName[], request: ImportRequest): Promise<ImportedFiles> {
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

/** What cannot be resolved stays as it is: then nothing is read there either. */
async function realPathOf(world: World, path: string): Promise<string> {
  return (await world.files.find(path).catch(() => undefined))?.realPath ?? path;
}
