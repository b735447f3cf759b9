// From what would be started to the same in a sandbox, or a refusal: there is no way through here without one.

import { orAborted } from "../../../base/async/deadline.js";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { LIMITS } from "../../../base/limits.js";
import type { SpawnRequest, World } from "../../../base/ports/world.js";
import { PACKAGE_FETCH, type StdioSpec } from "../../spec.js";
import { inheritedCertificates } from "../stdio/launch.js";
import { runProgram } from "../stdio/short-run.js";
import { type Bubblewrap, bubblewrap, isInSystem } from "./bubblewrap.js";
import { bwrapArgs, isWithinAny, type Mount } from "./mounts.js";
import { type Planned, Planner, type SandboxedLaunch } from "./planner.js";

/** Rejects with `mcp.sandbox_unavailable`, or with `mcp.spawn_failed` where it would not start outside either. */
export async function sandboxedLaunch(launch: SandboxedLaunch): Promise<SpawnRequest> {
  const { request, world, signal } = launch;
  const wrapper = await bubblewrap(world);
  const { mounts, home, program, made, fetch } = await new Planner(launch, wrapper).plan();
  const env = visibleEnv(launch, mounts);
  const { outside, inside } = splitEnv(env, home, mounts);
  if (fetch) {
    await fetchedPackage({ ...fetch, world, wrapper, program, home, env: fetchEnv(launch.spec, env), signal });
    outside["npm_config_offline"] = "true";
  }
  const { hardening } = wrapper;
  const plan = { network: launch.sandbox.network, mounts, cwd: request.cwd, insideEnv: inside, hardening };
  return {
    command: wrapper.path,
    args: bwrapArgs(plan, program, request.args),
    env: outside,
    cwd: "/",
    isKeeper: true,
    ...defined({ madeFolders: made.length > 0 ? made : undefined }),
  };
}

/** They lead to folders that are not there inside; what the entry itself says about them stays. */
const LEADING_OUT: readonly string[] = ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"];

/** Without those, and without certificates that are not there inside: many programs fail where their file is missing. */
function visibleEnv({ request, spec }: SandboxedLaunch, mounts: readonly Mount[]): Readonly<Record<string, string>> {
  const seen = mounts.flatMap(({ kind, path }) => (kind === "read" || kind === "write" ? [path] : []));
  const certificates = inheritedCertificates(spec, request.env);
  const isVisible = (name: string) =>
    !(LEADING_OUT.includes(name) && spec.env[name] === undefined) &&
    (certificates.get(name) ?? []).every((path) => isInSystem(path) || isWithinAny(path, seen));
  return Object.fromEntries(Object.entries(request.env).filter(([name]) => isVisible(name)));
}

/** Variables of the program loader: bubblewrap runs outside, and would load the files they name there. */
const FOR_THE_LOADER = /^(?:LD_|GLIBC_TUNABLES$|GCONV_PATH$|LOCPATH$|MALLOC_)/u;

/** Nothing the entry gives to its server, but where packages come from: what is downloaded runs scripts, with a network. */
function fetchEnv(spec: StdioSpec, env: Readonly<Record<string, string>>): Record<string, string> {
  const isFitting = (name: string) =>
    spec.env[name] === undefined || /^npm_config_(?:registry|cafile|proxy|https_proxy)$/iu.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isFitting(name) && name !== "TMPDIR"));
}

function splitEnv(
  env: Readonly<Record<string, string>>,
  home: string,
  mounts: readonly Mount[],
): { readonly outside: Record<string, string>; readonly inside: Record<string, string> } {
  const outside: Record<string, string> = {};
  const inside: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (FOR_THE_LOADER.test(name)) inside[name] = value;
    else outside[name] = value;
  }
  outside["HOME"] = home;
  const seen = mounts.flatMap(({ kind, path }) => (kind === "write" ? [path] : []));
  if (outside["TMPDIR"] !== undefined && !isWithinAny(outside["TMPDIR"], seen)) outside["TMPDIR"] = "/tmp";
  return { outside, inside };
}

interface PackageFetch extends NonNullable<Planned["fetch"]> {
  readonly world: World;
  readonly wrapper: Bubblewrap;
  /** The program that downloads. */
  readonly program: string;
  /** Its home inside, where `folder` is mounted. */
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** By folder: launches that need the same package wait for one download. */
const underWay = new Map<string, Promise<void>>();

/** Downloads a package once, in a sandbox with a network. A mark beside the folder, where no server can write, records it. */
async function fetchedPackage(fetch: PackageFetch): Promise<void> {
  const { world, folder, isFresh, signal } = fetch;
  const mark = `${folder}.fetched`;
  if (!isFresh && world.files.isFile(mark)) return;
  world.log.info(PACKAGE_FETCH.begun, { folder });
  const others = underWay.get(folder);
  if (others) await orAborted(others, signal);
  else {
    // Not given up before its processes are gone.
    const own = download(fetch).finally(() => underWay.delete(folder));
    underWay.set(folder, own);
    await own;
  }
  world.log.info(PACKAGE_FETCH.done, { folder });
  await world.files.writeAtomic(mark, "");
}

async function download(fetch: PackageFetch): Promise<void> {
  const { world, wrapper, program, mounts, args, home, folder, env, signal } = fetch;
  const { path: command, hardening } = wrapper;
  const all = [...mounts, { kind: "write", path: home, source: folder } as const];
  const words = bwrapArgs({ network: true, mounts: all, cwd: home, insideEnv: {}, hardening }, program, args);
  const run = { world, signal, maxOutputBytes: LIMITS.stderrTailBytes, output: "stderr" } as const;
  const request = { command, args: words, env: { ...env, HOME: home }, cwd: "/", isKeeper: true };
  const { exit, output } = await runProgram(request, run);
  if (exit.kind === "exited" && exit.code === 0) return;
  throw new TenonError("mcp.spawn_failed", `its package could not be downloaded; ${program} says: ${output}`, {
    hint: "Check the name of the package and the network, or install it and start it by its own command.",
  });
}
