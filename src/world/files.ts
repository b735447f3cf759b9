// The disk: files that survive a crash, and a scratch folder that does not survive this process.
import { randomUUID } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { chmod, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { AppendFile, FileEntry, Files, FoundPath } from "../base/world.js";
import { guardian } from "./guardian.js";

let scratch: string | undefined;

export const files: Files = {
  find,
  openAppend,
  readText: (path) => readFile(path, "utf8"),
  writeAtomic,
  createNew,
  list,
  isFile: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true,
  isFolder: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
  scratchFolder,
  remove,
};

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
  try {
    const realPath = await realpath(path);
    const found = await stat(realPath);
    const kind = found.isFile() ? "file" : found.isDirectory() ? "folder" : "other";
    return { realPath, kind, bytes: found.size, mode: found.mode & 0o777 };
  } catch (error) {
    if (error instanceof Error && "code" in error && NOTHING_THERE.includes(error.code)) return undefined;
    throw error;
  }
}

async function writeAtomic(path: string, text: string, mode = 0o600): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // In the same folder, since a rename works within one file system only; a name of its own, since others write too.
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: "wx" });
    if (mode !== 0o600) await chmod(draft, mode);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function createNew(path: string, text: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await writeFile(path, text, { mode: 0o600, flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

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
