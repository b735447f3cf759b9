// Owned disposal and owned background work. Closing a scope aborts its work, awaits it, then disposes in reverse order.
import { messageOf } from "./errors.js";
import type { Log } from "./log.js";

type Disposer = () => void | Promise<void>;

export class Scope implements AsyncDisposable {
  readonly #log: Log;
  readonly #controller = new AbortController();
  readonly #disposers: Disposer[] = [];
  readonly #work = new Set<Promise<void>>();
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
    this.defer(() => (Symbol.asyncDispose in owned ? Promise.resolve(owned[Symbol.asyncDispose]()) : owned[Symbol.dispose]()));
    return owned;
  }

  defer(disposer: Disposer): void {
    if (this.#closing) this.run("late disposer", async () => disposer());
    else this.#disposers.push(disposer);
  }

  /** Starts background work that the scope awaits on close. Failures are logged: work reports what matters by itself. */
  run(name: string, work: (signal: AbortSignal) => Promise<void>): void {
    const running = work(this.signal)
      .catch((error: unknown) => {
        if (!this.signal.aborted) this.#log.error("scope.work_failed", { work: name, error: messageOf(error) });
      })
      .finally(() => this.#work.delete(running));
    this.#work.add(running);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#controller.abort(new DOMException("scope closed", "AbortError"));
    for (let dispose = this.#disposers.pop(); dispose; dispose = this.#disposers.pop()) {
      try {
        await dispose();
      } catch (error) {
        this.#log.error("scope.dispose_failed", { error: messageOf(error) });
      }
    }
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
