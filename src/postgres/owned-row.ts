// A session of PostgreSQL that this node owns: its lines wait here until the append queue has them in the database.
import { messageOf, TenonError } from "../base/errors.js";
import type { SessionId } from "../base/id.js";
import {
  type AppendOptions,
  ONLY_COMMANDS,
  type OpenWork,
  type OwnedSession,
  type StoredLine,
} from "../session/index.js";
import type { KeptResults } from "../tools/index.js";

/** What an append changes in the session's own row. */
export interface RowChange {
  readonly state: string;
  /** As JSON: what another owner would go on with. */
  readonly left: string | undefined;
  /** It holds an outcome, an answer of the model, or the beginning of a turn. */
  readonly hasProgress: boolean;
  readonly keepsTime: boolean;
  readonly title: string | undefined;
}

export interface WaitingAppend {
  readonly lines: readonly StoredLine[];
  readonly chars: number;
  readonly change: RowChange;
  readonly done: () => void;
  readonly failed: (error: TenonError) => void;
}

/** Which row it is, once that is certain. */
export interface RowPlace {
  readonly key: number;
  readonly epoch: number;
  readonly lastSeq: number;
}

interface RowQueue {
  /** The row has something to append, or is to be released. */
  enqueue(row: OwnedRow): void;
  /** Nothing more comes of it. */
  forget(row: OwnedRow): void;
  /** This node may be sure of its lease. */
  isSure(): boolean;
}

export interface OwnedRowOptions {
  readonly id: SessionId;
  readonly queue: RowQueue;
  /** Rejects when the session cannot be had. */
  readonly place: Promise<RowPlace>;
  readonly work: OpenWork;
  /** It begins now. */
  readonly isNew: boolean;
  readonly results?: (owned: OwnedRow) => KeptResults;
  /** It is open here no more. */
  readonly onClosed: () => void;
}

