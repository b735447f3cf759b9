// Files in memory; text that was synced, and would survive a crash, is kept apart from text that was only written.
import { posix } from "node:path";
import { getSystemErrorMap } from "node:util";
import type {
  AppendFile,
  EntryKind,
  FileEntry,
  Files,
  FolderEntry,
  FoundPath,
  Watch,
} from "../../../base/ports/world.js";

interface Content {
  text: string;
  syncedLength: number;
  openCount: number;
  mode: number;
}

const MAX_LINKS = 40;
const MAX_NAME_BYTES = 255;

export class FakeFiles implements Files {
  /** Nothing more can be appended to open files. */
  isFull = false;
  readonly #contents = new Map<string, Content>();
  readonly #links = new Map<string, string>();
  readonly #watchers = new Set<{ readonly path: string; readonly onChange: () => void }>();
  /** Those that were made: each file makes the folders above it. */
  readonly #folders: Set<string>;

  /** `folders` are there from the start, empty. */
  constructor(initial: Readonly<Record<string, string>> = {}, folders: readonly string[] = []) {
    this.#folders = new Set(["/"]);
    for (const folder of folders) this.#makeFolder(folder);
    for (const [path, text] of Object.entries(initial)) this.write(path, text);
  }

  /** Puts a file there, or replaces it. */
  write(path: string, text: string, mode = 0o600): void {
    const file = this.#realPath(path);
    this.#makeFolder(posix.dirname(file));
    if (this.#folders.has(file)) throw failure("EISDIR", path, "open");
    this.#contents.delete(file); // so that it comes last in the order of changes
    this.#contents.set(file, { text, syncedLength: text.length, openCount: 0, mode });
    this.#tellOf(file);
  }

  /** Makes a symbolic link. What it leads to need not be there. */
  link(path: string, target: string): void {
    this.#links.set(path, target);
    this.#tellOf(path);
  }

  /** Implements `World.watch`. Reports changes of files, not of links on the way. */
  watch(path: string, onChange: () => void): Watch {
    const watcher = { path, onChange };
    this.#watchers.add(watcher);
    return { close: () => this.#watchers.delete(watcher) };
  }

  /** Watches that are still open; none should be left at the end of a test. */
  get watchCount(): number {
    return this.#watchers.size;
  }

  #tellOf(path: string): void {
    for (const watcher of [...this.#watchers]) {
      if (path === watcher.path || posix.dirname(path) === watcher.path) watcher.onChange();
    }
  }

  /** The path without links, where nothing need be. Throws for a file on the way, a circle of links and a name that is too long. */
  #realPath(path: string): string {
    let current = posix.normalize(path).replace(/(.)\/$/u, "$1");
    for (let turn = 0; turn < MAX_LINKS; turn++) {
      const link = [...this.#links.keys()].find((name) => current === name || current.startsWith(`${name}/`));
      if (link === undefined) return this.#checked(current, path);
      const target = this.#links.get(link) ?? "";
      current = posix.normalize(`${posix.resolve(posix.dirname(link), target)}${current.slice(link.length)}`);
    }
    throw failure("ELOOP", path, "stat");
  }

  #checked(current: string, path: string): string {
    if (current.includes("\0")) throw failure("ERR_INVALID_ARG_VALUE", path, "stat");
    if (current.split("/").some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES))
      throw failure("ENAMETOOLONG", path, "stat");
    for (let above = posix.dirname(current); above !== "/"; above = posix.dirname(above)) {
      if (this.#contents.has(above)) throw failure("ENOTDIR", path, "stat");
      if (above === ".") break;
    }
    return current;
  }

  /** Undefined where no path leads. */
  #possiblePath(path: string): string | undefined {
    try {
      return this.#realPath(path);
    } catch {
      return undefined;
    }
  }

  /** Its own name is not followed. */
  #placeOf(path: string): string {
    return posix.join(this.#realPath(posix.dirname(path)), posix.basename(path));
  }

