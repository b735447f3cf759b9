// Where Tenon keeps things, for whoever is about to: without a home that is an error, and never the folder one stands in.
import { TenonError } from "../base/errors.js";
import { type Environment, type PossiblePaths, possiblePaths } from "./paths.js";

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
