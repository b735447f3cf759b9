// Files in memory, with what a crash would have kept told apart from what was only written.
import { posix } from "node:path";
import type { AppendFile, EntryKind, FileEntry, Files, FolderEntry, FoundPath, Watch } from "../../base/world.js";

interface Content {
  text: string;
  syncedLength: number;
  openCount: number;
  mode: number;
}

interface Watcher {
  readonly path: string;
  readonly onChange: () => void;
}

const MAX_LINKS = 40;

export class FakeFiles implements Files {
  readonly #contents = new Map<string, Content>();
  readonly #links = new Map<string, string>();
  readonly #watchers = new Set<Watcher>();

  constructor(initial: Readonly<Record<string, string>> = {}) {
    for (const [path, text] of Object.entries(initial)) this.write(path, text);
  }

  /** Puts a file there, or replaces it. */
  write(path: string, text: string, mode = 0o600): void {
    const file = this.#realPath(path);
    this.#contents.delete(file); // so that it comes last in the order of changes
    this.#contents.set(file, { text, syncedLength: text.length, openCount: 0, mode });
    this.#tellOf(file);
  }

  /** Makes a symbolic link. What it leads to need not be there. */
  link(path: string, target: string): void {
    this.#links.set(path, target);
    this.#tellOf(path);
  }

  /** What `World.watch` of the fake world does. Only changes of files are told, not those of links on the way. */
  watch(path: string, onChange: () => void): Watch {
    const watcher: Watcher = { path, onChange };
    this.#watchers.add(watcher);
    return { close: () => this.#watchers.delete(watcher) };
  }

  /** Watches nobody has closed: none should be left when what set them is closed. */
  get watchCount(): number {
    return this.#watchers.size;
  }

  #tellOf(path: string): void {
    for (const watcher of [...this.#watchers]) {
      if (path === watcher.path || posix.dirname(path) === watcher.path) watcher.onChange();
    }
  }

  /** Without links; a circle of them ends as a path where nothing is. */
  #realPath(path: string): string {
    let current = posix.normalize(path);
    for (let turn = 0; turn < MAX_LINKS; turn++) {
      const link = [...this.#links.keys()].find((name) => current === name || current.startsWith(`${name}/`));
      if (link === undefined) return current;
      const target = this.#links.get(link) ?? "";
      current = posix.normalize(`${posix.resolve(posix.dirname(link), target)}${current.slice(link.length)}`);
    }
    return `${current}/a circle of links`;
  }

  async find(path: string): Promise<FoundPath | undefined> {
    const realPath = this.#realPath(path);
    const content = this.#contents.get(realPath);
    if (content) return { realPath, kind: "file", bytes: Buffer.byteLength(content.text), mode: content.mode };
    const isAbove = this.paths.some((file) => file.startsWith(`${realPath}/`));
    return isAbove ? { realPath, kind: "folder", bytes: 0, mode: 0o700 } : undefined;
  }

  async linkTarget(path: string): Promise<string | undefined> {
    const folder = this.#realPath(posix.dirname(path));
    return this.#links.get(posix.join(folder, posix.basename(path)));
  }

  get paths(): readonly string[] {
    return [...this.#contents.keys()];
  }

  /** The text so far, synced or not; undefined when there is no such file. */
  text(path: string): string | undefined {
    return this.#contents.get(this.#realPath(path))?.text;
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
    const content = this.#contents.get(path) ?? { text: "", syncedLength: 0, openCount: 0, mode: 0o600 };
    this.#contents.set(path, content);
    content.openCount++;
    let isOpen = true;
    const assertOpen = () => {
      if (!isOpen) throw new Error(`${path} is closed`);
    };
    return {
      write: (text) => {
        assertOpen();
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
    return this.#contents.has(this.#realPath(path));
  }

  /** Folders are not made here: they are where somebody looks for them. */
  isFolder(path: string): boolean {
    return !this.isFile(path);
  }

  scratchFolder(): string {
    return "/scratch";
  }

  async remove(path: string): Promise<void> {
    for (const file of this.paths) {
      if (file !== path && !file.startsWith(`${path}/`)) continue;
      this.#contents.delete(file);
      this.#tellOf(file);
    }
    this.#links.delete(path);
  }

  /** Like a rename: a link in its place is replaced, not followed. */
  async writeAtomic(path: string, text: string, mode?: number): Promise<void> {
    this.#links.delete(path);
    this.write(path, text, mode);
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
    if (this.#links.has(path) || this.isFile(path)) return false; // no await: of several, one succeeds
    this.write(path, text);
    return true;
  }

  /** Each file counts as changed one millisecond after the one written before it. */
  async list(folder: string): Promise<readonly FileEntry[]> {
    return [...this.#contents].flatMap(([path, { text }], index) => {
      const name = path.slice(folder.length + 1);
      if (!path.startsWith(`${folder}/`) || name.includes("/")) return [];
      return [{ name, bytes: Buffer.byteLength(text), modifiedMs: index }];
    });
  }

  async readText(path: string): Promise<string> {
    const content = this.#contents.get(this.#realPath(path));
    if (content) return content.text;
    throw notThere(path, "open");
  }

  async readBytes(path: string, { start, length }: { start: number; length: number }): Promise<Uint8Array> {
    return Buffer.from(await this.readText(path)).subarray(start, start + length);
  }

  async kindOf(path: string): Promise<EntryKind | undefined> {
    const place = posix.join(this.#realPath(posix.dirname(path)), posix.basename(path));
    return this.#links.has(place) ? "link" : (await this.find(place))?.kind;
  }

  async entries(folder: string): Promise<readonly FolderEntry[]> {
    const start = `${this.#realPath(folder)}/`;
    const names = new Set(
      [...this.paths, ...this.#links.keys()]
        .filter((path) => path.startsWith(start))
        .map((path) => path.slice(start.length).split("/")[0] ?? ""),
    );
    if (names.size === 0) throw notThere(folder, "scandir");
    return await Promise.all(
      [...names].map(async (name) => ({ name, kind: (await this.kindOf(start + name)) ?? "other" })),
    );
  }

  async saveText(path: string, text: string): Promise<void> {
    await this.writeAtomic(path, text, this.#contents.get(path)?.mode ?? 0o644);
  }
}

function notThere(path: string, call: string): Error {
  return Object.assign(new Error(`ENOENT: no such file or directory, ${call} '${path}'`), { code: "ENOENT", path });
}