export class OwnedRow implements OwnedSession {
  readonly id: SessionId;
  readonly settled: Promise<void>;
  readonly results?: KeptResults;
  readonly #options: OwnedRowOptions;
  readonly #lost = new AbortController();
  #place: RowPlace | undefined;
  #lastSeq = 0;
  #lastAppended = 0;
  #waiting: WaitingAppend[] = [];
  /** For good. */
  #failure: TenonError | undefined;
  #isTouched: boolean;
  #onFailing: (reason: string) => void = () => {};
  /** Set by `release`. */
  #released: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(options: OwnedRowOptions) {
    this.#options = options;
    this.id = options.id;
    this.#isTouched = options.isNew;
    const settled = options.place.then(
      (place) => this.#settle(place),
      (error: unknown) => {
        this.fail(error instanceof TenonError ? error : new TenonError("internal", messageOf(error), { cause: error }));
        throw error;
      },
    );
    settled.catch(() => undefined); // the first prompt tells the person
    this.settled = settled;
    if (options.results) this.results = options.results(this);
  }

  /** Undefined until the session is certainly ours. */
  get key(): number | undefined {
    return this.#place?.key;
  }

  get epoch(): number {
    return this.#place?.epoch ?? 1;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get isTouched(): boolean {
    return this.#isTouched;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** In order; the queue takes them from the front once they are in the database. */
  get waiting(): readonly WaitingAppend[] {
    return this.#waiting;
  }

  /** Everything is written, and the next owner may have it. */
  get isLeaving(): boolean {
    return this.#released !== undefined && this.#waiting.length === 0;
  }

  append(lines: readonly StoredLine[], { keepsTime = false }: AppendOptions = {}): Promise<void> | undefined {
    const [first, last] = [lines[0], lines.at(-1)];
    if (!first || !last) return undefined;
    const refusal = this.#refusal(first.seq);
    if (refusal) return rejected(refusal);
    this.#isTouched = true;
    this.#lastAppended = last.seq;
    const { work, queue } = this.#options;
    let chars = 0;
    let hasProgress = false;
    let title: string | undefined;
    for (const { line, entry } of lines) {
      work.add(entry);
      chars += line.length;
      hasProgress ||= isProgress(entry);
      if (entry.kind === "title") title = firstTitle(title, storable(entry.title));
    }
    const left = work.left && JSON.stringify(work.left);
    const change = { state: work.state, left, hasProgress, keepsTime, title };
    const written = new Promise<void>((done, failed) => {
      this.#waiting.push({ lines, chars, change, done, failed });
    });
    written.catch(() => undefined); // who awaits the journal hears of it
    queue.enqueue(this);
    return written;
  }

  /** What PostgreSQL confirmed is on its disk. */
  sync(): undefined {
    return undefined;
  }

  assertWritten(): void {
    this.#options.queue.isSure(); // aborts `lost` where it is not
    if (this.#failure) throw this.#failure;
  }

  /** Only of values that PostgreSQL does not take: while it is away appends wait, and the gateway tells all clients. */
  onFailing(listener: (reason: string) => void): void {
    this.#onFailing = listener;
  }

  async release(): Promise<void> {
    if (!this.#released) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => (resolve = done));
      this.#released = { promise, resolve };
      await this.settled.catch(() => undefined);
      if (this.#isStillOurs) this.#options.queue.enqueue(this);
      else this.left();
    }
    await this.#released.promise;
  }

  /** So many appends from the front are in the database. */
  written(count: number): void {
    const done = this.#waiting.splice(0, count);
    this.#lastSeq = done.at(-1)?.lines.at(-1)?.seq ?? this.#lastSeq;
    for (const one of done) one.done();
  }

  /** It is in the hands of the next owner, or was lost before. */
  left(): void {
    this.#failure ??= new TenonError("session.closed", `session "${this.id}" is closed`);
    this.#options.queue.forget(this);
    this.#options.onClosed();
    this.#released?.resolve();
  }

  /** Another owner has it, or this node cannot be sure any more that it has. */
  supersede(reason: string): void {
    if (this.#lost.signal.aborted) return;
    const error = new TenonError("session.superseded", `session "${this.id}" is not open here any more: ${reason}`, {
      hint: "Nothing to do: connect again, and go on at its new owner.",
    });
    if (this.#isStillOurs) this.#failure = error; // also where values were refused before: it is others' now
    this.fail(error);
    this.#lost.abort(error);
  }

  /** Nothing more is written, for this reason. */
  fail(error: TenonError): void {
    this.#failure ??= error;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) one.failed(this.#failure);
    if (this.#isStillOurs) return this.#onFailing(error.message);
    this.#options.queue.forget(this);
    this.#options.onClosed();
    this.#released?.resolve();
  }

  get #isStillOurs(): boolean {
    return !this.#failure || this.#failure.code === "session.not_recorded";
  }

  #settle(place: RowPlace): void {
    this.#place = place;
    this.#lastSeq = place.lastSeq;
    if (this.#lastAppended === 0) this.#lastAppended = place.lastSeq;
    if (this.#waiting.length > 0) this.#options.queue.enqueue(this);
  }

  #refusal(firstSeq: number): TenonError | undefined {
    this.#options.queue.isSure();
    if (this.#failure) return this.#failure;
    if (this.#released) return new TenonError("session.closed", `session "${this.id}" is closed`);
    if (firstSeq === this.#lastAppended + 1) return undefined;
    return new TenonError("internal", `record ${firstSeq} comes after record ${this.#lastAppended}`);
  }
}

/** An attempt to go on may only find that a call's outcome is unknown: that is settled then, and no later attempt does it again. */
function isProgress({ kind }: StoredLine["entry"]): boolean {
  return kind === "outcome" || kind === "answer" || kind === "prompt";
}

/** A session that was only given commands so far has none of its own. */
export function firstTitle(title: string | undefined, next: string | undefined): string | undefined {
  return title === undefined || title === ONLY_COMMANDS ? (next ?? title) : title;
}

/** PostgreSQL has no NUL in texts. */
export function storable(text: string): string {
  return text.replaceAll("\u0000", "\ufffd");
}

/** Nobody has to take it. */
function rejected(error: TenonError): Promise<void> {
  const promise = Promise.reject(error);
  promise.catch(() => undefined);
  return promise;
}
