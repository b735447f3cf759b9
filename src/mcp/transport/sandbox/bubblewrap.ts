// The bubblewrap of this machine: found, tried once with everything a sandbox needs, and the system folders it shows.

import { posix } from "node:path";
import { TenonError } from "../../../base/errors.js";
import { SANDBOX_LIMITS } from "../../../base/limits.js";
import type { Files, World } from "../../../base/ports/world.js";
import { runProgram } from "../stdio/short-run.js";
import { bwrapArgs, type Mount } from "./mounts.js";

export interface Bubblewrap {
  readonly path: string;
  /** Options of newer ones that make the sandbox tighter, as far as they work here. */
  readonly hardening: readonly string[];
  readonly system: readonly Mount[];
}

/** A process inside cannot create namespaces of its own, in which the kernel would allow it more. */
const HARDENING: readonly string[] = ["--disable-userns"];

/** Searched before PATH: only root can write there. */
const USUAL_FOLDERS: readonly string[] = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

const found = new WeakMap<World, Promise<Bubblewrap>>();

/**
 * Tried once per World. Only success is remembered: after installing or allowing it, the server can be started again.
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

export function unavailable(message: string, hint: string): TenonError {
  return new TenonError("mcp.sandbox_unavailable", `not started: ${message}`, { hint });
}

const OR_OFF = 'or set "sandbox": "off" to run the server without one';

async function look(world: World): Promise<Bubblewrap> {
  if (world.platform !== "linux") {
    const text = `its sandbox needs Linux, and this is ${world.platform}`;
    throw unavailable(text, `Run Tenon on Linux (a container will do), ${OR_OFF}.`);
  }
  const path = await findProgram(world);
  if (path === undefined) {
    const text = "its sandbox needs bubblewrap (bwrap), which is not installed";
    throw unavailable(text, `Install the package bubblewrap, ${OR_OFF}.`);
  }
  const system = await systemMounts(world.files);
  const hardened: Bubblewrap = { path, hardening: HARDENING, system };
  if ((await refusalOf(world, hardened)) === undefined) return hardened;
  const plainly: Bubblewrap = { path, hardening: [], system };
  const plain = await refusalOf(world, plainly);
  if (plain === undefined) return plainly;
  throw unavailable(`its sandbox does not work here: ${plain}`, `${recovery(plain)} ${OR_OFF}.`);
}

/** Folders of PATH inside of `node_modules` do not count: a package could bring a program of that name. */
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

/** Undefined when a sandbox without network starts. It runs bubblewrap itself, which is certainly there. */
async function refusalOf(world: World, { path, hardening, system }: Bubblewrap): Promise<string | undefined> {
  // Where it was installed by hand its libraries may be anywhere; for the others the whole disk would only take time.
  const whole: readonly Mount[] = [{ kind: "read", path: "/" }];
  const mounts = isInSystem(path) ? [...system, { kind: "empty", path: "/tmp" } as const] : whole;
  const args = bwrapArgs({ network: false, mounts, cwd: "/", insideEnv: {}, hardening }, path, ["--version"]);
  using deadline = world.deadline(SANDBOX_LIMITS.probeMs);
  const run = { world, signal: deadline.signal, maxOutputBytes: 1_024, output: "stderr" } as const;
  const grace = { stdinMs: 100, terminateMs: 100 };
  const ran = await runProgram({ command: path, args, env: {}, cwd: "/" }, { ...run, grace }).catch(() => undefined);
  if (!ran) return `bwrap was not done within ${SANDBOX_LIMITS.probeMs / 1000} s`;
  const { exit, output } = ran;
  if (exit.kind === "not_started") return `bwrap cannot be started (${exit.error.message})`;
  if (exit.code === 0) return undefined;
  return output === "" ? `bwrap ended with code ${exit.code ?? "unknown"}` : output;
}

function recovery(refusal: string): string {
  if (/proc/u.test(refusal)) {
    return "In a container, give that one a /proc it may mount (Docker: --security-opt systempaths=unconfined),";
  }
  return "Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; in Docker --security-opt seccomp=unconfined),";
}

/** Read-only and for everybody; nothing in them is the person's own. */
const SYSTEM_FOLDERS: readonly string[] = ["/usr", "/opt", "/nix/store", "/gnu/store", "/run/current-system"];

/** Links into /usr on most systems, folders on some. */
const BESIDE_USR: readonly string[] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Only what programs look for when they run: each of them costs a tenth of a millisecond at every start. */
const FROM_ETC: readonly string[] = [
  ...["alternatives", "ld.so.cache", "localtime", "os-release", "mime.types", "fonts", "gitconfig"],
  ...["passwd", "group", "nsswitch.conf", "hosts", "resolv.conf", "services"],
  ...["ssl", "pki", "ca-certificates", "crypto-policies", "java-17-openjdk", "java-21-openjdk"],
].map((name) => `/etc/${name}`);

export function isInSystem(path: string): boolean {
  return [...SYSTEM_FOLDERS, ...BESIDE_USR].some((folder) => path === folder || path.startsWith(`${folder}/`));
}

async function systemMounts(files: Files): Promise<readonly Mount[]> {
  const beside = await Promise.all(
    BESIDE_USR.map(async (path): Promise<Mount> => {
      const target = await files.linkTarget(path);
      return target === undefined ? { kind: "read", path, isOptional: true } : { kind: "link", path, target };
    }),
  );
  const others = [...SYSTEM_FOLDERS, ...FROM_ETC].map((path): Mount => ({ kind: "read", path, isOptional: true }));
  return [...beside, ...others];
}
