// Which file a command means, as the system itself would find it: what is approved and what is started must be the same.
import { posix, win32 } from "node:path";
import type { World } from "../base/ports/world.js";

export interface CommandPlace {
  readonly world: World;
  readonly env: World["env"];
  /** The session's directory: the base of relative commands. */
  readonly cwd: string;
}

/** The full path; undefined when there is no such file, or none that can be looked at. A bare name is looked up in PATH, where links are left as they are: version managers live by them. */
export async function commandPath(command: string, place: CommandPlace): Promise<string | undefined> {
  const { world, cwd } = place;
  const paths = world.platform === "win32" ? win32 : posix;
  const isBare = !command.includes("/") && !(world.platform === "win32" && command.includes("\\"));
  if (isBare) return inPath(command, place);
  const full = withEnding(paths.resolve(cwd, command), place);
  return full === undefined ? undefined : (await world.files.find(full).catch(() => undefined))?.realPath;
}

function inPath(command: string, place: CommandPlace): string | undefined {
  const { world, env } = place;
  const isWindows = world.platform === "win32";
  const paths = isWindows ? win32 : posix;
  const value = Object.entries(env).find(([name]) => (isWindows ? name.toUpperCase() : name) === "PATH")?.[1];
  if (value === undefined) return undefined;
  for (const folder of value.split(paths.delimiter)) {
    // Relative and empty entries mean the session's folder: a server is not started from those.
    const full = folder.replace(/^"(.*)"$/u, "$1");
    if (!paths.isAbsolute(full)) continue;
    const found = withEnding(paths.join(full, command), place);
    if (found !== undefined) return found;
  }
  return undefined;
}

function withEnding(path: string, { world, env }: CommandPlace): string | undefined {
  if (world.platform !== "win32") return world.files.isFile(path) ? path : undefined;
  const known = (env["PATHEXT"] ?? ".COM;.EXE;.BAT;.CMD").split(";").filter((part) => part !== "");
  const endings = win32.extname(path) === "" ? known : ["", ...known];
  return endings.map((ending) => path + ending.toLowerCase()).find((candidate) => world.files.isFile(candidate));
}
