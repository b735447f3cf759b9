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

export class Folders {
  readonly cwd: string;
  readonly #files: Files;
  readonly #roots: readonly string[];

  constructor(files: Files, cwd: string, additionalDirectories: readonly string[] = []) {
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
   * the path could lead it elsewhere. Against processes that do so on purpose there is the sandbox. Throws the reason, for
   * people and models, when the path cannot be used.
   */
  async place(path: string): Promise<LocatedPath> {
    if (path.includes("\0")) throw new Error("A path must not contain a NUL character.");
    const absolute = this.absolute(path);
    const notReached = (thrown: unknown) => {
      throw new Error(`${this.show(absolute)} cannot be reached: ${messageOf(thrown)}`);
    };
    const ancestor = await this.#deepestThere(absolute).catch(notReached);
    if (!ancestor.found) throw new Error(`${this.show(ancestor.path)} is a link that leads nowhere.`);
    const { found } = ancestor;
    const isThere = ancestor.path === absolute;
    const realPath = isThere ? found.realPath : join(found.realPath, relative(ancestor.path, absolute));
    if (!(await this.#isOurs(realPath).catch(notReached))) {
      const leads = realPath === absolute ? "" : ` (it leads to ${realPath})`;
      throw new Error(`${absolute}${leads} lies outside of the session's directories: ${this.#roots.join(", ")}.`);
    }
    if (!isThere && found.kind !== "folder") throw new Error(`${this.show(ancestor.path)} is not a folder.`);
    return { path: absolute, realPath, found: isThere ? found : undefined };
  }

  /** The path itself or the nearest folder above it that exists; `/` always does. Nothing is found for a link that leads nowhere. */
  async #deepestThere(path: string): Promise<{ readonly path: string; readonly found: FoundPath | undefined }> {
    for (let current = path; ; current = dirname(current)) {
      const found = await this.#files.find(current);
      // A link to nothing yet: whoever writes through it decides where the file comes to lie.
      const isDeadLink = !found && (await this.#files.kindOf(current)) !== undefined;
      if (found || isDeadLink || dirname(current) === current) return { path: current, found };
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
}

/** Both must be real paths: names alone say nothing where there are links. */
function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
