// The folder for what servers sent that was too long for memory. It goes when its owner says so, or with the process.
import type { World } from "../../../base/ports/world.js";

export class SpillDirectory implements AsyncDisposable {
  readonly #world: World;
  #folder: string | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  /** The folder itself is made by whoever writes the first file. */
  get folder(): string {
    this.#folder ??= `${this.#world.files.scratchFolder()}/${Buffer.from(this.#world.randomBytes(6)).toString("hex")}`;
    return this.#folder;
  }

  /** Removes every file. Idempotent; the directory can be used again. */
  async dispose(): Promise<void> {
    const folder = this.#folder;
    this.#folder = undefined;
    if (folder !== undefined) await this.#world.files.remove(folder);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
