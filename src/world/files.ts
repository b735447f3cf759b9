// The disk: files that survive a crash, and a scratch folder that does not survive this process.
import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  type FSWatcher,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
  unwatchFile,
  watchFile,
  watch as watchFolder,
  writeSync,
} from "node:fs";
import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { contained } from "../base/async/scope.js";
import {
  type AppendFile,
  type EntryKind,
  type FileEntry,
  type Files,
  type FolderEntry,
  type FoundPath,
  sharedLog,
  type Watch,
} from "../base/ports/world.js";
import { guardian } from "./guardian.js";

let scratch: string | undefined;

export const files: Files = {
  find,
  linkTarget,
  openAppend,
  readText: (path) => readFile(path, "utf8"),
  readBytes,
  kindOf,
  entries,
  saveText,
  writeAtomic,
  writeParts,
  adopt,
  createNew,
  list,
  isFile: (path) => statsOf(path)?.isFile() === true,
  isFolder,
  scratchFolder,
  remove,
};

/** `throwIfNoEntry` covers ENOENT only: a file on the way, a loop of links, a long name or a closed folder throws all the same. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Never throws: a path that cannot be looked at is no folder. */
function isFolder(path: string): boolean {
  return statsOf(path)?.isDirectory() === true;
}

function openAppend(path: string): AppendFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = openSync(path, "a", 0o600);
  return {
    write: (text) => {
      const bytes = Buffer.from(text);
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    },
    sync: () => fsyncSync(file),
    close: () => closeSync(file),
  };
}

/** What ends a path instead of leading on: nothing there, a file in the place of a folder, links in a circle, an impossible name. */
const NOTHING_THERE: readonly unknown[] = ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "ERR_INVALID_ARG_VALUE"];

async function find(path: string): Promise<FoundPath | undefined> {
  return await unlessNothing(async () => {
    const realPath = await realpath(path);
    const found = await stat(realPath);
    const kind = found.isFile() ? "file" : found.isDirectory() ? "folder" : "other";
    return { realPath, kind, bytes: found.size, mode: found.mode & 0o777 };
  });
}

async function unlessNothing<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof Error && "code" in error && NOTHING_THERE.includes(error.code)) return undefined;
    throw error;
  }
}

async function kindOf(path: string): Promise<EntryKind | undefined> {
  return await unlessNothing(async () => entryKind(await lstat(path)));
}

async function entries(folder: string): Promise<readonly FolderEntry[]> {
  return (await readdir(folder, { withFileTypes: true })).map((entry) => ({
    name: entry.name,
    kind: entryKind(entry),
  }));
}

function entryKind(found: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): EntryKind {
  if (found.isSymbolicLink()) return "link";
  if (found.isFile()) return "file";
  return found.isDirectory() ? "folder" : "other";
}

async function readBytes(path: string, { start, length }: { start: number; length: number }): Promise<Uint8Array> {
  const file = await open(path, "r");
  try {
    const bytes = Buffer.allocUnsafe(length);
    let read = 0;
    for (;;) {
      const { bytesRead } = await file.read(bytes, read, length - read, start + read);
      read += bytesRead;
      if (bytesRead === 0 || read === length) return bytes.subarray(0, read);
    }
  } finally {
    await file.close();
  }
}

async function saveText(path: string, text: string): Promise<void> {
  const found = await unlessNothing(() => stat(path));
  const mode = found === undefined ? undefined : found.mode & 0o7777;
  if (found?.isCharacterDevice() === true || found?.isFIFO() === true) {
    await writeFile(path, text, { flag: constants.O_WRONLY | constants.O_NOCTTY });
    return;
  }
  await mkdir(dirname(path), { recursive: true });
  await replace(path, async (draft) => {
    await writeFile(draft, text, { flag: "wx" });
    if (mode !== undefined) await chmod(draft, mode);
  });
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    // EINVAL (UNKNOWN on Windows): there is something, and it is no link.
    const isNone =
      error instanceof Error && "code" in error && [...NOTHING_THERE, "EINVAL", "UNKNOWN"].includes(error.code);
    if (isNone) return undefined;
    throw error;
  }
}

async function writeAtomic(path: string, text: string, mode = 0o600): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replace(path, async (draft) => {
    await writeFile(draft, text, { mode: 0o600, flag: "wx" });
    if (mode !== 0o600) await chmod(draft, mode);
  });
}

