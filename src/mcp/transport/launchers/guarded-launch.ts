// Builds the guarded launch of a server: nothing in the session's folder can replace it, unless exactly that was approved.

import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { hashBytes, hashJson } from "../../../base/json/json.js";
import { LAUNCH_LIMITS } from "../../../base/limits.js";
import type { SpawnRequest, World } from "../../../base/ports/world.js";
import type { PinnedFile, StdioSpec } from "../../spec.js";
import { launchOf, viaShim } from "../stdio/launch.js";
import { runProgram } from "../stdio/short-run.js";
import type { PrivateFolder, SearchPath } from "./folders.js";
import { findTogether, isInside, pathsOf, privateFolder, programIn, searchPath, sessionFolder } from "./folders.js";
import { environmentConcerns, guardWords, relativeProgram } from "./launchers.js";
import { binaryName, packageRunner } from "./package-runners.js";
import type { Concern, GuardContext, GuardedWords } from "./words.js";
import { namedFiles, programName, shebang, unchanged } from "./words.js";

/** Why a launch cannot be kept apart from the session's folder: what a person is asked about. */
export interface LaunchConcern {
  readonly reasons: readonly string[];
  /** Files of the folder that would run, with what is in them. */
  readonly files: readonly PinnedFile[];
  /** The program that would be started, links followed. */
  readonly program?: string;
  /** Any change of the words, the program or the files gives another. */
  readonly key: string;
}

/** Rejects with `mcp.launch_refused` when something must be approved first, or is not what was approved. */
export async function guardedLaunch(spec: StdioSpec, sessionCwd: string, world: World): Promise<SpawnRequest> {
  const { approved } = spec;
  if (approved?.by === "project") {
    await verifyPinned(approved.files, world);
    return launchOf(spec, sessionCwd, world);
  }
  const { guarded, concern } = await assess(spec, sessionCwd, world);
  if (!concern || (approved?.by === "folder" && approved.key === concern.key)) return guarded;
  // Its own code runs from this folder by the program's own words: nothing else of the folder could do more.
  if (approved?.by === "program" && concern.files.length > 0) return guarded;
  const what =
    approved?.by === "folder" ? "what would run is not what was approved for this folder:" : "in this folder";
  throw new TenonError("mcp.launch_refused", `not started: ${what} ${concern.reasons.join("; ")}`, {
    hint: "Approve it for this folder when Tenon asks, or with `tenon trust approve`; or give full paths in its entry, or its own cwd.",
  });
}

/** The question about a server that does not come from the project; undefined when there is none. */
export async function launchConcern(
  spec: StdioSpec,
  sessionCwd: string,
  world: World,
): Promise<LaunchConcern | undefined> {
  return (await assess(spec, sessionCwd, world)).concern;
}

/** `guarded` is the request without concerns, or with exactly the approved one: all other guards stay. */
async function assess(
  spec: StdioSpec,
  sessionCwd: string,
  world: World,
): Promise<{ readonly guarded: SpawnRequest; readonly concern?: LaunchConcern }> {
  const plain = launchOf(spec, sessionCwd, world);
  const session = await sessionFolder({ cwd: plain.cwd, given: spec.cwd }, sessionCwd, world);
  const search = await searchPath(plain.env, session, world);
  const { program, concerns: found } = await programFile({ spec, plain, search, world });
  const launch: Launch = { spec, plain, search, program, world };
  const folder = privateFolder(world);
  const context = contextOf(sessionCwd, plain, world, { folder, serverFolders: session.serverFolders });
  const given = { command: spec.command, args: spec.args };
  if (session.isElsewhere) {
    // Its words mean files of its own folder, but a relative program is still one of the session's.
    const concerns = [...relativeProgram(given, context), ...found];
    return { guarded: withGuards(launch, unchanged(given)), ...(await concernOf(launch, concerns)) };
  }
  const words = guardWords(given, context);
  // A program of the folder is not asked for its version: that would run it.
  const mayRun = found.length === 0 && relativeProgram(given, context).length === 0;
  const version = await versionConcerns(launch, words, mayRun);
  const shim = shimGuard(program, context);
  const own = environmentConcerns(spec.env, context);
  const concerns = [...words.concerns, ...found, ...version, ...shim.concerns, ...own];
  // An old Python does not know `-P`, its only guard among the words.
  const args = version.length > 0 && words.python === "program" ? spec.args : words.args;
  const safe = { ...words, args, env: { ...shim.env, ...words.env } };
  const guarded = withGuards(launch, safe);
  const concern = await concernOf(launch, concerns);
  await folder.ready();
  return { guarded, ...concern };
}

