// Finds git repositories in a folder, with bounds: what git reads there can name programs that the person's next git command runs.
import { posix } from "node:path";
import { SANDBOX_LIMITS } from "../../../base/limits.js";
import type { Files, FolderEntry } from "../../../base/ports/world.js";

export interface GitPlace {
  /** Of `.git`, or of the folder of a bare repository. */
  readonly path: string;
  /** `bare`: a folder that git takes for a repository by its content (HEAD with objects and refs, or with commondir). */
  readonly kind: "folder" | "file" | "link" | "bare";
}

export interface GitSearch {
  readonly places: readonly GitPlace[];
  /** False when a bound was reached: there may be more. */
  readonly isComplete: boolean;
}

/** Folders with thousands of files and no repositories of the person's; and `.git`, which is guarded as a whole. */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/** Of a folder that is a repository itself: what git takes it for one by, and what names programs. */
export const BARE_PARTS: readonly string[] = "HEAD config config.worktree commondir hooks objects refs".split(" ");

/** Links are not followed. Unreadable folders are skipped. Never rejects. */
export async function findGitPlaces(files: Pick<Files, "entries">, root: string): Promise<GitSearch> {
  const { maxFolders, maxDepth, maxPlaces } = SANDBOX_LIMITS.git;
  const places: GitPlace[] = [];
  let level: readonly string[] = [root];
  let seen = 0;
  for (let depth = 0; level.length > 0; depth++) {
    const here = level.slice(0, maxFolders - seen);
    seen += here.length;
    const listed = await Promise.all(
      here.map(async (folder) => ({ folder, entries: await files.entries(folder).catch(() => []) })),
    );
    for (const { folder, entries } of listed) places.push(...placesIn(folder, entries));
    const below = listed.flatMap(({ folder, entries }) =>
      entries
        .filter(({ name, kind }) => kind === "folder" && !SKIPPED.has(name.toLowerCase()))
        .map(({ name }) => posix.join(folder, name)),
    );
    const isCut = here.length < level.length || (depth === maxDepth && below.length > 0) || places.length > maxPlaces;
    if (isCut) return { places: places.slice(0, maxPlaces), isComplete: false };
    level = below;
  }
  return { places, isComplete: true };
}

function placesIn(folder: string, entries: readonly FolderEntry[]): readonly GitPlace[] {
  const found: GitPlace[] = entries.flatMap(({ name, kind }) =>
    name.toLowerCase() === ".git" && kind !== "other" ? [{ path: posix.join(folder, name), kind }] : [],
  );
  const has = (wanted: string) => entries.some(({ name }) => name === wanted);
  const isBare = has("HEAD") && ((has("objects") && has("refs")) || has("commondir"));
  return isBare ? [...found, { path: folder, kind: "bare" }] : found;
}

/** Where a `.git` file leads, as git reads it; undefined when it leads nowhere. */
export async function gitFolderOf(files: Pick<Files, "readBytes">, file: string): Promise<string | undefined> {
  const bytes = await files.readBytes(file, { start: 0, length: 4_096 }).catch(() => new Uint8Array());
  const [, path] = /^gitdir: (.+?)\s*$/u.exec(Buffer.from(bytes).toString()) ?? [];
  return path === undefined ? undefined : posix.resolve(posix.dirname(file), path);
}