/** What is no file (a device, a pipe, a socket) is never replaced: it would be gone for every program of the machine. */
async function replace(path: string, write: (draft: string) => Promise<void>): Promise<void> {
  const found = await unlessNothing(() => lstat(path));
  const target = found?.isSymbolicLink() === true ? await unlessNothing(() => stat(path)) : found;
  if (target && !target.isFile() && !target.isDirectory()) {
    throw Object.assign(new Error(`${path} is not a regular file`), { code: "EINVAL", path });
  }
  // In the same folder, since a rename works within one file system only; a name of its own, since others write too.
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await write(draft);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function writeParts(path: string, parts: Iterable<Uint8Array>): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replace(path, async (draft) => {
    const file = await open(draft, "wx", 0o600);
    try {
      for (const part of parts) await file.writeFile(part);
    } finally {
      await file.close();
    }
  });
}

/** A link costs nothing and works within one file system; the other way is a copy, made outside of this thread. */
async function adopt(from: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replace(path, async (draft) => {
    await link(from, draft).catch(() => copyFile(from, draft, constants.COPYFILE_FICLONE));
    await chmod(draft, 0o600);
  });
}

/** A link puts the written file there in one step. Where the file system has none, the file is made first and written after. */
async function createNew(path: string, text: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: "wx" });
    await link(draft, path).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && NO_LINKS.includes(error.code))) throw error;
      return writeFile(path, text, { mode: 0o600, flag: "wx" });
    });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

const NO_LINKS: readonly unknown[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EACCES"];

async function list(folder: string): Promise<readonly FileEntry[]> {
  const names = await readdir(folder).catch(() => []);
  const entries = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(folder, name)).catch(() => undefined); // gone since the listing
      return found?.isFile() === true ? [{ name, bytes: found.size, modifiedMs: found.mtimeMs }] : [];
    }),
  );
  return entries.flat();
}

/** mkdtemp makes it private to this user. It goes at the exit of this process; the guardian sees to it if there is none. */
function scratchFolder(): string {
  if (scratch !== undefined) return scratch;
  scratch = mkdtempSync(join(tmpdir(), "tenon-"));
  process.once("exit", removeScratch);
  guardian.watchFolder(scratch);
  return scratch;
}

function removeScratch(): void {
  if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  if (scratch === undefined || dirname(path) !== scratch) return;
  try {
    rmdirSync(scratch);
  } catch {
    return; // not empty: others still use it
  }
  scratch = undefined;
  process.off("exit", removeScratch);
  await guardian.forgetFolder();
}

// Watching a path with what Node has: the folder it lies in, or the nearest one above it that exists.

/** How often a path is looked at where the system cannot watch it (no inotify handles left, a network drive). */
const POLL_MS = 2_000;

export function watch(path: string, onChange: () => void): Watch {
  return new PathWatch(path, onChange);
}

class PathWatch implements Watch {
  readonly #path: string;
  readonly #onChange: () => void;
  #watchers: FSWatcher[] = [];
  #isPolling = false;
  #isClosed = false;

  constructor(path: string, onChange: () => void) {
    this.#path = path;
    this.#onChange = onChange;
    this.#arm();
  }

  close(): void {
    this.#isClosed = true;
    this.#disarm();
    if (this.#isPolling) unwatchFile(this.#path, this.#changed);
  }

  readonly #changed = (): void => {
    if (this.#isClosed) return;
    if (!this.#isPolling) this.#arm();
    contained(sharedLog(), "listener of a watched path", this.#onChange);
  };

  /** A watcher is bound to the folder itself, not to its name, so each change of the way to the path arms it anew. */
  #arm(): void {
    this.#disarm();
    try {
      const base = nearestFolder(dirname(this.#path));
      const [next] = relative(base, this.#path).split(sep);
      const identity = identityOf(base);
      this.#listen(base, (name) => name === null || name === next || identityOf(base) !== identity);
      if (isFolder(this.#path)) this.#listen(this.#path, () => true);
    } catch {
      this.#poll();
    }
  }

  #listen(folder: string, isOurs: (name: string | null) => boolean): void {
    const watcher = watchFolder(folder, { persistent: false }, (_event, name) => {
      if (isOurs(name)) this.#changed();
    });
    watcher.on("error", () => this.#poll());
    this.#watchers.push(watcher);
  }

  #poll(): void {
    this.#disarm();
    if (this.#isPolling || this.#isClosed) return;
    this.#isPolling = true;
    watchFile(this.#path, { interval: POLL_MS, persistent: false }, this.#changed);
  }

  #disarm(): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
  }
}

function nearestFolder(folder: string): string {
  const above = dirname(folder);
  return isFolder(folder) || above === folder ? folder : nearestFolder(above);
}

/** Empty when it is gone, or out of reach by now. */
function identityOf(path: string): string {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return "";
  }
}
