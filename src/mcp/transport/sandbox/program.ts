// Where a program really lives, and what runs it: the folders a server's command needs to be seen at all.
import { posix } from "node:path";
import { SANDBOX_LIMITS } from "../../../base/limits.js";
import type { Files } from "../../../base/ports/world.js";
import { shebang } from "../launchers/words.js";
import { isInSystem } from "./bubblewrap.js";
import { isWithin, isWithinAny, showsTooMuch } from "./mounts.js";

type ProgramFiles = Pick<Files, "find" | "isFile" | "readBytes">;

export interface ProgramSurroundings {
  readonly files: ProgramFiles;
  /** PATH as the server gets it. */
  readonly path: string;
  /** Base of relative paths. */
  readonly cwd: string;
  /** The person's home, by each of its names. */
  readonly homes: readonly string[];
  /** Folders that are visible anyway and writable for others: files there must not make anything else visible. */
  readonly directories: readonly string[];
}

/** Programs that bring many versions of others lie whole in such a folder of a home, parts of them calling each other. */
const TOOL_HOMES: readonly string[] = [
  ...[".nvm", ".fnm", ".volta", ".nodenv", ".n", ".bun", ".deno", ".pyenv", ".rbenv", ".asdf", ".sdkman"],
  ...[".rustup", ".local/share/fnm", ".local/share/mise", ".local/share/uv", ".local/share/pipx", ".local/pipx"],
  ...["miniconda3", "anaconda3", "miniforge3"],
];

/** Files that mark a folder as a package, whose parts read each other. */
const PACKAGE_FILES: readonly string[] = ["package.json", "pyproject.toml"];

/** The file a command means, as a shell would find it; undefined when there is none. */
export async function commandFile(
  command: string,
  { files, path, cwd }: ProgramSurroundings,
): Promise<string | undefined> {
  if (command.includes("/")) return (await isProgram(files, command)) ? command : undefined;
  for (const folder of path.split(posix.delimiter)) {
    const candidate = posix.resolve(cwd, folder, command);
    if (folder !== "" && (await isProgram(files, candidate))) return candidate;
  }
  return undefined;
}

async function isProgram(files: ProgramFiles, path: string): Promise<boolean> {
  const found = await files.find(path).catch(() => undefined);
  return found?.kind === "file" && (found.mode & 0o111) !== 0;
}

/** Read-only places that make `file`, and the interpreters it names, work. */
export async function programPlaces(file: string, surroundings: ProgramSurroundings): Promise<readonly string[]> {
  const places = new Set<string>();
  let next: string | undefined = file;
  for (let count = 0; next !== undefined && count < SANDBOX_LIMITS.interpreters; count++) {
    for (const place of await placesOf(next, surroundings)) places.add(place);
    next = await interpreterOf(next, surroundings);
  }
  return [...places];
}

/** The places of a script named in the arguments; of other files named there, the file alone. */
export async function argumentPlaces(
  args: readonly string[],
  surroundings: ProgramSurroundings,
): Promise<readonly string[]> {
  const places: string[] = [];
  let isScript = true;
  for (const arg of args) {
    if (arg === "" || arg.startsWith("-")) continue;
    const path = posix.resolve(surroundings.cwd, arg);
    const found = await surroundings.files.find(path).catch(() => undefined);
    if (found?.kind !== "file") continue;
    if (isScript) places.push(...(await placesOf(path, surroundings)));
    else if (!isInSystem(path) && !isWithinAny(path, surroundings.directories)) places.push(path);
    isScript = false;
  }
  return places;
}

/** Its own, and that of the file a link leads to. */
async function placesOf(file: string, surroundings: ProgramSurroundings): Promise<readonly string[]> {
  if (isWithinAny(file, surroundings.directories)) return [];
  const found = await surroundings.files.find(file).catch(() => undefined);
  if (!found) return [];
  const paths = [...new Set([file, found.realPath])].filter((path) => !isInSystem(path));
  return paths.map((path) => placeOf(path, surroundings));
}

/** The smallest folder that is likely to hold all of the program, and never one that shows more than programs. */
function placeOf(path: string, { files, homes, directories }: ProgramSurroundings): string {
  const toolHome = homes
    .flatMap((home) => TOOL_HOMES.map((name) => posix.join(home, name)))
    .find((folder) => isWithin(path, folder));
  if (toolHome !== undefined) return toolHome;
  const modules = outermost(path, "node_modules");
  if (modules !== undefined) return modules;
  const folder = posix.dirname(path);
  const candidates = /^s?bin$/u.test(posix.basename(folder)) ? [posix.dirname(folder), folder] : [];
  candidates.push(...packageFolder(files, folder), folder);
  // One that holds the session's directories would make them visible by another way than its own.
  const isFit = (candidate: string) =>
    !showsTooMuch(candidate, homes) && !directories.some((directory) => isWithin(directory, candidate));
  return candidates.find(isFit) ?? path;
}

function outermost(path: string, name: string): string | undefined {
  const parts = path.split("/");
  const at = parts.indexOf(name);
  return at > 0 && at < parts.length - 1 ? parts.slice(0, at + 1).join("/") : undefined;
}

function packageFolder(files: ProgramFiles, from: string): readonly string[] {
  let folder = from;
  for (let level = 0; level < SANDBOX_LIMITS.packageLevels && folder !== "/"; level++) {
    if (PACKAGE_FILES.some((name) => files.isFile(posix.join(folder, name)))) return [folder];
    folder = posix.dirname(folder);
  }
  return [];
}

/** The interpreter in the first line of a script. A script in a writable directory may only name one that PATH has. */
async function interpreterOf(file: string, surroundings: ProgramSurroundings): Promise<string | undefined> {
  const { files, directories } = surroundings;
  const words = shebang(await head(files, file));
  const [program, ...rest] = words;
  if (program === undefined) return undefined;
  if (posix.basename(program) === "env") {
    const name = rest.find((word) => !word.startsWith("-") && !word.includes("="));
    return name === undefined ? undefined : await commandFile(name, surroundings);
  }
  const mayName = isInSystem(program) || !isWithinAny(file, directories) || isWithinAny(program, directories);
  return mayName && posix.isAbsolute(program) ? program : undefined;
}

async function head(files: ProgramFiles, file: string): Promise<string> {
  const range = { start: 0, length: SANDBOX_LIMITS.shebangBytes };
  const bytes = await files.readBytes(file, range).catch(() => new Uint8Array());
  return Buffer.from(bytes).toString("latin1");
}
