// Progress of one call at a pace that people and clients can follow: a server may send any number of notices, of any length.

import type { Timer, World } from "../../base/ports/world.js";
import { MCP_LIMITS } from "../limits.js";
import type { CallProgress } from "./call.js";

/** Tells a few notices at once, then the latest one per interval. The last notice is told before the call ends. */
export class ProgressPace implements Disposable {
  readonly #world: Pick<World, "after" | "monotonicMs">;
  readonly #tell: (progress: CallProgress) => void;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #told = 0;
  #pending: CallProgress | undefined;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(world: Pick<World, "after" | "monotonicMs">, tell: (progress: CallProgress) => void) {
    this.#world = world;
    this.#tell = tell;
  }

  readonly take = (progress: CallProgress): void => {
    if (this.#isOver) return;
    if (this.#timer) {
      this.#pending = progress;
      return;
    }
    const { burst, everyMs } = MCP_LIMITS.callProgress;
    const nowMs = this.#world.monotonicMs();
    if (nowMs - this.#windowStartMs >= everyMs) {
      this.#windowStartMs = nowMs;
      this.#told = 0;
    }
    if (this.#told < burst) {
      this.#told += 1;
      this.#tell(cut(progress));
      return;
    }
    this.#pending = progress;
    this.#wait();
  };

  [Symbol.dispose](): void {
    this.#timer?.clear();
    this.#flush();
    this.#isOver = true;
  }

  /** One notice per interval from now on, until an interval brings none. */
  #wait(): void {
    this.#timer = this.#world.after(MCP_LIMITS.callProgress.everyMs, () => {
      this.#timer = undefined;
      if (!this.#pending) return;
      this.#wait();
      this.#flush();
    });
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending) this.#tell(cut(pending));
  }
}

function cut(progress: CallProgress): CallProgress {
  const { messageChars } = MCP_LIMITS.callProgress;
  const { message } = progress;
  if (message === undefined || message.length <= messageChars) return progress;
  return { ...progress, message: `${message.slice(0, messageChars)}…` };
}