  #makeFolder(path: string): void {
    const folder = this.#realPath(path);
    if (this.#contents.has(folder)) throw failure("ENOTDIR", path, "mkdir");
    for (let one = folder; !this.#folders.has(one) && one !== "."; one = posix.dirname(one)) this.#folders.add(one);
  }

  async find(path: string): Promise<FoundPath | undefined> {
    const realPath = this.#possiblePath(path);
    if (realPath === undefined) return undefined;
    const content = this.#contents.get(realPath);
    if (content) return { realPath, kind: "file", bytes: Buffer.byteLength(content.text), mode: content.mode };
    return this.#folders.has(realPath) ? { realPath, kind: "folder", bytes: 0, mode: 0o700 } : undefined;
  }

  async linkTarget(path: string): Promise<string | undefined> {
    if (this.#possiblePath(posix.dirname(path)) === undefined) return undefined;
    return this.#links.get(this.#placeOf(path));
  }

  get paths(): readonly string[] {
    return [...this.#contents.keys()];
  }

  /** The text so far, synced or not; undefined when there is no such file. */
  text(path: string): string | undefined {
    return this.#contents.get(this.#possiblePath(path) ?? path)?.text;
  }

  /** The part that was forced to the disk. */
  syncedText(path: string): string | undefined {
    const content = this.#contents.get(path);
    return content?.text.slice(0, content.syncedLength);
  }

  /** Files opened and not closed again. */
  get openPaths(): readonly string[] {
    return this.paths.filter((path) => (this.#contents.get(path)?.openCount ?? 0) > 0);
  }

  openAppend(path: string): AppendFile {
    const real = this.#realPath(path);
    if (this.#folders.has(real)) throw failure("EISDIR", path, "open");
    this.#makeFolder(posix.dirname(real));
    const content = this.#contents.get(real) ?? { text: "", syncedLength: 0, openCount: 0, mode: 0o600 };
    this.#contents.set(real, content);
    content.openCount++;
    let isOpen = true;
    const assertOpen = () => {
      if (!isOpen) throw new Error(`${path} is closed`);
    };
    return {
      write: (text) => {
        assertOpen();
        if (this.isFull) throw failure("ENOSPC", path, "write");
        content.text += text;
      },
      sync: () => {
        assertOpen();
        content.syncedLength = content.text.length;
      },
      close: () => {
        if (isOpen) content.openCount--;
        isOpen = false;
      },
    };
  }

  isFile(path: string): boolean {
    return this.#contents.has(this.#possiblePath(path) ?? "");
  }

  markOf(path: string): string | undefined {
    return this.#contents.get(this.#possiblePath(path) ?? "")?.text;
  }

  isFolder(path: string): boolean {
    return this.#folders.has(this.#possiblePath(path) ?? "");
  }

  scratchFolder(): string {
    return "/scratch";
  }

  async remove(path: string): Promise<void> {
    const parent = this.#possiblePath(posix.dirname(path));
    if (parent === undefined) return;
    const place = this.#placeOf(path);
    if (this.#links.delete(place)) return;
    for (const folder of [...this.#folders]) if (isWithin(folder, place)) this.#folders.delete(folder);
    for (const link of [...this.#links.keys()]) if (isWithin(link, place)) this.#links.delete(link);
    for (const file of this.paths) {
      if (!isWithin(file, place)) continue;
      this.#contents.delete(file);
      this.#tellOf(file);
    }
  }

  /** Like a rename: a link in its place is replaced, not followed. */
  async writeAtomic(path: string, text: string, mode?: number): Promise<void> {
    const place = this.#placeOf(path);
    this.#links.delete(place);
    this.write(place, text, mode);
  }

  async writeParts(path: string, parts: Iterable<Uint8Array>): Promise<void> {
    const bytes: Uint8Array[] = [];
    for (const part of parts) {
      bytes.push(part);
      await Promise.resolve();
    }
    await this.writeAtomic(path, Buffer.concat(bytes).toString());
  }

  async adopt(from: string, path: string): Promise<void> {
    await this.writeAtomic(path, await this.readText(from));
  }

  async createNew(path: string, text: string): Promise<boolean> {
    const place = this.#placeOf(path);
    // No await: of several, one succeeds.
    if (this.#links.has(place) || this.#contents.has(place) || this.#folders.has(place)) return false;
    this.write(place, text);
    return true;
  }

  /** Each file counts as changed one millisecond after the one written before it. */
  async list(folder: string): Promise<readonly FileEntry[]> {
    const real = this.#possiblePath(folder);
    if (real === undefined) return [];
    const start = real === "/" ? real : `${real}/`;
    const order = new Map([...this.#contents.keys()].map((path, index) => [path, index]));
    const names = [...this.#contents.keys(), ...this.#links.keys()].flatMap((path) => {
      const name = path.slice(start.length);
      return path.startsWith(start) && !name.includes("/") ? [name] : [];
    });
    return names.flatMap((name) => {
      const file = this.#possiblePath(start + name) ?? "";
      const content = this.#contents.get(file);
      return content ? [{ name, bytes: Buffer.byteLength(content.text), modifiedMs: order.get(file) ?? 0 }] : [];
    });
  }

  async readText(path: string): Promise<string> {
    const real = this.#realPath(path);
    const content = this.#contents.get(real);
    if (content) return content.text;
    throw failure(this.#folders.has(real) ? "EISDIR" : "ENOENT", path, "open");
  }

  async readBytes(path: string, { start, length }: { start: number; length: number }): Promise<Uint8Array> {
    return Buffer.from(await this.readText(path)).subarray(start, start + length);
  }

  async kindOf(path: string): Promise<EntryKind | undefined> {
    if (this.#possiblePath(posix.dirname(path)) === undefined) return undefined;
    const place = this.#placeOf(path);
    return this.#links.has(place) ? "link" : (await this.find(place))?.kind;
  }

  async entries(folder: string): Promise<readonly FolderEntry[]> {
    const real = this.#realPath(folder);
    if (this.#contents.has(real)) throw failure("ENOTDIR", folder, "scandir");
    if (!this.#folders.has(real)) throw failure("ENOENT", folder, "scandir");
    const start = real === "/" ? real : `${real}/`;
    const names = new Set(
      [...this.paths, ...this.#links.keys(), ...this.#folders]
        .filter((path) => path.startsWith(start) && path !== start)
        .map((path) => path.slice(start.length).split("/")[0] ?? ""),
    );
    return await Promise.all(
      [...names].map(async (name) => ({ name, kind: (await this.kindOf(start + name)) ?? "other" })),
    );
  }

  async saveText(path: string, text: string): Promise<void> {
    const mode = (await this.find(path))?.mode;
    await this.writeAtomic(path, text, mode ?? 0o644);
  }
}

function isWithin(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}/`);
}

const ERRORS: ReadonlyMap<string, string> = new Map(getSystemErrorMap().values());

/** An error as the operating system's calls give it. */
export function systemError(code: string, subject: string, call = ""): Error {
  const text = `${code}: ${ERRORS.get(code) ?? "invalid"}, ${call}'${subject}'`;
  return Object.assign(new Error(text), { code, path: subject });
}

function failure(code: string, path: string, call: string): Error {
  return systemError(code, path, `${call} `);
}
