// One journal file and its one writer. Every line is written when `append` returns, unless the disk fails.
import { messageOf, TenonError } from "../../base/errors.js";
import type { SessionId } from "../../base/id.js";
import type { FileLock } from "../../base/io/file-lock.js";
import type { AppendFile, World } from "../../base/ports/world.js";
import type { AppendOptions, StoredLine } from "../journal/journal.js";
import { SESSION_LIMITS } from "../limits.js";
import type { OwnedSession } from "./session-store.js";

export interface OwnedFileOptions {
  readonly world: Pick<World, "files" | "log" | "monotonicMs">;
  readonly id: SessionId;
  readonly path: string;
  /** Resolves to nothing where no lock could be written: that costs the protection, not the session. */
  readonly lock: Promise<FileLock | undefined>;
  /** Of the last record that counts. */
  readonly seq: number;
  /** Nothing lies behind that record. */
  readonly isClean: boolean;
  /** The first line, where it is missing: it is written before the next record. */
  readonly header: string | undefined;
}

/**
 * Lines that cannot be written are kept and written again with the next ones, so that a disk that was full for a while costs
 * nothing. Until then `assertWritten` fails: nobody is told that a turn is over which a crash would lose.
 */
export class OwnedFile implements OwnedSession {
  readonly id: SessionId;
  /** The number its first record has: higher than that of every earlier owner that wrote something. */
  readonly epoch: number;
  readonly settled: Promise<void>;
  readonly #options: OwnedFileOptions;
  readonly #lost = new AbortController();
  #lock: FileLock | undefined;
  #lookedMs = 0;
  #file: AppendFile | undefined;
  #lastSeq: number;
  /** Lines that are not on the disk, and the numbers of the first and the last record in them. */
  #unwritten = "";
  #firstUnwritten: number;
  #lastAppended: number;
  /** Something that does not count may be in the file behind the last record. */
  #isTorn: boolean;
  #failure: string | undefined;
  #isReleased = false;
  #onFailing: (reason: string) => void = () => {};

  constructor(options: OwnedFileOptions) {
    const { id, seq, isClean, header, lock } = options;
    this.#options = options;
    this.id = id;
    this.epoch = seq + 1;
    this.#lastSeq = seq;
    this.#lastAppended = seq;
    this.#firstUnwritten = seq + 1;
    this.#isTorn = !isClean;
    this.#unwritten = header === undefined ? "" : `${header}\n`;
    const settled = lock.then((held) => {
      this.#lock = held;
    });
    settled.catch(() => undefined); // the first prompt tells the person
    this.settled = settled;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get isTouched(): boolean {
    return this.#file !== undefined || this.#failure !== undefined;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  onFailing(listener: (reason: string) => void): void {
    this.#onFailing = listener;
    if (this.#failure !== undefined) listener(this.#failure);
  }

  /** Writes the first line of a session that begins now. */
  begin(): void {
    this.#write();
  }

  append(lines: readonly StoredLine[], options: AppendOptions = {}): Promise<void> | undefined {
    const [first, last] = [lines[0], lines.at(-1)];
    if (!first || !last) return undefined;
    if (this.#isReleased) return rejected(new TenonError("session.closed", `session "${this.id}" is closed`));
    if (!this.#isOurs(SESSION_LIMITS.journal.lockLookMs)) return rejected(this.#superseded());
    if (first.seq !== this.#lastAppended + 1) {
      return rejected(new TenonError("internal", `record ${first.seq} comes after record ${this.#lastAppended}`));
    }
    if (this.#lastSeq === this.#lastAppended) this.#firstUnwritten = first.seq;
    this.#lastAppended = last.seq;
    let text = "";
    for (const { line } of lines) text += `${line}\n`;
    this.#unwritten += text;
    this.#write(options);
    return undefined;
  }

  sync(): undefined {
    if (!this.#file || !this.#isOurs(0)) return undefined;
    try {
      this.#file.sync();
    } catch {
      this.#closeFile(); // a handle whose sync has failed once may report success for what it lost
      this.#attempt(() => this.#open().sync());
    }
    return undefined;
  }

  assertWritten(): void {
    if (!this.#isOurs(0)) throw this.#superseded();
    if (this.#failure === undefined) return;
    if (this.#unwritten === "") this.#attempt(() => this.#open().sync());
    else this.#write();
    if (this.#failure === undefined) return;
    const { path } = this.#options;
    throw new TenonError("session.not_recorded", `the journal of this session cannot be written: ${this.#failure}`, {
      hint: `Free space on the disk or make ${path} writable, then send the prompt again.`,
    });
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    this.#closeFile();
    await this.settled.catch(() => undefined);
    const lock = this.#lock;
    this.#lock = undefined;
    await lock?.release();
  }

  /** `everyMs`: a look at the lock that is not older is enough. */
  #isOurs(everyMs: number): boolean {
    if (this.#lost.signal.aborted) return false;
    if (!this.#lock) return true;
    const nowMs = this.#options.world.monotonicMs();
    if (everyMs > 0 && nowMs - this.#lookedMs < everyMs) return true;
    this.#lookedMs = nowMs;
    if (this.#lock.isHeld()) return true;
    const { id, path, world } = this.#options;
    world.log.error("session.superseded", { session: id, path, epoch: this.epoch });
    this.#closeFile();
    this.#lost.abort(this.#superseded());
    return false;
  }

  #superseded(): TenonError {
    const { id } = this.#options;
    return new TenonError("session.superseded", `session "${id}" is not open here any more: its lock file is gone`, {
      hint: "Load the session again.",
    });
  }

  #write(options: AppendOptions = {}): void {
    this.#attempt(() => {
      const file = this.#open();
      // Records are written a second time where the first attempt may have left a part of them. The reader skips what it
      // has already: these are the same records under the same numbers. What else lies there does not count.
      const again = this.#isTorn ? `\n${JSON.stringify({ again: this.#firstUnwritten })}\n` : "";
      this.#isTorn = true;
      file.write(again + this.#unwritten, options);
      this.#isTorn = false;
      this.#unwritten = "";
      this.#lastSeq = this.#lastAppended;
    });
  }

  #open(): AppendFile {
    this.#file ??= this.#options.world.files.openAppend(this.#options.path);
    return this.#file;
  }

  #closeFile(): void {
    const file = this.#file;
    this.#file = undefined;
    try {
      file?.close();
    } catch (error) {
      // What was synced is on the disk, and what was not has been reported as such.
      this.#options.world.log.warn("journal.close_failed", { path: this.#options.path, error: messageOf(error) });
    }
  }

  #attempt(write: () => void): void {
    try {
      write();
      this.#failure = undefined;
    } catch (error) {
      const { path, world } = this.#options;
      const isNew = this.#failure === undefined;
      this.#failure = messageOf(error);
      this.#closeFile();
      if (!isNew) return;
      world.log.error("journal.failing", { path, error: this.#failure });
      this.#onFailing(this.#failure);
    }
  }
}

/** Nobody has to take it. */
function rejected(error: TenonError): Promise<void> {
  const promise = Promise.reject(error);
  promise.catch(() => undefined);
  return promise;
}
