// The calls a program makes beside any turn, tied to their session: none outlives it, and none begins once it closes.
import { Bag } from "../../base/async/bag.js";
import { orAborted } from "../../base/async/deadline.js";
import { abortListeners } from "../../base/async/scope.js";
import type { World } from "../../base/ports/world.js";
import { text } from "../../base/text/content.js";
import { failed, notMade } from "../../tools/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { ProgramResult } from "./tools.js";

const CANCELLED_CALL: ProgramResult = { outcome: { kind: "cancelled" }, forModel: [] };

export interface OpenCall {
  /** Aborts with the caller's signal, and when the session ends. */
  readonly signal: AbortSignal;
  /** To be called once, whatever became of the call. */
  readonly end: () => void;
}

export class ProgramCalls {
  /** Of calls without a signal of their own, which are most: all of them share one. Made with the first. */
  #ending: AbortController | undefined;
  /** Of calls that brought a signal. */
  readonly #controllers = new Bag<AbortController>();
  #open = 0;
  #onAllEnded: () => void = () => {};

  begin(given: AbortSignal | undefined): OpenCall {
    this.#open += 1;
    if (given) return this.#beginWith(given);
    this.#ending ??= new AbortController();
    return { signal: this.#ending.signal, end: this.#ended };
  }

  #beginWith(given: AbortSignal): OpenCall {
    const call = new AbortController();
    const abort = () => call.abort(given.reason);
    this.#controllers.add(call);
    if (given.aborted) abort();
    else abortListeners(given).add(abort);
    return {
      signal: call.signal,
      end: () => {
        abortListeners(given).delete(abort);
        this.#controllers.delete(call);
        this.#ended();
      },
    };
  }

  readonly #ended = (): void => {
    this.#open -= 1;
    if (this.#open === 0) this.#onAllEnded();
  };

  /** Cancels all that run; resolves once they have ended, or have had their time. */
  async end(reason: unknown, world: Pick<World, "deadline">): Promise<void> {
    if (this.#open === 0) return;
    const ended = new Promise<void>((resolve) => {
      this.#onAllEnded = resolve;
    });
    this.#ending?.abort(reason);
    for (const call of this.#controllers) call.abort(reason);
    using patience = world.deadline(SESSION_LIMITS.programCallEndMs);
    await orAborted(ended, patience.signal).catch(() => undefined); // the session closes all the same
  }
}

/** Waits for what a call needs first; false when it was cancelled meanwhile. Many may wait by one signal, so none listens to it alone. */
async function unlessAborted(needed: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  const listeners = abortListeners(signal);
  let stop: () => void = () => {};
  const aborted = new Promise<void>((resolve) => {
    stop = resolve;
    if (signal.aborted) resolve();
    else listeners.add(stop);
  });
  try {
    await Promise.race([needed, aborted]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    listeners.delete(stop);
  }
  return !signal.aborted;
}

/** The call once what it needs is there; it is ended here where that does not come. */
export async function callWhen<T>(
  needed: Promise<unknown>,
  open: OpenCall,
  { run, read }: { readonly run: () => Promise<T>; readonly read: (result: ProgramResult) => T },
): Promise<T> {
  let isReady = false;
  try {
    isReady = await unlessAborted(needed, open.signal);
  } finally {
    if (!isReady) open.end();
  }
  return isReady ? await run() : read(CANCELLED_CALL);
}

/** Undefined for what JSON does not have, such as a bigint or an object that refers to itself. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

export function notJson(name: string): ProgramResult {
  const words = notMade(name, "its arguments cannot be written as JSON");
  return { outcome: failed(words, "tool.invalid_arguments"), forModel: [text(words)] };
}
