// Two folders of a launch: the session's, which must not decide what runs, and Tenon's private one with what guards need.
import { isAbsolute, posix, win32 } from "node:path";
import type { Files, FoundPath, SpawnRequest, World } from "../../../base/ports/world.js";
import { findCommand } from "../stdio/launch.js";
import type { PrivatePaths } from "./words.js";

export interface SessionFolder {
  /** The server's working directory, as it is written and with links followed. */
  readonly serverFolders: readonly string[];
  /** Folders whose `node_modules/.bin`, and that of every folder above, never counts. */
  readonly guarded: readonly string[];
  /** The server runs in a folder of its own: neither by its path nor by its real path inside the session's. */
  readonly isElsewhere: boolean;
  /** Whether a path lies in the session's folder, by its name or with links followed. */
  readonly holds: (path: string) => Promise<boolean>;
  /** The home is in it: programs below it are the person's own. */
  readonly isHome: boolean;
}

export async function sessionFolder(
  { cwd, given }: { readonly cwd: string; readonly given: string | undefined },
  sessionCwd: string,
  world: World,
): Promise<SessionFolder> {
  const paths = pathsOf(world);
  const realSession = await realPath(sessionCwd, world);
  const holds = async (path: string) =>
    isInside(sessionCwd, path, world) || isInside(realSession, await realPath(path, world), world);
  const home = world.env["HOME"] ?? world.env["USERPROFILE"];
  const isElsewhere = given !== undefined && paths.isAbsolute(given) && !(await holds(cwd));
  const serverFolders = [...new Set([cwd, await realPath(cwd, world)])];
  return {
    serverFolders,
    guarded: [sessionCwd, realSession, ...(isElsewhere ? [] : serverFolders)],
    isElsewhere,
    holds,
    isHome: home !== undefined && (await holds(home)),
  };
}

const lookups = new WeakMap<Files, Map<string, Promise<FoundPath | undefined>>>();

/**
 * What is being looked up is not looked up once more: the servers of a session are launched together, from the same folders
 * and mostly by the same programs, and the first of them keep the disk's threads waiting for a processor.
 */
export async function findTogether({ files }: Pick<World, "files">, path: string): Promise<FoundPath | undefined> {
  const running = lookups.get(files) ?? new Map<string, Promise<FoundPath | undefined>>();
  lookups.set(files, running);
  const known = running.get(path);
  if (known) return await known;
  const finding = files.find(path);
  running.set(path, finding);
  try {
    return await finding;
  } finally {
    running.delete(path);
  }
}

/** With links followed as far as the path exists. */
async function realPath(path: string, world: World): Promise<string> {
  const paths = pathsOf(world);
  for (let at = path; at !== paths.dirname(at); at = paths.dirname(at)) {
    const found = await findTogether(world, at).catch(() => undefined);
    if (found) return paths.join(found.realPath, paths.relative(at, path));
  }
  return path;
}

export function isInside(folder: string, path: string, world: Pick<World, "platform">): boolean {
  const paths = pathsOf(world);
  const way = paths.relative(folder, path);
  return way !== ".." && !way.startsWith(`..${paths.sep}`) && !paths.isAbsolute(way);
}

export function pathsOf({ platform }: Pick<World, "platform">): typeof posix {
  return platform === "win32" ? win32 : posix;
}

export interface SearchPath {
  /** The variable's name: on Windows its case may be any. */
  readonly name: string;
  readonly kept: string;
  /** Entries that lie in the session's folder, and `node_modules/.bin` of the folders above it. */
  readonly dropped: string;
}

/** `npm run`, `npx` and an active virtual environment put folders of the session into PATH: the server does not get them. */
export async function searchPath(
  env: Readonly<Record<string, string>>,
  folder: SessionFolder,
  world: World,
): Promise<SearchPath> {
  const paths = pathsOf(world);
  const isWindows = world.platform === "win32";
  const name = Object.keys(env).find((one) => (isWindows ? one.toUpperCase() : one) === "PATH") ?? "PATH";
  const kept: string[] = [];
  const dropped: string[] = [];
  for (const entry of (env[name] ?? "").split(paths.delimiter).filter((one) => one !== "")) {
    const path = entry.replace(/^"(.*)"$/u, "$1");
    const owner = /[\\/]node_modules[\\/]\.bin[\\/]*$/u.test(path) ? paths.dirname(paths.dirname(path)) : undefined;
    const isAbove = owner !== undefined && folder.guarded.some((one) => isInside(owner, one, world));
    const isOfFolder = isAbove || (!folder.isHome && (await folder.holds(path)));
    (isOfFolder ? dropped : kept).push(entry);
  }
  return { name, kept: kept.join(paths.delimiter), dropped: dropped.join(paths.delimiter) };
}

