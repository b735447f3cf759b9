// The mounts of a sandbox and the command line of bubblewrap. Pure: the planner looked up what is on this machine.
import { posix } from "node:path";

/** From the weakest to the strongest: of several words on one path the strongest counts. */
const KINDS = ["empty", "read", "write", "guard", "hidden"] as const;

export interface FolderMount {
  /**
   * `empty` is private and gone with the server. A `guard` stays unwritten and what is `hidden` unseen, whatever else is
   * said about the path.
   */
  readonly kind: (typeof KINDS)[number];
  /** Where it is seen inside. */
  readonly path: string;
  /** The path on the host; the same path unless given. */
  readonly source?: string;
  /** It may be missing on this machine. */
  readonly isOptional?: boolean;
}

export interface LinkMount {
  readonly kind: "link";
  readonly path: string;
  readonly target: string;
}

export type Mount = FolderMount | LinkMount;

/** Whether a path is the folder, or lies in it. Both are absolute and normal. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

export function isWithinAny(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isWithin(path, folder));
}

/** Host paths that these mounts make writable although nothing granted contains them. */
export function writtenOutside(mounts: readonly Mount[], granted: readonly string[]): readonly string[] {
  const written = mounts.flatMap((mount) => (mount.kind === "write" ? [mount.source ?? mount.path] : []));
  return written.filter((path) => !isWithinAny(path, granted));
}

/** Each path once, and every folder before what lies in it: a mount hides whatever was below it. */
export function inOrder(mounts: readonly Mount[]): readonly Mount[] {
  const byPath = new Map<string, Mount>();
  for (const mount of mounts) {
    const known = byPath.get(mount.path);
    if (!known || rank(mount) > rank(known)) byPath.set(mount.path, mount);
  }
  return [...byPath.values()].sort(
    (one, other) => depth(one.path) - depth(other.path) || (one.path < other.path ? -1 : 1),
  );
}

function rank(mount: Mount): number {
  return mount.kind === "link" ? KINDS.length : KINDS.indexOf(mount.kind);
}

function depth(path: string): number {
  return path === "/" ? 0 : path.split("/").length;
}

/** Folders of a home that no server needs, beside the home itself. */
const PRIVATE_IN_HOME: readonly string[] = [
  ...[".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".mozilla", ".config", ".cache"],
  ...[".local/share", ".local/state"],
];

/** Sockets and handles of other programs: a process that reaches those is not in a sandbox any more. */
const PRIVATE_ANYWHERE: readonly string[] = ["/tmp", "/var/tmp", "/run", "/var/run", "/proc", "/sys", "/dev"];

/** Whether a folder would show what the sandbox is there to hide, being it or holding it. */
export function showsTooMuch(folder: string, homes: readonly string[]): boolean {
  const inHomes = homes.flatMap((home) => [home, ...PRIVATE_IN_HOME.map((name) => posix.join(home, name))]);
  return [...inHomes, ...PRIVATE_ANYWHERE].some((hidden) => isWithin(hidden, folder));
}

export interface SandboxPlan {
  readonly network: boolean;
  readonly mounts: readonly Mount[];
  /** Where the server runs, as it is called inside. */
  readonly cwd: string;
  /** Variables that would change bubblewrap itself, so they are set inside only. They stand in its command line: no secrets. */
  readonly insideEnv: Readonly<Record<string, string>>;
  /** Further options that this machine's bubblewrap supports. */
  readonly hardening: readonly string[];
}

/** Also with a granted network: the server cannot see or signal other processes, or use System V IPC with them. */
const NAMESPACES: readonly string[] = [
  ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
  // It ends with its parent process, and everything inside with it.
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
