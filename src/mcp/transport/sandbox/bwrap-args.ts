// The command line of bubblewrap for one server. Pure: what is on this machine was looked up before.
import { inOrder, type Mount } from "./mounts.js";

export interface SandboxPlan {
  readonly network: boolean;
  readonly mounts: readonly Mount[];
  /** Where the server runs, as it is called inside. */
  readonly cwd: string;
  /** Variables that would change bubblewrap itself, so they are set inside only. They stand in its command line: no secrets. */
  readonly insideEnv: Readonly<Record<string, string>>;
  /** What this machine's bubblewrap can do besides. */
  readonly hardening: readonly string[];
}

/** Also held when the network is granted: nobody sees or signals processes of others, or talks to them by System V IPC. */
const NAMESPACES: readonly string[] = [
  ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
  // It is ended with whoever started it, and everything inside with it.
  ["--die-with-parent"],
  // Root keeps its powers otherwise.
  ["--cap-drop", "ALL"],
].flat();

/**
 * A /proc and a /dev of its own. bubblewrap leaves the files in /proc/sys writable for root (0.8.0: a server could set
 * `core_pattern` and so run a program outside).
 */
const KERNEL_FOLDERS: readonly string[] = [
  ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"],
  ["--dev", "/dev"],
].flat();

/**
 * No `--new-session`: every child of a World leads a session of its own already, so there is no terminal to type into,
 * and in its group the server still hears SIGTERM. No `--setenv` but for what must be kept from bubblewrap: command lines
 * are for everybody to read.
 */
export function bwrapArgs(plan: SandboxPlan, command: string, args: readonly string[]): readonly string[] {
  const inside = Object.entries(plan.insideEnv).flatMap(([name, value]) => ["--setenv", name, value]);
  return [
    ...NAMESPACES,
    ...plan.hardening,
    ...(plan.network ? [] : ["--unshare-net"]),
    ...inOrder(plan.mounts).flatMap(mountArgs),
    ...KERNEL_FOLDERS,
    ...["--remount-ro", "/"],
    ...["--chdir", plan.cwd],
    ...inside,
    "--",
    command,
    ...args,
  ];
}

function mountArgs(mount: Mount): readonly string[] {
  switch (mount.kind) {
    case "empty":
    case "hidden":
      return ["--tmpfs", mount.path];
    case "read":
    case "guard":
      return [mount.isOptional ? "--ro-bind-try" : "--ro-bind", mount.source ?? mount.path, mount.path];
    case "write":
      return [mount.isOptional ? "--bind-try" : "--bind", mount.source ?? mount.path, mount.path];
    case "link":
      return ["--symlink", mount.target, mount.path];
  }
}
