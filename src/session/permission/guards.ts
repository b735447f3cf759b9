// What a session watches its calls by: content from outside it has read, the lock of definitions, files that are protected.

import { dirname, resolve } from "node:path";
import type { Eventual } from "../../base/async/eventual.js";
import { abortListeners } from "../../base/async/scope.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { recorded } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import { markHidden } from "../../base/text/marking.js";
import type { BuiltinSource } from "../../builtin/index.js";
import { possiblePaths } from "../../config/index.js";
import {
  type ApprovalSubject,
  type CatalogTool,
  type Finding,
  findProtected,
  type LockHold,
  lockedServer,
  lockHold,
  type OwnPlace,
  type ProtectionPlace,
  pathsInArguments,
  pathsInCommand,
  type SourcedTool,
  type ToolOrigin,
  type ToolsLock,
  type WrittenPath,
} from "../../tools/index.js";

/** One source of such content. */
export type OutsideRead =
  | { readonly kind: "page" }
  /** Without an origin: a resource, whose server is only named. */
  | { readonly kind: "server"; readonly server: string; readonly origin?: ToolOrigin };

/** Undefined for tools that bring nothing from outside. What a command prints is not counted: nobody knows where it is from. */
export function outsideRead({ origin, source, definition }: CatalogTool, given: JsonObject): OutsideRead | undefined {
  if (origin === "extra") return undefined;
  if (origin !== "builtin") return { kind: "server", server: source, origin };
  if (definition.name === "fetch_url") return { kind: "page" };
  if (definition.name !== "tenon_read_resource") return undefined;
  const { server } = given;
  return { kind: "server", server: typeof server === "string" ? server : "" };
}

export class OutsideReads {
  #reads: Map<string, OutsideRead> | undefined;
  #lastTool: CatalogTool | undefined;
  readonly #isTrusted: (read: OutsideRead) => boolean;

  /** `isTrusted` is asked when it matters: the configuration may change. */
  constructor(restored: readonly OutsideRead[], isTrusted: (read: OutsideRead) => boolean) {
    this.#isTrusted = isTrusted;
    for (const read of restored) this.add(read);
  }

