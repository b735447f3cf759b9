// The bubblewrap of this machine: found, tried out once with everything a sandbox needs, and refused in clear words if it does not work.

import { posix } from "node:path";
import { orAborted } from "../../../base/async/deadline.js";
import { TenonError } from "../../../base/errors.js";
import { endTree } from "../../../base/io/process.js";
import { defined } from "../../../base/json/defined.js";
import { SANDBOX_LIMITS } from "../../../base/limits.js";
import type { ChildExit, World } from "../../../base/ports/world.js";
import { Tail } from "../stdio/tail.js";
import { bwrapArgs } from "./bwrap-args.js";
import type { Mount } from "./mounts.js";
import { isInSystem, systemMounts } from "./system-folders.js";

export interface Bubblewrap {
  readonly path: string;
  /** Options of newer ones that make the sandbox tighter, as far as they work here. */
  readonly hardening: readonly string[];
  readonly system: readonly Mount[];
}

/** Whoever is inside cannot make namespaces of its own, in which the kernel lets it do more. */
const HARDENING: readonly string[] = ["--disable-userns"];

/** Before PATH is asked: nobody but root puts anything there. */
const USUAL_FOLDERS: readonly string[] = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

const found = new WeakMap<World, Promise<Bubblewrap>>();

/**
 * Tried out once per World. Only success is remembered: whoever installs it, or allows it, starts the server again.
 * Rejects with `mcp.sandbox_unavailable`.
 */
export async function bubblewrap(world: World): Promise<Bubblewrap> {
  const known = found.get(world);
  if (known) return await known;
  const looking = look(world);
  found.set(world, looking);
  looking.catch(() => found.delete(world));
  return await looking;
}

export function unavailable(message: string, hint: string, cause?: unknown): TenonError {
  return new TenonError("mcp.sandbox_unavailable", `not started: ${message}`, {
    hint,
    ...defined({ cause }),
  });
}

const OR_OFF = 'or set "sandbox": "off" to run the server without one';

async function look(world: World): Promise<Bubblewrap> {
  if (world.platform !== "linux") {
    throw unavailable(
      `its sandbox needs Linux, and this is ${world.platform}`,
      `Run Tenon on Linux (a container will do), ${OR_OFF}.`,
    );
  }
  const path = await findProgram(world);
  if (path === undefined) {
    throw unavailable(
      "its sandbox needs bubblewrap (bwrap), which is not installed",
      `Install the package bubblewrap, ${OR_OFF}.`,
    );
  }
  const system = await systemMounts(world.files);
  const hardened: Bubblewrap = { path, hardening: HARDENING, system };
  if ((await refusalOf(world, hardened)) === undefined) return hardened;
  const plainly: Bubblewrap = { path, hardening: [], system };
  const plain = await refusalOf(world, plainly);
  if (plain === undefined) return plainly;
  throw unavailable(`its sandbox does not work here: ${plain}`, `${cure(plain)} ${OR_OFF}.`);
}

/** In a folder of PATH that somebody's project brought along, anybody may have put a program of that name. */
async function findProgram({ files, env }: World): Promise<string | undefined> {
  const inPath = (env["PATH"] ?? "")
    .split(posix.delimiter)
    .filter((folder) => posix.isAbsolute(folder) && !folder.split("/").includes("node_modules"));
  for (const folder of new Set([...USUAL_FOLDERS, ...inPath])) {
    const path = posix.join(folder, "bwrap");
    const program = await files.find(path).catch(() => undefined);
    if (program?.kind === "file" && (program.mode & 0o111) !== 0) return path;
  }
  return undefined;
}

/** Undefined when a sandbox without network starts. What runs in it is bubblewrap itself: it is certainly there. */
async function refusalOf(world: World, { path, hardening, system }: Bubblewrap): Promise<string | undefined> {
  // Where it was installed by hand its libraries may be anywhere; for the others the whole disk would only take time.
  const whole: readonly Mount[] = [{ kind: "read", path: "/" }];
  const mounts = isInSystem(path) ? [...system, { kind: "empty", path: "/tmp" } as const] : whole;
  const args = bwrapArgs({ network: false, mounts, cwd: "/", insideEnv: {}, hardening }, path, ["--version"]);
  const child = world.spawn({ command: path, args, env: {}, cwd: "/" });
  const said = new Tail(1_024);
  child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
  child.stderr.on("error", () => {});
  child.stdout.resume();
  child.stdin.on("error", () => {});
  using deadline = world.deadline(SANDBOX_LIMITS.probeMs);
  const exit = await orAborted(child.exited, deadline.signal).catch(() => undefined);
  await endTree(child, world, { stdinMs: 100, terminateMs: 100 });
  return exit?.kind === "exited" && exit.code === 0 ? undefined : refusalText(exit, said.text);
}

function refusalText(exit: ChildExit | undefined, said: string): string {
  if (!exit) return `bwrap was not done within ${SANDBOX_LIMITS.probeMs / 1000} s`;
  if (exit.kind === "not_started") return `bwrap cannot be started (${exit.error.message})`;
  return said === "" ? `bwrap ended with code ${exit.code ?? "unknown"}` : said;
}

function cure(refusal: string): string {
  if (/proc/u.test(refusal)) {
    return "In a container, give that one a /proc it may mount (Docker: --security-opt systempaths=unconfined),";
  }
  return "Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; in Docker --security-opt seccomp=unconfined),";
}
