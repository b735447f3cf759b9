// Reads the servers of another client's file: each one translated, or with the reason why it cannot be. The file is never written.
import { posix, win32 } from "node:path";
import { messageOf } from "../../base/errors.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { FOREIGN_LIMITS, LAUNCH_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { kindOf } from "../check.js";
import type { ImportName } from "../entry.js";
import { isInside } from "../inside.js";
import type { LayerServer, WrittenServer } from "../layer.js";
import { CONFIG_LIMITS } from "../limits.js";
import type { Place, Problem } from "../place.js";
import { nameProblem, readEntry, type Schemas } from "../read-entry.js";
import { tooManyServers } from "../read-layer.js";
import type { KeyPath } from "../text-tree.js";
import { DIALECTS } from "./dialects.js";
import { type ForeignText, parseForeign } from "./foreign-text.js";
import { inputsOf } from "./inputs.js";
import { isUnusable } from "./raw-entry.js";
import { type TranslatedEntry, translateEntry } from "./translate.js";

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
export async function readForeign(world: World, file: ForeignFile, context: ForeignContext): Promise<ForeignRead> {
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
    return await foreignOf(text, file, context, await import("../schema.js"));
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