  note(tool: CatalogTool, given: JsonObject): void {
    if (tool.origin !== "builtin" && tool === this.#lastTool) return; // nothing new
    this.#lastTool = tool;
    const read = outsideRead(tool, given);
    if (read) this.add(read);
  }

  add(read: OutsideRead): void {
    this.#reads ??= new Map();
    this.#reads.set(read.kind === "page" ? read.kind : `${read.origin ?? ""}\0${read.server}`, read);
  }

  /** What was read, for people; undefined when nothing of it counts. */
  describe(): string | undefined {
    const read = [...(this.#reads?.values() ?? [])].find((one) => one.kind === "page" || !this.#isTrusted(one));
    if (!read) return undefined;
    if (read.kind === "page") return "a web page";
    return read.server === "" ? "resources of servers" : `what the server ${markHidden(read.server)} answered`;
  }
}

const MAX_NAMES = 5;

export class LockGuard {
  #lock: ToolsLock | undefined;
  #told: Set<string> | undefined;

  /** What the project's file says now; undefined when there is none. */
  follow(lock: ToolsLock | undefined): void {
    this.#lock = lock;
  }

  get isThere(): boolean {
    return this.#lock !== undefined;
  }

  /** What it has against a tool. Tools of Tenon and of the program around it change with these only. */
  holdOf(subject: ApprovalSubject): LockHold | undefined {
    const isLockable = subject.origin !== "builtin" && subject.origin !== "extra";
    return this.#lock && isLockable ? lockHold(this.#lock, subject) : undefined;
  }

  /** Whether it says anything about servers of that name that could be compared. */
  covers(source: string): boolean {
    return this.#lock !== undefined && isJsonObject(lockedServer(this.#lock, source));
  }

  /** Sentences about servers with tools that differ from it, each once for what it says. What cannot be read is told of as a file. */
  news(held: readonly SourcedTool[]): readonly string[] {
    const bySource = new Map<string, string[]>();
    for (const { tool, raw } of held) bySource.set(tool.source, [...(bySource.get(tool.source) ?? []), raw.name]);
    const file = this.#lock?.file ?? "";
    const news = [...bySource].map(([source, names]) => newsOf(file, source, names));
    this.#told ??= new Set();
    const told = this.#told;
    return news.filter((text) => !told.has(text) && told.add(text));
  }
}

function newsOf(file: string, source: string, names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(", ");
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  const what = names.length === 1 ? "1 tool" : `${names.length} tools`;
  const verb = names.length === 1 ? "differs from" : "differ from";
  return `${what} of "${source}" ${verb} ${file} and ${names.length === 1 ? "is" : "are"} held back until somebody looks: ${shown}${more}; tenon mcp diff shows how, tenon mcp lock ${source} accepts it`;
}

interface ProtectedFilesOptions {
  readonly world: World;
  readonly cwd: string;
  /** Where this host keeps its state, which an embedder may have moved. */
  readonly stateDir: string;
  /** How a call of Tenon's own tools looks; undefined for an unknown tool or arguments that cannot be read. */
  readonly describe: BuiltinSource["describe"];
}

interface WritingCall {
  readonly tool: CatalogTool;
  readonly arguments: JsonObject;
  /** Where its server runs, if not in the session's directory. */
  readonly cwd?: string | undefined;
}

/** The protected files that a call would write. */
export type Protects = (call: WritingCall) => Eventual<readonly Finding[]>;

export function protectedFiles(options: ProtectedFilesOptions): Protects {
  const { world, cwd } = options;
  const { HOME, USERPROFILE, XDG_CONFIG_HOME } = world.env;
  const home = HOME ?? USERPROFILE;
  const own = ownPlaces(options);
  const place: ProtectionPlace = { files: world.files, cwd, home, configHome: XDG_CONFIG_HOME, own };
  return (call) => {
    const paths = writtenPaths(call, { cwd: call.cwd ?? cwd, home }, options.describe);
    return paths.length === 0 ? NOTHING_PROTECTED : recordedProtected(call, paths, place, world);
  };
}

function recordedProtected(
  { tool }: WritingCall,
  paths: readonly WrittenPath[],
  place: ProtectionPlace,
  world: World,
): Promise<readonly Finding[]> {
  const about: JsonObject = { tool: tool.id, paths: paths.map(({ path }) => path) };
  const read = (recorded: JsonValue) => (Array.isArray(recorded) ? recorded.filter(isFinding) : undefined);
  const work = () => findProtected(paths, place);
  // A recording of an older version does not say: nothing was protected then.
  return recorded(world, { ask: "protected", about, work, read }).catch((thrown: unknown) => {
    if (world.replay) return [];
    throw thrown;
  });
}

const NOTHING_PROTECTED: readonly Finding[] = [];

/** Kinds of calls whose places are what they change. */
const CHANGES: readonly string[] = ["edit", "delete", "move"];

function writtenPaths(
  { tool, arguments: given }: WritingCall,
  { cwd, home }: { readonly cwd: string; readonly home: string | undefined },
  describe: ProtectedFilesOptions["describe"],
): readonly WrittenPath[] {
  if (tool.origin !== "builtin") return pathsInArguments(given, { cwd, home });
  const looks = describe(tool.definition.name, given);
  if (looks?.kind === "execute") {
    const { path, ...rest } = given;
    const place = { cwd: typeof path === "string" ? resolve(cwd, path) : cwd, home };
    return [
      ...pathsInArguments({ in: path }, { cwd, home }),
      ...Object.values(rest).flatMap((value) => (typeof value === "string" ? pathsInCommand(value, place) : [])),
    ];
  }
  return looks && CHANGES.includes(looks.kind) ? looks.locations.map(({ path }) => ({ text: path, path })) : [];
}

/**
 * With `TENON_HOME` everything lies in one folder, and a person may have projects below it: there only the files directly
 * in it are the configuration.
 */
function ownPlaces({ world, stateDir }: Pick<ProtectedFilesOptions, "world" | "stateDir">): readonly OwnPlace[] {
  const { configFile, trustDir, stateDir: usual, cacheDir } = possiblePaths(world.env);
  const trees = [stateDir, usual, trustDir, cacheDir].filter((path) => path !== undefined);
  const places = trees.map((path): OwnPlace => ({ path, scope: "tree" }));
  if (configFile === undefined) return places;
  return [...places, { path: dirname(configFile), scope: world.env["TENON_HOME"] ? "files" : "tree" }];
}

function isFinding(value: JsonValue): value is JsonObject & Finding {
  return isJsonObject(value) && typeof value["path"] === "string" && isJsonObject(value["file"]);
}

/** Why a question ends whose tool is not there any more, or is another client's by now. */
export const REPLACED: Error = new Error(
  "the client that brought it left, or another one took its place, while it was asked about; nothing was called",
);

/** A call that is judged or asked about. */
export class PendingApproval<Call> {
  readonly call: Call;
  /** Its source was taken out or became another's, before anything else ended it. */
  isReplaced = false;
  readonly #given: AbortSignal;
  /** Made for those that somebody is asked about: most calls are decided without. */
  #controller: AbortController | undefined;
  readonly #stop = () => this.#controller?.abort(this.#given.reason);

  constructor(call: Call, given: AbortSignal) {
    this.call = call;
    this.#given = given;
  }

  /** Aborts with the call, and when its source is replaced. */
  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal;
    this.#controller = new AbortController();
    if (this.isReplaced) this.#controller.abort(REPLACED);
    else if (this.#given.aborted) this.#stop();
    else abortListeners(this.#given).add(this.#stop);
    return this.#controller.signal;
  }

  replace(): void {
    if (this.#given.aborted) return;
    this.isReplaced = true;
    this.#controller?.abort(REPLACED);
  }

  end(): void {
    if (this.#controller) abortListeners(this.#given).delete(this.#stop);
  }
}
