// Where kept results lie: in a private folder of the session, or in memory when there is none.

import { Pace } from "../../base/async/pace.js";
import { TenonError } from "../../base/errors.js";
import type { Files, World } from "../../base/ports/world.js";

export interface ByteRange {
  readonly start: number;
  readonly length: number;
}

/** Rejects when something cannot be written or is not there. */
export interface ResultStorage {
  write(name: string, parts: Iterable<Uint8Array>): Promise<void>;
  /** Takes over a file that may vanish afterwards. */
  adopt(name: string, path: string): Promise<void>;
  /** Fewer bytes than asked for only at the end. */
  read(name: string, range: ByteRange): Promise<Uint8Array>;
  remove(name: string): Promise<void>;
}

export function folderStorage(files: Files, folder: string): ResultStorage {
  const pathOf = (name: string) => `${folder}/${name}`;
  return {
    write: (name, parts) => files.writeParts(pathOf(name), parts),
    adopt: (name, path) => files.adopt(path, pathOf(name)),
    read: (name, range) => files.readBytes(pathOf(name), range),
    remove: (name) => files.remove(pathOf(name)),
  };
}

/** For embedders without a state folder, and for disks that are full: it holds no more than `maxBytes`. */
export class MemoryStorage implements ResultStorage {
  readonly #files: Files;
  readonly #pace: Pace;
  readonly #maxBytes: number;
  readonly #held = new Map<string, Uint8Array>();
  #bytes = 0;

  constructor(world: World, maxBytes: number) {
    this.#files = world.files;
    this.#pace = Pace.of(world);
    this.#maxBytes = maxBytes;
  }

  async write(name: string, parts: Iterable<Uint8Array>): Promise<void> {
    const kept: Uint8Array[] = [];
    let bytes = 0;
    const iterator = parts[Symbol.iterator]();
    for (let step = iterator.next(); !step.done; step = await this.#pace.run(() => iterator.next())) {
      bytes += step.value.length;
      if (bytes > this.#maxBytes) throw this.#tooMuch();
      kept.push(step.value);
    }
    await this.remove(name);
    this.#makeRoom(bytes);
    this.#held.set(name, kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept));
    this.#bytes += bytes;
  }

  async adopt(name: string, path: string): Promise<void> {
    const found = await this.#files.find(path);
    if (!found || found.bytes > this.#maxBytes) throw this.#tooMuch();
    await this.write(name, [await this.#files.readBytes(path, { start: 0, length: found.bytes })]);
  }

  async read(name: string, { start, length }: ByteRange): Promise<Uint8Array> {
    const bytes = this.#held.get(name);
    if (!bytes) throw new TenonError("internal", `${name} is not kept any more`);
    return bytes.subarray(start, start + length);
  }

  async remove(name: string): Promise<void> {
    this.#bytes -= this.#held.get(name)?.length ?? 0;
    this.#held.delete(name);
  }

  /** The oldest go first: reading one of them says that it is gone. */
  #makeRoom(bytes: number): void {
    for (const [name, held] of this.#held) {
      if (this.#bytes + bytes <= this.#maxBytes) return;
      this.#held.delete(name);
      this.#bytes -= held.length;
    }
  }

  #tooMuch(): TenonError {
    return new TenonError("internal", `it is over the ${this.#maxBytes} bytes that are kept in memory`);
  }
}
