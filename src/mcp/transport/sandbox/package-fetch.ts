// Downloads the package of a server that is to run without network: once, in a sandbox that has a network and nothing else.
import { orAborted } from "../../../base/async/deadline.js";
import { TenonError } from "../../../base/errors.js";
import { endTree } from "../../../base/io/process.js";
import { LIMITS } from "../../../base/limits.js";
import type { World } from "../../../base/ports/world.js";
import { Tail } from "../stdio/tail.js";
import type { Bubblewrap } from "./bubblewrap.js";
import { bwrapArgs } from "./bwrap-args.js";
import type { Mount } from "./mounts.js";

export interface PackageFetch {
  readonly world: World;
  readonly wrapper: Bubblewrap;
  /** The program that downloads, with what it needs to be seen. */
  readonly program: string;
  readonly mounts: readonly Mount[];
  /** What makes it download, and run nothing. */
  readonly args: readonly string[];
  /** Its home inside; `folder` is what lies there, and stays. */
  readonly home: string;
  readonly folder: string;
  /** Somebody may have deleted it since. */
  readonly isFresh: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** By folder: those who want the same wait for the one who fetches it. */
const underWay = new Map<string, Promise<void>>();

/** Resolves at once when it was done before. Beside the folder, where no server can write, stands that it was. */
export async function fetchedPackage(fetch: PackageFetch): Promise<void> {
  const { world, folder, isFresh, signal } = fetch;
  const mark = `${folder}.fetched`;
  if (!isFresh && world.files.isFile(mark)) return;
  const others = underWay.get(folder);
  if (others) await orAborted(others, signal);
  else {
    // Not given up before its processes are gone.
    const own = run(fetch).finally(() => underWay.delete(folder));
    underWay.set(folder, own);
    await own;
  }
  await world.files.writeAtomic(mark, "");
}

async function run({ world, wrapper, program, mounts, args, home, folder, env, signal }: PackageFetch): Promise<void> {
  const plan = {
    network: true,
    mounts: [...mounts, { kind: "write", path: home, source: folder } as const],
    cwd: home,
    insideEnv: {},
    hardening: wrapper.hardening,
  };
  const child = world.spawn({
    command: wrapper.path,
    args: bwrapArgs(plan, program, args),
    env: { ...env, HOME: home },
    cwd: "/",
    isKeeper: true,
  });
  const said = new Tail(LIMITS.stderrTailBytes);
  child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
  child.stderr.on("error", () => {});
  child.stdin.on("error", () => {});
  child.stdin.end();
  child.stdout.resume();
  try {
    const exit = await orAborted(child.exited, signal);
    if (exit.kind === "exited" && exit.code === 0) return;
  } finally {
    await endTree(child, world, LIMITS.exitGrace);
  }
  throw new TenonError("mcp.spawn_failed", `its package could not be downloaded; ${program} says: ${said.text}`, {
    hint: "Check the name of the package and the network, or install it and start it by its own command.",
  });
}
