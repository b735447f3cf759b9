// Watching a path with what Node has: the folder it lies in, or the nearest one above it that exists.
import { type FSWatcher, statSync, unwatchFile, watchFile, watch as watchFolder } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { contained } from "../base/async/scope.js";
import { sharedLog } from "../base/ports/log.js";
import type { Watch } from "../base/ports/world.js";
import { isFolder } from "./files.js";

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
