// The disk: files that survive a crash, and a scratch folder that does not survive this process.
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { contained } from "../base/async/scope.js";
import { defined } from "../base/json/defined.js";
import { hasErrorCode } from "../base/message.js";
import { type EntryKind, type Files, sharedLog, type Watch } from "../base/ports/world.js";
import { guardian } from "./guardian.js";

const disk = fs.promises;

/** In the middle of its millisecond: seconds are floating-point numbers, which round. */
function setTime(file: number, ms: number): void {
  const seconds = (Math.floor(ms) + 0.5) / 1_000;
  fs.futimesSync(file, seconds, seconds);
}

export const files: Files = {
  find: (path) =>
    unlessNothing(async () => {
      const realPath = await disk.realpath(path);
      const found = await disk.stat(realPath);
      const kind = found.isFile() ? "file" : found.isDirectory() ? "folder" : "other";
      const foreignOwner = process.getuid === undefined || process.getuid() === found.uid ? undefined : found.uid;
      return { realPath, kind, bytes: found.size, mode: found.mode & 0o777, ...defined({ foreignOwner }) };
    }),

  // EINVAL (UNKNOWN on Windows): there is something, and it is no link.
  linkTarget: (path) => unlessNothing(() => disk.readlink(path), ["EINVAL", "UNKNOWN"]),

  openAppend(path) {
    fs.mkdirSync(dirname(path), PRIVATE_FOLDER);
    const file = fs.openSync(path, "a", 0o600);
    return {
      write: (text, { keepsTime = false } = {}) => {
        const bytes = Buffer.from(text);
        const before = keepsTime ? fs.fstatSync(file) : undefined;
        for (let written = 0; written < bytes.length; ) written += fs.writeSync(file, bytes, written);
        if (before) contained(sharedLog(), "keep the time of a file", () => setTime(file, before.mtimeMs));
      },
      sync: () => fs.fsyncSync(file),
      close: () => fs.closeSync(file),
    };
  },

  readText: (path) => disk.readFile(path, "utf8"),

  async readBytes(path, { start, length }) {
    const file = await disk.open(path, "r");
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
  },

  kindOf: (path) => unlessNothing(async () => entryKind(await disk.lstat(path))),

  entries: async (folder) =>
    (await disk.readdir(folder, { withFileTypes: true })).map((entry) => ({
      name: entry.name,
      kind: entryKind(entry),
    })),

  async saveText(path, text) {
    const found = await unlessNothing(() => disk.stat(path));
    if (found?.isCharacterDevice() === true || found?.isFIFO() === true) {
      await disk.writeFile(path, text, { flag: fs.constants.O_WRONLY | fs.constants.O_NOCTTY });
      return;
    }
    await disk.mkdir(dirname(path), { recursive: true });
    await replace(path, async (draft) => {
      await disk.writeFile(draft, text, { flag: "wx" });
      if (found) await disk.chmod(draft, found.mode & 0o7777);
    });
  },

  async writeAtomic(path, text, mode = 0o600) {
    await disk.mkdir(dirname(path), PRIVATE_FOLDER);
    await replace(path, async (draft) => {
      await disk.writeFile(draft, text, NEW_PRIVATE_FILE);
      if (mode !== 0o600) await disk.chmod(draft, mode);
    });
  },

  async writeParts(path, parts) {
    await disk.mkdir(dirname(path), PRIVATE_FOLDER);
    await replace(path, async (draft) => {
      const file = await disk.open(draft, "wx", 0o600);
      try {
        for (const part of parts) await file.writeFile(part);
      } finally {
        await file.close();
      }
    });
  },

  /** A link costs nothing and works within one file system; the other way is a copy, made outside of this thread. */
  async adopt(from, path) {
    await disk.mkdir(dirname(path), PRIVATE_FOLDER);
    await replace(path, async (draft) => {
      await disk.link(from, draft).catch(() => disk.copyFile(from, draft, fs.constants.COPYFILE_FICLONE));
      await disk.chmod(draft, 0o600);
    });
  },

  /** A link puts the written file there in one step. Where the file system has none, the file is made first and written after. */
  async createNew(path, text) {
    await disk.mkdir(dirname(path), PRIVATE_FOLDER);
    const draft = `${path}.${randomUUID()}.tmp`;
    try {
      await disk.writeFile(draft, text, NEW_PRIVATE_FILE);
      await disk.link(draft, path).catch((error: unknown) => {
        if (!hasErrorCode(error, ...NO_LINKS)) throw error;
        return disk.writeFile(path, text, NEW_PRIVATE_FILE);
      });
      return true;
    } catch (error) {
      if (hasErrorCode(error, "EEXIST")) return false;
      throw error;
    } finally {
      await disk.rm(draft, { force: true });
    }
  },

  async list(folder) {
    const names = await disk.readdir(folder).catch(() => []);
    const entries = await Promise.all(
      names.map(async (name) => {
        const found = await disk.stat(join(folder, name)).catch(() => undefined); // gone since the listing
        return found?.isFile() === true ? [{ name, bytes: found.size, modifiedMs: found.mtimeMs }] : [];
      }),
    );
    return entries.flat();
  },

  isFile: (path) => statsOf(path)?.isFile() === true,
  isFolder: (path) => statsOf(path)?.isDirectory() === true,
  markOf(path) {
    const found = fs.statSync(path, { throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}:${found.mtimeMs}`;
  },

  /** mkdtemp makes it private to this user. It goes at the exit of this process; the guardian sees to it if there is none. */
  scratchFolder() {
    if (scratch !== undefined) return scratch;
    scratch = fs.mkdtempSync(join(tmpdir(), "tenon-"));
    process.once("exit", removeScratch);
    guardian.watchFolder(scratch);
    return scratch;
  },

  async remove(path) {
    await disk.rm(path, { recursive: true, force: true });
    if (scratch === undefined || dirname(path) !== scratch) return;
    try {
      fs.rmdirSync(scratch);
    } catch {
      return; // not empty: others still use it
    }
    scratch = undefined;
    process.off("exit", removeScratch);
    await guardian.forgetFolder();
  },
};

let scratch: string | undefined;

function removeScratch(): void {
  if (scratch !== undefined) fs.rmSync(scratch, { recursive: true, force: true });
}

const PRIVATE_FOLDER = { recursive: true, mode: 0o700 } as const;
const NEW_PRIVATE_FILE = { mode: 0o600, flag: "wx" } as const;
/** What ends a path instead of leading on: nothing there, a file in the place of a folder, links in a circle, an impossible name. */
const NOTHING_THERE = ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "ERR_INVALID_ARG_VALUE"] as const;
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EACCES"] as const;

/** `throwIfNoEntry` covers ENOENT only: a file on the way, a loop of links, a long name or a closed folder throws all the same. */
function statsOf(path: string): fs.Stats | undefined {
  try {
    return fs.statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

async function unlessNothing<T>(look: () => Promise<T>, others: readonly string[] = []): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (hasErrorCode(error, ...NOTHING_THERE, ...others)) return undefined;
    throw error;
  }
}

function entryKind(found: Pick<fs.Stats, "isFile" | "isDirectory" | "isSymbolicLink">): EntryKind {
  if (found.isSymbolicLink()) return "link";
  if (found.isFile()) return "file";
  return found.isDirectory() ? "folder" : "other";
}

/** What is no file (a device, a pipe, a socket) is never replaced: it would be gone for every program of the machine. */
async function replace(path: string, write: (draft: string) => Promise<void>): Promise<void> {
  const found = await unlessNothing(() => disk.lstat(path));
  const target = found?.isSymbolicLink() === true ? await unlessNothing(() => disk.stat(path)) : found;
  if (target && !target.isFile() && !target.isDirectory()) {
    throw Object.assign(new Error(`${path} is not a regular file`), { code: "EINVAL", path });
  }
  // In the same folder, since a rename works within one file system only; a name of its own, since others write too.
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await write(draft);
    await disk.rename(draft, path);
  } catch (error) {
    await disk.rm(draft, { force: true });
    throw error;
  }
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
  #watchers: fs.FSWatcher[] = [];
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
    if (this.#isPolling) fs.unwatchFile(this.#path, this.#changed);
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
      if (files.isFolder(this.#path)) this.#listen(this.#path, () => true);
    } catch {
      this.#poll();
    }
  }

  #listen(folder: string, isOurs: (name: string | null) => boolean): void {
    const watcher = fs.watch(folder, { persistent: false }, (_event, name) => {
      if (isOurs(name)) this.#changed();
    });
    watcher.on("error", () => this.#poll());
    this.#watchers.push(watcher);
  }

  #poll(): void {
    this.#disarm();
    if (this.#isPolling || this.#isClosed) return;
    this.#isPolling = true;
    fs.watchFile(this.#path, { interval: POLL_MS, persistent: false }, this.#changed);
  }

  #disarm(): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
  }
}

function nearestFolder(folder: string): string {
  const above = dirname(folder);
  return files.isFolder(folder) || above === folder ? folder : nearestFolder(above);
}

/** Empty when it is gone, or out of reach by now. */
function identityOf(path: string): string {
  const found = statsOf(path);
  return found ? `${found.dev}:${found.ino}` : "";
}
