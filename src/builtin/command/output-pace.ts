// How often somebody watching hears of new output: soon, at most every so often, and never after the end.
import { messageOf } from "../../base/errors.js";
import type { Timer, World } from "../../base/ports/world.js";
import { BUILTIN_LIMITS } from "../limits.js";

export class OutputPace implements Disposable {
  readonly #world: World;
  readonly #tell: () => Promise<void>;
  #timer: Timer | undefined;
  #isTouched = false;
  #isOver = false;

  constructor(world: World, tell: () => Promise<void>) {
    this.#world = world;
    this.#tell = tell;
  }

  /** There is more. */
  touch(): void {
    this.#isTouched = true;
    if (this.#timer || this.#isOver) return;
    this.#timer = this.#world.after(BUILTIN_LIMITS.commandProgressMs, () => {
      this.#timer = undefined;
      if (!this.#isTouched || this.#isOver) return;
      this.#isTouched = false;
      this.#tell().catch((thrown: unknown) => {
        this.#world.log.debug("builtin.progress_failed", { error: messageOf(thrown) });
      });
    });
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.clear();
  }
}
