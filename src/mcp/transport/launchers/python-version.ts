// The version of a Python program: by its name, by its virtual environment, or asked once.
import { posix, win32 } from "node:path";
import { orAborted } from "../../../base/async/deadline.js";
import { endTree } from "../../../base/io/process.js";
import { LAUNCH_LIMITS, LIMITS } from "../../../base/limits.js";
import type { World } from "../../../base/ports/world.js";
import { Tail } from "../stdio/tail.js";

export interface PythonVersion {
  readonly major: number;
  readonly minor: number;
}

const known = new WeakMap<World["files"], Map<string, Promise<PythonVersion | undefined>>>();

/** How it is run to be asked. `cwd` is a private folder: version managers read files of the one they run in. */
interface Asked {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Undefined when it cannot be told. Without `asked` it is not run. */
export async function pythonVersion(
  program: string,
  asked: Asked | undefined,
  world: World,
): Promise<PythonVersion | undefined> {
  const versions = known.get(world.files) ?? new Map<string, Promise<PythonVersion | undefined>>();
  known.set(world.files, versions);
  if (!asked) return await find(program, asked, world).catch(() => undefined);
  const answer = versions.get(program) ?? find(program, asked, world).catch(() => undefined);
  versions.set(program, answer);
  return await answer;
}

async function find(program: string, asked: Asked | undefined, world: World): Promise<PythonVersion | undefined> {
  const paths = world.platform === "win32" ? win32 : posix;
  const found = await world.files.find(program);
  const named = /^(?:python|pypy)(\d)\.(\d+)/u.exec(paths.basename(found?.realPath ?? program));
  if (named) return versionOf(named);
  const config = paths.join(paths.dirname(paths.dirname(program)), "pyvenv.cfg");
  if (world.files.isFile(config)) {
    const written = /^version(?:_info)?\s*=\s*(\d+)\.(\d+)/mu.exec(await world.files.readText(config));
    if (written) return versionOf(written);
  }
  return asked ? await ask(program, asked, world) : undefined;
}

async function ask(program: string, { cwd, env }: Asked, world: World): Promise<PythonVersion | undefined> {
  using deadline = world.deadline(LAUNCH_LIMITS.versionMs);
  const child = world.spawn({ command: program, args: ["--version"], env: { ...env }, cwd });
  const said = new Tail(LAUNCH_LIMITS.versionBytes);
  const ended = [child.stdout, child.stderr].map((stream) => {
    stream.on("data", (chunk: Buffer) => said.push(chunk));
    stream.on("error", () => {});
    return new Promise<void>((resolve) => stream.once("close", resolve));
  });
  child.stdin.on("error", () => {});
  child.stdin.end();
  try {
    const exit = await orAborted(child.exited, deadline.signal);
    if (exit.kind === "exited") await orAborted(Promise.all(ended), deadline.signal);
  } finally {
    await endTree(child, world, LIMITS.exitGrace);
  }
  const printed = /Python (\d+)\.(\d+)/u.exec(said.text);
  return printed ? versionOf(printed) : undefined;
}

function versionOf([, major = "0", minor = "0"]: readonly string[]): PythonVersion {
  return { major: Number(major), minor: Number(minor) };
}