/** The file that a command means in a PATH, which has full paths only. */
export async function programIn(
  path: string,
  command: string,
  { plain, search, world }: { readonly plain: SpawnRequest; readonly search: SearchPath; readonly world: World },
): Promise<string | undefined> {
  const { files, platform } = world;
  if (platform === "win32") {
    return findCommand({ ...plain, command, env: { ...plain.env, [search.name]: path } }, (one) => files.isFile(one));
  }
  for (const folder of path.split(":").filter((one) => one !== "")) {
    const candidate = posix.join(folder, command);
    if (!files.isFile(candidate)) continue;
    const found = await findTogether(world, candidate).catch(() => undefined);
    if (found?.kind === "file" && (found.mode & 0o111) !== 0) return candidate;
  }
  return undefined;
}

/** npm puts `node_modules/.bin` of the working directory and every folder above it before PATH: a `node` there would run. */
const SHELL = `#!/bin/sh
set -f
here=$(pwd -P)
kept=
IFS=:
for entry in $PATH; do
  case $entry in
    */node_modules/.bin) case $here/ in "\${entry%/node_modules/.bin}"/*) continue ;; esac ;;
  esac
  kept=$kept\${kept:+:}$entry
done
unset IFS
set +f
PATH=$kept
export PATH
exec /bin/sh "$@"
`;

/** pnpm and bunx start a package in the folder they were given; its interpreter is this one first. */
const NODE = `#!/bin/sh
set -f
own=\${0%/*}
kept=
IFS=:
for entry in $PATH; do
  [ "$entry" = "$own" ] || kept=$kept\${kept:+:}$entry
done
unset IFS
set +f
PATH=$kept
export PATH
cd "$TENON_SERVER_FOLDER" || exit 1
exec node "$@"
`;

/** Tenon's cache folder, which stays between runs. */
function homeOf({ env }: World): string | undefined {
  const isFull = (path: string | undefined): path is string => path !== undefined && isAbsolute(path);
  if (isFull(env["TENON_HOME"])) return posix.join(env["TENON_HOME"], "cache");
  if (isFull(env["XDG_CACHE_HOME"])) return posix.join(env["XDG_CACHE_HOME"], "tenon");
  const home = env["HOME"] ?? env["USERPROFILE"];
  return isFull(home) ? posix.join(home, ".cache", "tenon") : undefined;
}

const PARTS = ["empty/.keep", "shell", "bin/node", "bunfig.toml", "empty.env", "tsconfig.json"];

export class PrivateFolder {
  readonly #world: World;
  /** Undefined until a launch needed it. */
  root: string | undefined;
  #paths: PrivatePaths | undefined;
  #made: Promise<void> | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  get paths(): PrivatePaths {
    if (this.#paths) return this.#paths;
    const name = Buffer.from(this.#world.randomBytes(9)).toString("hex");
    const root = posix.join(homeOf(this.#world) ?? this.#world.files.scratchFolder(), "launch");
    this.root = root;
    this.#paths = {
      empty: posix.join(root, "empty"),
      shell: posix.join(root, "shell"),
      nodeFolder: posix.join(root, "bin"),
      bunfig: posix.join(root, "bunfig.toml"),
      emptyEnv: posix.join(root, "empty.env"),
      tsconfig: posix.join(root, "tsconfig.json"),
      unusedName: `.${name}.yml`,
    };
    return this.#paths;
  }

  /** Resolves when everything that `paths` names is there; at once when nothing was asked for. */
  async ready(): Promise<void> {
    if (!this.#paths) return;
    // A cache may be emptied at any time.
    if (this.#made) await this.#made;
    if (!PARTS.every((part) => this.#world.files.isFile(posix.join(this.root ?? "", part)))) this.#made = undefined;
    this.#made ??= this.#make(this.#paths).catch((error: unknown) => {
      this.#made = undefined;
      throw error;
    });
    await this.#made;
  }

  async #make({ empty, shell, nodeFolder, bunfig, emptyEnv, tsconfig }: PrivatePaths): Promise<void> {
    const { files } = this.#world;
    await Promise.all([
      files.writeAtomic(posix.join(empty, ".keep"), ""),
      files.writeAtomic(shell, SHELL, 0o700),
      files.writeAtomic(posix.join(nodeFolder, "node"), NODE, 0o700),
      files.writeAtomic(bunfig, ""),
      files.writeAtomic(emptyEnv, ""),
      files.writeAtomic(tsconfig, "{}\n"),
    ]);
  }
}

const folders = new WeakMap<World["files"], Map<string, PrivateFolder>>();

/** One for all launches of a process with the same home. */
export function privateFolder(world: World): PrivateFolder {
  const ofFiles = folders.get(world.files) ?? new Map<string, PrivateFolder>();
  const key = homeOf(world) ?? "";
  const known = ofFiles.get(key) ?? new PrivateFolder(world);
  folders.set(world.files, ofFiles.set(key, known));
  return known;
}
