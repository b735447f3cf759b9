// From what would be started to the same in a sandbox, or a refusal: there is no way through here without one.

import { defined } from "../../../base/json/defined.js";
import type { SpawnRequest } from "../../../base/ports/world.js";
import { bubblewrap } from "./bubblewrap.js";
import { bwrapArgs } from "./bwrap-args.js";
import { isWithinAny, type Mount } from "./mounts.js";
import { fetchedPackage } from "./package-fetch.js";
import { Planner, type SandboxedLaunch } from "./planner.js";

/** Rejects with `mcp.sandbox_unavailable`, or with `mcp.spawn_failed` where it would not start outside either. */
export async function sandboxedLaunch(launch: SandboxedLaunch): Promise<SpawnRequest> {
  const { request, world, signal } = launch;
  const wrapper = await bubblewrap(world);
  const { mounts, home, program, made, fetch } = await new Planner(launch, wrapper).plan();
  const { outside, inside } = splitEnv(launch, home, mounts);
  if (fetch) {
    await fetchedPackage({ ...fetch, world, wrapper, program, home, env: fetchEnv(launch), signal });
    outside["npm_config_offline"] = "true";
  }
  const plan = {
    network: launch.sandbox.network,
    mounts,
    cwd: request.cwd,
    insideEnv: inside,
    hardening: wrapper.hardening,
  };
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

/** What the loader of programs reads: bubblewrap is outside, and would load what they name there. */
const FOR_THE_LOADER = /^(?:LD_|GLIBC_TUNABLES$|GCONV_PATH$|LOCPATH$|MALLOC_)/u;

/** Nothing the entry gives to its server, but where packages come from: what is downloaded runs scripts, with a network. */
function fetchEnv({ request, spec }: SandboxedLaunch): Record<string, string> {
  const isFitting = (name: string) =>
    spec.env[name] === undefined || /^npm_config_(?:registry|cafile|proxy|https_proxy)$/iu.test(name);
  const names = Object.keys(request.env).filter(
    (name) => isFitting(name) && !LEADING_OUT.includes(name) && name !== "TMPDIR",
  );
  return Object.fromEntries(names.map((name) => [name, request.env[name] ?? ""]));
}

function splitEnv(
  { request, spec }: SandboxedLaunch,
  home: string,
  mounts: readonly Mount[],
): { readonly outside: Record<string, string>; readonly inside: Record<string, string> } {
  const outside: Record<string, string> = {};
  const inside: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.env)) {
    if (LEADING_OUT.includes(name) && spec.env[name] === undefined) continue;
    if (FOR_THE_LOADER.test(name)) inside[name] = value;
    else outside[name] = value;
  }
  outside["HOME"] = home;
  const seen = mounts.flatMap(({ kind, path }) => (kind === "write" ? [path] : []));
  if (outside["TMPDIR"] !== undefined && !isWithinAny(outside["TMPDIR"], seen)) outside["TMPDIR"] = "/tmp";
  return { outside, inside };
}
