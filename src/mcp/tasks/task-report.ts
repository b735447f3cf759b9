// What is told of a task while it runs: how far it is and what it says of itself, and nothing twice.

import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { Log } from "../../base/ports/log.js";
import type { CallProgress } from "../call/call.js";
import type { ProgressNote } from "../rpc/rpc.js";

export class TaskReport {
  readonly #log: Log;
  readonly #onProgress: (progress: CallProgress) => void;
  #progress: ProgressNote = { progress: 0 };
  #told = "";

  constructor(log: Log, onProgress: (progress: CallProgress) => void) {
    this.#log = log;
    this.#onProgress = onProgress;
  }

  /** How far it is, told with the next words. */
  setProgress(note: ProgressNote): void {
    this.#progress = note;
  }

  tell(message = "running as a task"): void {
    const { progress, total } = this.#progress;
    const told = { progress, ...defined({ total }), message };
    const key = JSON.stringify(told);
    if (key === this.#told) return;
    this.#told = key;
    try {
      this.#onProgress(told);
    } catch (thrown) {
      this.#log.error("mcp.progress_listener_failed", { error: messageOf(thrown) });
    }
  }
}
