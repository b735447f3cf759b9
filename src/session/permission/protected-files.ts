// The protected files that a call would write: Tenon's own tools say which they touch, of others the arguments are looked through.
import { dirname, resolve } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { recorded } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import type { BuiltinPresentation } from "../../builtin/index.js";
import { possiblePaths } from "../../config/index.js";
import {
  type Finding,
  findProtected,
  type OwnPlace,
  type ProtectionPlace,
  pathsInArguments,
  pathsInCommand,
  type WrittenPath,
} from "../../tools/index.js";
import type { CalledTool } from "./clearance.js";

export interface ProtectedFilesOptions {
  readonly world: World;
  readonly cwd: string;
  /** Where this host keeps its state, which an embedder may have moved. */
  readonly stateDir: string;
  /** How a call of Tenon's own tools looks; undefined for an unknown tool or arguments that cannot be read. */
  describe(tool: string, args: JsonObject): BuiltinPresentation | undefined;
}

type Protects = (call: CalledTool & { readonly cwd?: string }) => Promise<readonly Finding[]>;

export function protectedFiles(options: ProtectedFilesOptions): Protects {
  const { world, cwd } = options;
  const { HOME, USERPROFILE, XDG_CONFIG_HOME } = world.env;
  const home = HOME ?? USERPROFILE;
  const place: ProtectionPlace = {
    files: world.files,
    cwd,
    home,
    configHome: XDG_CONFIG_HOME,
    own: ownPlaces(options),
  };
  return async (call) => {
    const paths = writtenPaths(call, { ...options, cwd: call.cwd ?? cwd, home });
    if (paths.length === 0) return [];
    const about: JsonObject = { tool: call.tool.id, paths: paths.map(({ path }) => path) };
    const read = (recorded: JsonValue) => (Array.isArray(recorded) ? recorded.filter(isFinding) : undefined);
    const work = () => findProtected(paths, place);
    const isReplay = world.replay !== undefined;
    // A recording of an older version does not say: nothing was protected then.
    return await recorded(world, { ask: "protected", about, work, read }).catch((thrown: unknown) => {
      if (isReplay) return [];
      throw thrown;
    });
  };
}

/** Kinds of calls whose places are what they change. */
const CHANGES: readonly string[] = ["edit", "delete", "move"];

function writtenPaths(
  { tool, arguments: given }: CalledTool,
  options: ProtectedFilesOptions & { readonly home: string | undefined },
): readonly WrittenPath[] {
  const { cwd, home } = options;
  if (tool.origin !== "builtin") return pathsInArguments(given, { cwd, home });
  const looks = options.describe(tool.definition.name, given);
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
  const isMoved = Boolean(world.env["TENON_HOME"]);
  return [
    ...trees.map((path): OwnPlace => ({ path, scope: "tree" })),
    ...(configFile === undefined
      ? []
      : [{ path: dirname(configFile), scope: isMoved ? ("files" as const) : ("tree" as const) }]),
  ];
}

function isFinding(value: JsonValue): value is JsonObject & Finding {
  return isJsonObject(value) && typeof value["path"] === "string" && isJsonObject(value["file"]);
}
