// A small file area: text files below one root, which no path and no link leads out of.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { lstat, mkdir, readdir, readFile, realpath, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";

const MAX_FILE_BYTES = 262_144;
const MAX_LISTED = 500;

export interface FileEntry {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  readonly bytes: number;
}

export class FileArea implements Disposable {
  readonly #given: string | undefined;
  #root: string | undefined;

  /** Without `root` a fresh temporary directory is made on the first use and removed on disposal. */
  constructor(root?: string) {
    this.#given = root === undefined ? undefined : resolve(root);
  }

  /** Where the files are, once the area has been used. */
  get root(): string | undefined {
    return this.#root;
  }

  async list(): Promise<readonly FileEntry[]> {
    const root = this.#open();
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).slice(0, MAX_LISTED);
    const listed = files.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      return { path: relative(root, path).split(sep).join("/"), bytes: (await stat(path)).size };
    });
    return (await Promise.all(listed)).sort((left, right) => (left.path < right.path ? -1 : 1));
  }

  async read(path: string): Promise<string> {
    const target = await this.#inside(path);
    const found = await stat(target).catch(() => undefined);
    if (!found) throw new Error(`There is no file "${path}".`);
    if (!found.isFile()) throw new Error(`"${path}" is not a file.`);
    if (found.size > MAX_FILE_BYTES) throw new Error(`"${path}" is larger than ${MAX_FILE_BYTES} bytes.`);
    return await readFile(target, "utf8");
  }

  /** Writes the whole file, making folders on the way; returns its size. */
  async write(path: string, content: string): Promise<number> {
    const bytes = Buffer.byteLength(content);
    if (bytes > MAX_FILE_BYTES) throw new Error(`The content is larger than ${MAX_FILE_BYTES} bytes.`);
    const target = await this.#inside(path);
    const found = await stat(target).catch(() => undefined);
    if (found && !found.isFile()) throw new Error(`"${path}" is not a file.`);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
    return bytes;
  }

  [Symbol.dispose](): void {
    if (this.#given === undefined && this.#root !== undefined) rmSync(this.#root, { recursive: true, force: true });
    this.#root = undefined;
  }

  #open(): string {
    this.#root ??= this.#given === undefined ? freshRoot() : existingRoot(this.#given);
    return this.#root;
  }

  /** The absolute place of `path`, after following the links that exist on the way to it. */
  async #inside(path: string): Promise<string> {
    if (path.trim() === "" || path.includes("\0")) throw new Error("A path needs a file name.");
    const root = await realpath(this.#open());
    const target = resolve(root, path);
    if (!isBelow(root, target)) throw outside(path);
    const [existing, missing] = await splitExisting(target);
    const real = join(existing, missing);
    if (!isBelow(root, real)) throw outside(path);
    return real;
  }
}

/** The deepest part of `target` that exists, with its links resolved, and what is left of the path. */
async function splitExisting(target: string): Promise<[existing: string, missing: string]> {
  for (let candidate = target; ; candidate = dirname(candidate)) {
    const real = await realpath(candidate).catch(() => undefined);
    if (real !== undefined) return [real, relative(candidate, target)];
    const dangling = await lstat(candidate).catch(() => undefined);
    if (dangling) throw new Error("A link on the way leads nowhere.");
  }
}

function isBelow(root: string, path: string): boolean {
  return path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function outside(path: string): Error {
  return new Error(`"${path}" is outside the file area.`);
}

function freshRoot(): string {
  const root = mkdtempSync(join(tmpdir(), "tenon-demo-"));
  writeFileSync(join(root, "welcome.txt"), "Welcome. This folder is yours until the demo server ends.\n");
  return root;
}

function existingRoot(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
}
