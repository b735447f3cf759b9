// Where Tenon keeps things: TENON_HOME moves all of it, else the XDG places.
import { isAbsolute, join } from "node:path";

export interface Paths {
  /** The user's own configuration; undefined when no home is known. */
  readonly configFile: string | undefined;
  /** Journals. */
  readonly stateDir: string;
  /** What may be deleted at any time: which era servers speak, which tools they had. */
  readonly cacheDir: string;
  /** What the person decided about projects' servers; undefined when no home is known. */
  readonly trustDir: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A relative path in these variables counts as not set, as the XDG rules say: it would mean a place in whatever project
 * is open, and the project would then write the user's configuration and approvals.
 */
export function tenonPaths(env: Environment): Paths {
  const moved = absolute(env["TENON_HOME"]);
  if (moved !== undefined) return pathsOf(moved, join(moved, "state"), join(moved, "cache"));
  const home = absolute(env["HOME"]) ?? absolute(env["USERPROFILE"]) ?? ".";
  return pathsOf(
    join(absolute(env["XDG_CONFIG_HOME"]) ?? join(home, ".config"), "tenon"),
    join(absolute(env["XDG_STATE_HOME"]) ?? join(home, ".local", "state"), "tenon"),
    join(absolute(env["XDG_CACHE_HOME"]) ?? join(home, ".cache"), "tenon"),
  );
}

/** Variables that are set and do not count. */
export function ignoredPathVariables(env: Environment): readonly string[] {
  return ["TENON_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"].filter(
    (name) => env[name] && absolute(env[name]) === undefined,
  );
}

function pathsOf(configDir: string, stateDir: string, cacheDir: string): Paths {
  return {
    configFile: absolute(join(configDir, "config.json")),
    stateDir,
    cacheDir,
    trustDir: absolute(join(stateDir, "trust")),
  };
}

function absolute(path: string | undefined): string | undefined {
  return path && isAbsolute(path) ? path : undefined;
}

/** A project's own files: two with settings, the weaker first, and its lock of tool definitions. */
export function projectFiles(project: string): {
  readonly shared: string;
  readonly own: string;
  readonly lock: string;
} {
  return {
    shared: join(project, ".mcp.json"),
    own: join(project, ".tenon", "config.json"),
    lock: join(project, ".tenon", "tools.lock"),
  };
}