function contextOf(
  sessionCwd: string,
  { cwd, env }: SpawnRequest,
  world: World,
  { folder, serverFolders }: { folder: Pick<PrivateFolder, "paths">; serverFolders: readonly string[] },
): GuardContext {
  const isWindows = world.platform === "win32";
  const paths = pathsOf(world);
  const home = world.env["HOME"] ?? world.env["USERPROFILE"];
  const configHome = env["XDG_CONFIG_HOME"] ?? (home === undefined ? undefined : paths.join(home, ".config"));
  const uvConfig = configHome === undefined ? undefined : paths.join(configHome, "uv", "uv.toml");
  const isThere = (path: string) => (path.endsWith(".bin") ? world.files.isFolder(path) : world.files.isFile(path));
  return {
    isWindows,
    cwd,
    get paths() {
      return folder.paths;
    },
    exists: (path) =>
      world.files.isFile(paths.resolve(cwd, path)) || world.files.isFile(paths.resolve(sessionCwd, path)),
    trap: (names) => {
      for (const start of serverFolders) {
        for (let at = start; at !== home && at !== paths.dirname(at); at = paths.dirname(at)) {
          const found = names.map((name) => paths.join(at, name)).find(isThere);
          if (found !== undefined) return found;
        }
      }
      return undefined;
    },
    uvConfig: uvConfig !== undefined && world.files.isFile(uvConfig) ? uvConfig : undefined,
  };
}

interface Launch {
  readonly spec: StdioSpec;
  readonly plain: SpawnRequest;
  readonly search: SearchPath;
  readonly program: string | undefined;
  readonly world: World;
}

/** The guarded words as a request. Variables of the entry itself stay, except PATH. */
function withGuards({ spec, plain, program, search, world }: Launch, words: GuardedWords): SpawnRequest {
  const isWindows = world.platform === "win32";
  const env: Record<string, string> = { ...words.env, ...plain.env };
  if (isWindows) env["NoDefaultCurrentDirectoryInExePath"] = "1";
  const path = [words.pathFirst ?? "", search.kept].filter((part) => part !== "").join(isWindows ? ";" : ":");
  if (path === "") delete env[search.name];
  else env[search.name] = path;
  if (isWindows && program === undefined && !/[\\/]/u.test(spec.command)) {
    // Windows would look for it in the working directory next.
    throw new TenonError("mcp.spawn_failed", `cannot start "${spec.command}": not found in PATH`);
  }
  // On Windows `plain` may be an interpreter already.
  const command = program ?? (plain.isVerbatim === true ? spec.command : plain.command);
  const request = { command, args: words.args, env, cwd: plain.cwd };
  return isWindows ? viaShim(request, (file) => world.files.isFile(file)) : request;
}

/** The file that a command means in the PATH the server gets; one that only the folder has is asked about. */
async function programFile(
  launch: Omit<Launch, "program">,
): Promise<{ readonly program: string | undefined; readonly concerns: readonly Concern[] }> {
  const { spec, plain, search, world } = launch;
  const isWindows = world.platform === "win32";
  if (!isWindows && plain.command.includes("/")) return { program: plain.command, concerns: [] };
  const program = await programIn(search.kept, spec.command, launch);
  if (program !== undefined || (isWindows && /[\\/]/u.test(spec.command))) return { program, concerns: [] };
  const own = await programIn(search.dropped, spec.command, launch);
  if (own === undefined) return { program, concerns: [] };
  const reason = `the server's command is found nowhere but in the folder, as ${JSON.stringify(own)}`;
  return { program: own, concerns: [{ reason, file: own }] };
}

