// The session's directories: every path of a tool is resolved here, and one that really lies elsewhere is refused.
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { messageOf } from "../base/errors.js";
import type { Files, FoundPath } from "../base/ports/world.js";

/** A path inside the session's directories. */
export interface LocatedPath {
  /** Absolute, links not resolved: what editors know the file by. */
  readonly path: string;
  /** Free of links: what is really opened. What is not there yet lies in the real folder it would be made in. */
  readonly realPath: string;
  /** Undefined: nothing is there yet. */
  readonly found: FoundPath | undefined;
}

export type Located =
  | { readonly ok: true; readonly place: LocatedPath }
  | { readonly ok: false; readonly reason: string };

export interface FoldersOptions {
  readonly cwd: string;
  readonly additionalDirectories?: readonly string[];
}

export class Folders {
  readonly cwd: string;
  readonly #files: Files;
  readonly #roots: readonly string[];

  constructor(files: Files, { cwd, additionalDirectories = [] }: FoldersOptions) {
    this.#files = files;
    this.cwd = resolve(cwd);
    this.#roots = [this.cwd, ...additionalDirectories.map((folder) => resolve(this.cwd, folder))];
  }

  /** Absolute, by its words alone. */
  absolute(path: string): string {
    return resolve(this.cwd, path);
  }

  /** For people and models: relative where that is shorter and clear. */
  show(path: string): string {
    const absolute = this.absolute(path);
    if (absolute === this.cwd) return ".";
    return isInside(absolute, this.cwd) ? relative(this.cwd, absolute) : absolute;
  }

  /**
   * Judged by what is on the disk now: whoever can make links in the session's directories between this and the use of
   * the path could lead it elsewhere. Against processes that do so on purpose there is the sandbox.
   */
  async locate(path: string): Promise<Located> {
    if (path.includes("\0")) return { ok: false, reason: "A path must not contain a NUL character." };
    const absolute = this.absolute(path);
    try {
      return await this.#locate(absolute);
    } catch (thrown) {
      return { ok: false, reason: `${this.show(absolute)} cannot be reached: ${messageOf(thrown)}` };
    }
  }

  /** The same, for tools: throws the reason. */
  async place(path: string): Promise<LocatedPath> {
    const located = await this.locate(path);
    if (!located.ok) throw new Error(located.reason);
    return located.place;
  }

  async #locate(path: string): Promise<Located> {
    const ancestor = await this.#deepestThere(path);
    if (ancestor.kind === "dead_link") {
      return { ok: false, reason: `${this.show(ancestor.path)} is a link that leads nowhere.` };
    }
    const { found } = ancestor;
    const isThere = ancestor.path === path;
    const realPath = isThere ? found.realPath : join(found.realPath, relative(ancestor.path, path));
    if (!(await this.#isOurs(realPath))) return { ok: false, reason: this.#outside(path, realPath) };
    if (!isThere && found.kind !== "folder") {
      return { ok: false, reason: `${this.show(ancestor.path)} is not a folder.` };
    }
    return { ok: true, place: { path, realPath, found: isThere ? found : undefined } };
  }

  /** The path itself or the nearest folder above it that exists; `/` always does. */
  async #deepestThere(
    path: string,
  ): Promise<{ kind: "found"; path: string; found: FoundPath } | { kind: "dead_link"; path: string }> {
    for (let current = path; ; current = dirname(current)) {
      const found = await this.#files.find(current);
      if (found) return { kind: "found", path: current, found };
      // A link to nothing yet: whoever writes through it decides where the file comes to lie.
      if ((await this.#files.kindOf(current)) !== undefined || dirname(current) === current) {
        return { kind: "dead_link", path: current };
      }
    }
  }

  /** Looked up each time: a root may be a link, and may be changed. */
  async #isOurs(realPath: string): Promise<boolean> {
    for (const root of this.#roots) {
      const found = await this.#files.find(root);
      if (found?.kind === "folder" && isInside(realPath, found.realPath)) return true;
    }
    return false;
  }

  #outside(path: string, realPath: string): string {
    const leads = realPath === path ? "" : ` (it leads to ${realPath})`;
    return `${path}${leads} lies outside of the session's directories: ${this.#roots.join(", ")}.`;
  }
}

/** Both must be real paths: names alone say nothing where there are links. */
function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
