// Paths of a sandbox, pure: which of them lie in which, which show too much, and in what order they are put in place.
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
  /** What is seen there; the same path unless given. */
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

/** What of the host could be written through these mounts, though it lies in nothing that may be written. */
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

/** What lies in a home that no server has any business with, beside the home itself. */
const PRIVATE_IN_HOME: readonly string[] = [
  ".ssh",
  ".gnupg",
  ".aws",
  ".azure",
  ".kube",
  ".docker",
  ".mozilla",
  ".config",
  ".cache",
  ".local/share",
  ".local/state",
];

/** Sockets and handles of other programs lie there: whoever reaches those is not in a sandbox any more. */
const PRIVATE_ANYWHERE: readonly string[] = ["/tmp", "/var/tmp", "/run", "/var/run", "/proc", "/sys", "/dev"];

/** Whether a folder would show what the sandbox is there to hide, being it or holding it. */
export function showsTooMuch(folder: string, homes: readonly string[]): boolean {
  const inHomes = homes.flatMap((home) => [home, ...PRIVATE_IN_HOME.map((name) => posix.join(home, name))]);
  return [...inHomes, ...PRIVATE_ANYWHERE].some((hidden) => isWithin(hidden, folder));
}