/** A Python before 3.11 has no option to ignore the working directory. */
async function versionConcerns(
  { program, plain, search, world }: Launch,
  words: GuardedWords,
  mayRun: boolean,
): Promise<readonly Concern[]> {
  if (words.python === undefined || program === undefined) return [];
  const named = words.python === "shebang" ? await interpreterOf(program, world) : program;
  const isInterpreter = /^(?:python|pypy|graalpy|py)/u.test(programName(named ?? "", world.platform === "win32"));
  // Through a wrapper or a shell the program is not known; `-P` makes an old one refuse to run.
  if (named === undefined || !isInterpreter) return [];
  const folder = privateFolder(world);
  const { empty } = folder.paths;
  await folder.ready();
  const env = { ...VERSION_MANAGERS(empty), ...plain.env, [search.name]: search.kept };
  const found = await pythonVersion(named, mayRun ? { cwd: empty, env } : undefined, world);
  const [major = 0, minor = 0] = found ?? [];
  if (major > 3 || (major === 3 && minor >= 11)) return [];
  const which = found ? `Python ${major}.${minor}` : `${named}, whose version is not known,`;
  return [{ reason: `${which} imports modules from the folder first (only 3.11 and later can be told not to)` }];
}

async function interpreterOf(program: string, world: World): Promise<string | undefined> {
  const bytes = await world.files.readBytes(program, { start: 0, length: 256 }).catch(() => new Uint8Array());
  return shebang(Buffer.from(bytes).toString("latin1")).find((word) => /python/u.test(word) && word.startsWith("/"));
}

type PythonVersion = readonly [major: number, minor: number];

const known = new WeakMap<World["files"], Map<string, Promise<PythonVersion | undefined>>>();

/** How it is run to be asked. `cwd` is a private folder: version managers read files of the one they run in. */
type Asked = Pick<SpawnRequest, "cwd" | "env">;

/** By its name, by its virtual environment, or asked once. Without `asked` it is not run. */
async function pythonVersion(
  program: string,
  asked: Asked | undefined,
  world: World,
): Promise<PythonVersion | undefined> {
  if (!asked) return await findVersion(program, asked, world).catch(() => undefined);
  const versions = known.get(world.files) ?? new Map<string, Promise<PythonVersion | undefined>>();
  const answer = versions.get(program) ?? findVersion(program, asked, world).catch(() => undefined);
  known.set(world.files, versions.set(program, answer));
  return await answer;
}

async function findVersion(
  program: string,
  asked: Asked | undefined,
  world: World,
): Promise<PythonVersion | undefined> {
  const paths = pathsOf(world);
  const found = await findTogether(world, program);
  const named = /^(?:python|pypy)(\d)\.(\d+)/u.exec(paths.basename(found?.realPath ?? program));
  if (named) return versionOf(named);
  const config = paths.join(paths.dirname(paths.dirname(program)), "pyvenv.cfg");
  if (world.files.isFile(config)) {
    const written = /^version(?:_info)?\s*=\s*(\d+)\.(\d+)/mu.exec(await world.files.readText(config));
    if (written) return versionOf(written);
  }
  if (!asked) return undefined;
  using deadline = world.deadline(LAUNCH_LIMITS.versionMs);
  const request = { command: program, args: ["--version"], ...asked };
  const run = { world, signal: deadline.signal, maxOutputBytes: LAUNCH_LIMITS.versionBytes, output: "all" } as const;
  const printed = /Python (\d+)\.(\d+)/u.exec((await runProgram(request, run)).output);
  return printed ? versionOf(printed) : undefined;
}

function versionOf([, major = "0", minor = "0"]: readonly string[]): PythonVersion {
  return [Number(major), Number(minor)];
}

/** They choose a version by files of the folder that these variables name. */
const VERSION_MANAGERS = (folder: string): Record<string, string> => ({
  PYENV_DIR: folder,
  NODENV_DIR: folder,
  RBENV_DIR: folder,
});

/** Version managers put small programs before the real ones, which read files of the working directory. */
function shimGuard(
  program: string | undefined,
  context: GuardContext,
): { readonly env: Readonly<Record<string, string>>; readonly concerns: readonly Concern[] } {
  const manager = /[\\/]\.?(pyenv|nodenv|rbenv|asdf|mise)(?:[\\/][^\\/]+)*[\\/]shims[\\/]/u.exec(program ?? "")?.[1];
  if (manager === undefined) return { env: {}, concerns: [] };
  if (manager !== "asdf" && manager !== "mise") return { env: VERSION_MANAGERS(context.paths.empty), concerns: [] };
  const found = context.trap([".tool-versions", "mise.toml", ".mise.toml", "mise.local.toml", ".config/mise.toml"]);
  const reason = `${manager} would choose the program by ${found}`;
  return { env: {}, concerns: found === undefined ? [] : [{ reason }] };
}

