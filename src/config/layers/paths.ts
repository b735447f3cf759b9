// Where Tenon would keep things: TENON_HOME moves all of it, else the XDG places. Light: the start of `tenon acp` has it too.
import { isAbsolute, join, relative, sep } from "node:path";
import { messageOf, TenonError } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";

/**
 * The user's own configuration; journals (`stateDir`); what may be deleted at any time (`cacheDir`): which era servers
 * speak, which tools they had; what the person decided about projects' servers. Each undefined when no home is known.
 */
export type PossiblePaths = Readonly<Record<"configFile" | "stateDir" | "cacheDir" | "trustDir", string | undefined>>;

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A relative path in these variables counts as not set, as the XDG rules say: it would mean a place in whatever project
 * is open, and the project would then write the user's configuration and approvals.
 */
export function possiblePaths(env: Environment): PossiblePaths {
  const moved = absolute(env["TENON_HOME"]);
  const home = absolute(env["HOME"]) ?? absolute(env["USERPROFILE"]);
  const folder = (inMoved: string, variable: string, inHome: string) => {
    if (moved !== undefined) return join(moved, inMoved);
    return within(absolute(env[variable]) ?? within(home, inHome), "tenon");
  };
  const stateDir = folder("state", "XDG_STATE_HOME", ".local/state");
  return {
    configFile: within(folder("", "XDG_CONFIG_HOME", ".config"), "config.json"),
    trustDir: within(stateDir, "trust"),
    stateDir,
    cacheDir: folder("cache", "XDG_CACHE_HOME", ".cache"),
  };
}

function within(folder: string | undefined, name: string): string | undefined {
  return folder === undefined ? undefined : join(folder, name);
}

/** Variables that are set and do not count. */
export function ignoredPathVariables(env: Environment): readonly string[] {
  return ["TENON_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"].filter(
    (name) => env[name] && absolute(env[name]) === undefined,
  );
}

function absolute(path: string | undefined): string | undefined {
  return path && isAbsolute(path) ? path : undefined;
}

/** A project's own files: two with settings, the weaker first, and its lock of tool definitions. */
export function projectFiles(project: string): Readonly<Record<"shared" | "own" | "lock", string>> {
  return {
    shared: join(project, ".mcp.json"),
    own: join(project, ".tenon", "config.json"),
    lock: join(project, ".tenon", "tools.lock"),
  };
}

// The same paths for writing: without a home directory this is an error, never the current folder.

export interface Paths extends Pick<PossiblePaths, "configFile" | "trustDir"> {
  /** Journals. This and `cacheDir` throw `config.unreadable` when no home is known. */
  readonly stateDir: string;
  /** What may be deleted at any time: which era servers speak, which tools they had. */
  readonly cacheDir: string;
}

export function tenonPaths(env: Environment): Paths {
  const { configFile, trustDir, stateDir, cacheDir } = possiblePaths(env);
  return {
    configFile,
    trustDir,
    get stateDir() {
      return known(stateDir, "sessions and log-ins");
    },
    get cacheDir() {
      return known(cacheDir, "caches");
    },
  };
}

function known(folder: string | undefined, what: string): string {
  if (folder !== undefined) return folder;
  throw new TenonError("config.unreadable", `there is no place for ${what}: HOME is not set, and no home is known`, {
    hint: "Set HOME or TENON_HOME to a full path.",
  });
}

// Whether one path lies in another. Both must be real paths: names alone say nothing where there are links.

export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Links followed. What cannot be resolved stays as it is: then nothing is read there either. */
export async function realPathOf(world: World, path: string): Promise<string> {
  try {
    return (await world.files.find(path))?.realPath ?? path;
  } catch (error) {
    world.log.debug("config.path_unresolved", { path, error: messageOf(error) });
    return path;
  }
}
