// Lines to a file without waiting for the disk: written in the background, the rest at once when the process exits.
import { closeSync, mkdirSync, openSync, write, writeSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf, TenonError } from "../base/errors.js";
import { WORLD_LIMITS } from "./limits.js";

export class TraceFile {
  readonly #file: number;
  readonly #onGap: (lost: number) => string;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  /** Appends, and makes the file private to the user. `onGap` words the line that stands for lines that were left out. */
  constructor(path: string, onGap: (lost: number) => string) {
    this.#onGap = onGap;
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      this.#file = openSync(path, "a", 0o600);
    } catch (thrown) {
      throw new TenonError("usage.invalid", `the trace cannot be written to ${path}: ${messageOf(thrown)}`, {
        cause: thrown,
      });
    }
  }

  /** The newline is added. */
  add(line: string): void {
    if (this.#isClosed) return;
    if (this.#waitingBytes > WORLD_LIMITS.trace.backlogBytes) {
      this.#lost += 1;
      return;
    }
    if (this.#lost > 0) this.#push(this.#onGap(this.#lost));
    this.#lost = 0;
    this.#push(line);
    this.#writing ??= this.#drain().catch(() => undefined); // a hole in the trace
  }

  /** Resolves once everything added so far is written. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.flush();
    this.end();
  }

  /** Everything at once, for the exit of the process. What is on its way to the disk already is not written again. */
  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#lost > 0) this.#push(this.#onGap(this.#lost));
    try {
      writeSync(this.#file, this.#take());
      if (!this.#writing) closeSync(this.#file);
    } catch {
      // A full disk: there is nowhere left to say so.
    }
  }

  #push(line: string): void {
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
  }

  #take(): string {
    const text = this.#waiting.length === 0 ? "" : `${this.#waiting.join("\n")}\n`;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return text;
  }

  /** On a turn of its own, so that lines that come together are written together. */
  async #drain(): Promise<void> {
    await new Promise(setImmediate);
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const bytes = Buffer.from(this.#take());
      for (let done = 0; done < bytes.length; ) {
        const written = await this.#write(bytes, done);
        if (written === 0) break;
        done += written;
      }
    }
    this.#writing = undefined;
  }

  /** 0 when it cannot be written: the trace has a hole then, and the work it records goes on. */
  #write(bytes: Buffer, from: number): Promise<number> {
    return new Promise((resolve) => {
      write(this.#file, bytes, from, bytes.length - from, null, (error, written) => resolve(error ? 0 : written));
    });
  }
}