async function concernOf(
  { spec, plain, program, world }: Launch,
  concerns: readonly Concern[],
): Promise<{ readonly concern?: LaunchConcern }> {
  if (concerns.length === 0) return {};
  const paths = pathsOf(world);
  const reasons = [...new Set(concerns.map(({ reason }) => reason))];
  const named = [
    ...new Set(concerns.flatMap(({ file }) => (file === undefined ? [] : [paths.resolve(plain.cwd, file)]))),
  ];
  const files = (await Promise.all(named.map((path) => pinned(path, world)))).filter((file) => file !== undefined);
  const real = program === undefined ? undefined : (await world.files.find(program).catch(() => undefined))?.realPath;
  const names = Object.keys(spec.env).sort();
  const { command, args } = spec;
  const hashed = files.map(({ path, hash }) => ({ path, hash }));
  const key = hashJson({ v: 1, command, args, names, cwd: plain.cwd, program: real ?? null, reasons, files: hashed });
  return { concern: { reasons, files, key, ...defined({ program: real }) } };
}

/** A file by its real path and content; undefined when there is none. Of a long one, the size and the first part count. */
async function pinned(path: string, world: World): Promise<PinnedFile | undefined> {
  const found = await world.files.find(path).catch(() => undefined);
  if (found?.kind !== "file") return undefined;
  const length = Math.min(found.bytes, LAUNCH_LIMITS.pinnedBytes);
  const bytes = await world.files.readBytes(found.realPath, { start: 0, length });
  return { path: found.realPath, hash: `${found.bytes}:${hashBytes(bytes)}` };
}

export interface ProjectProgram {
  /** The file that would be started, as it was found. */
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The project's real path. */
  readonly project: string;
}

/** The program, the scripts and the modules that a project's server names, as far as they lie in the project. Their imports are not covered. */
export async function pinnedProgram(
  { command, args, cwd, project }: ProjectProgram,
  world: World,
): Promise<readonly PinnedFile[]> {
  const paths = pathsOf(world);
  const isWithin = (path: string) => path !== project && isInside(project, path, world);
  // A full path into the project is one of its files as much as a relative one.
  const relative = args.map((arg) => (paths.isAbsolute(arg) && isWithin(arg) ? `./${paths.relative(cwd, arg)}` : arg));
  const request = { command, args: relative, env: {}, cwd };
  const context = contextOf(cwd, request, world, { folder: UNUSED_FOLDER, serverFolders: [cwd] });
  const { concerns } = guardWords({ command, args: relative }, context);
  const runner = packageRunner(command, args)?.target;
  const bins = runner === undefined ? [] : [paths.join(cwd, "node_modules", ".bin", binaryName(runner))];
  const named = [
    command,
    ...concerns.flatMap(({ file }) => (file === undefined ? [] : [paths.resolve(cwd, file)])),
    ...bins,
    ...namedFiles(relative).map((file) => paths.resolve(cwd, file)),
  ];
  const files = await Promise.all([...new Set(named)].map((path) => pinned(path, world)));
  return files.filter((file) => file !== undefined).filter(({ path }) => isWithin(path));
}

/** Only the files matter here; nothing is started. */
const UNUSED_PATHS = { empty: "", shell: "", nodeFolder: "", bunfig: "", emptyEnv: "", tsconfig: "", unusedName: "" };
const UNUSED_FOLDER = { paths: UNUSED_PATHS };

async function verifyPinned(files: readonly PinnedFile[], world: World): Promise<void> {
  for (const file of files) {
    const now = await pinned(file.path, world).catch(() => undefined);
    if (now?.hash === file.hash && now.path === file.path) continue;
    throw new TenonError("mcp.launch_refused", `not started: ${file.path} is not the file that was approved any more`, {
      hint: "Look at the change, then approve it again: see `tenon trust`.",
    });
  }
}
