// Where the session's folder really is, which folders of PATH lie in it, and which program a command means without them.
import { posix, win32 } from "node:path";
import type { SpawnRequest, World } from "../../../base/ports/world.js";
import { findCommand } from "../stdio/windows-shim.js";

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

/** With links followed as far as the path exists. */
async function realPath(path: string, world: World): Promise<string> {
  const paths = pathsOf(world);
  for (let at = path; at !== paths.dirname(at); at = paths.dirname(at)) {
    const found = await world.files.find(at).catch(() => undefined);
    if (found) return paths.join(found.realPath, paths.relative(at, path));
  }
  return path;
}

export function isInside(folder: string, path: string, world: Pick<World, "platform">): boolean {
  const paths = pathsOf(world);
  const way = paths.relative(folder, path);
  return way !== ".." && !way.startsWith(`..${paths.sep}`) && !paths.isAbsolute(way);
}

function pathsOf({ platform }: Pick<World, "platform">): typeof posix {
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
    const found = await files.find(candidate).catch(() => undefined);
    if (found?.kind === "file" && (found.mode & 0o111) !== 0) return candidate;
  }
  return undefined;
}
