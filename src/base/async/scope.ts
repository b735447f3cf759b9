// Owned disposal and owned background work. Closing a scope aborts its work, disposes in reverse order, then awaits the work.

import { defined } from "../json/defined.js";
import { messageOf } from "../message.js";
import { type Log, sharedLog } from "../ports/world.js";
import { Bag } from "./bag.js";

/**
 * Owns a promise that is not awaited: a rejection is logged with its stack, and goes no further. For work that must also end
 * with its owner there is `Scope.run`.
 */
export function handled(promise: Promise<unknown>, log: Log, name: string): void {
  promise.catch((error: unknown) => reportThrown(log, name, error));
}

/** Runs a foreign listener: an error it throws is logged with its stack and does not reach the caller. */
export function contained(log: Log, name: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    reportThrown(log, name, error);
  }
}

/** A bug that was contained: the stack is what its report needs. */
function reportThrown(log: Log, name: string, error: unknown): void {
  const stack = error instanceof Error ? error.stack : undefined;
  log.error("work.failed", { work: name, error: messageOf(error), ...defined({ stack }) });
}

type Disposer = () => void | Promise<void>;

export class Scope implements AsyncDisposable {
  readonly #log: Log;
  readonly #controller = new AbortController();
  readonly #disposers: Disposer[] = [];
  /** Made with the first: most scopes have none at most times, and a session has several. */
  #work: Set<Promise<void>> | undefined;
  #closing: Promise<void> | undefined;

  /** `parent`: when it aborts, this scope's signal aborts too; closing stays the owner's job. */
  constructor(log: Log, parent?: AbortSignal) {
    this.#log = log;
    if (!parent) return;
    const onAbort = () => this.#controller.abort(parent.reason);
    if (parent.aborted) onAbort();
    else {
      parent.addEventListener("abort", onAbort, { once: true });
      this.defer(() => parent.removeEventListener("abort", onAbort));
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Disposes `owned` when the scope closes. On a closed scope it is disposed at once, so nothing can leak in late. */
  own<T extends AsyncDisposable | Disposable>(owned: T): T {
    this.defer(async () => {
      if (Symbol.asyncDispose in owned) await owned[Symbol.asyncDispose]();
      else owned[Symbol.dispose]();
    });
    return owned;
  }

  defer(disposer: Disposer): void {
    if (this.#closing) this.#track(() => this.#dispose(disposer));
    else this.#disposers.push(disposer);
  }

  /**
   * Starts background work at once; the scope awaits it on close. Failures are logged: work reports what matters by
   * itself. On a closed scope the work still starts, with an aborted signal, so that its caller gets an answer.
   */
  run(name: string, work: (signal: AbortSignal) => Promise<void>): void {
    this.#track(async () => {
      try {
        await work(this.signal);
      } catch (error) {
        const fields = { work: name, error: messageOf(error) };
        if (!this.signal.aborted) this.#log.error("scope.work_failed", fields);
        else if (error !== this.signal.reason) this.#log.debug("scope.work_aborted", fields);
      }
    });
  }

  /**
   * Idempotent. Work is awaited last, so that work deaf to its signal cannot keep a child process alive: disposing is
   * often what ends it. Nothing inside the scope (work or disposer) may await this: it would wait for itself.
   */
  close(): Promise<void> {
    if (this.#closing) return this.#closing;
    // Set before anything runs: an abort listener or a disposer may close again, and must find it closing.
    this.#closing = Promise.resolve().then(() => this.#close());
    this.#controller.abort(new DOMException("scope closed", "AbortError"));
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (let disposer = this.#disposers.pop(); disposer; disposer = this.#disposers.pop())
      await this.#dispose(disposer);
    while (this.#work && this.#work.size > 0) await Promise.all(this.#work);
  }

  async #dispose(disposer: Disposer): Promise<void> {
    try {
      await disposer();
    } catch (error) {
      this.#log.error("scope.dispose_failed", { error: messageOf(error) });
    }
  }

  /** `task` never rejects. */
  #track(task: () => Promise<void>): void {
    const work = (this.#work ??= new Set());
    const running = task().finally(() => work.delete(running));
    work.add(running);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

// One listener per signal, however many wait for its abort: a turn's calls share a signal, and Node warns at the eleventh.

const bags = new WeakMap<AbortSignal, Bag<() => void>>();

/**
 * Add to it what is to run when the signal aborts, and delete it when that is over. The one listener behind it stays for
 * as long as the signal does. A signal that has aborted already runs nothing any more.
 */
export function abortListeners(signal: AbortSignal): Bag<() => void> {
  const known = bags.get(signal);
  if (known) return known;
  const listeners = new Bag<() => void>();
  bags.set(signal, listeners);
  signal.addEventListener("abort", () => runAll(listeners), { once: true });
  return listeners;
}

/** What a listener deletes before its turn does not run. What one throws is logged: thrown, it would end the process. */
function runAll(listeners: Bag<() => void>): void {
  while (listeners.size > 0) {
    for (const run of listeners) if (listeners.delete(run)) contained(sharedLog(), "abort listener", run);
  }
}
