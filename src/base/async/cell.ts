// An observable value: read it, set it, subscribe to changes.

import { sharedLog } from "../ports/world.js";
import { abortListeners, contained } from "./scope.js";

export interface ReadonlyCell<T> {
  readonly value: T;
  /** Calls `listener` after each change, not for the current value; returns the way to stop. */
  subscribe(listener: (value: T) => void): () => void;
  /** Resolves with the first value (the current one included) that passes. Rejects when the signal aborts. */
  until(test: (value: T) => boolean, signal: AbortSignal): Promise<T>;
}

/** An object, not the function itself: one function may be subscribed twice and stopped once. */
interface Subscription<T> {
  readonly listener: (value: T) => void;
}

export class Cell<T> implements ReadonlyCell<T> {
  #value: T;
  /** Made with the first: a session has several cells that nobody listens to. */
  #subscriptions: Set<Subscription<T>> | undefined;
  readonly #changes: { readonly value: T; readonly subscriptions: readonly Subscription<T>[] }[] = [];
  #isTelling = false;

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  /**
   * Setting an identical value is no change. When a listener sets the cell, the others are called with that change after the one
   * in progress, so that all see the same order. An error of a listener is logged and does not reach the setter.
   */
  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    if (!this.#subscriptions?.size) return;
    this.#changes.push({ value, subscriptions: [...this.#subscriptions] });
    if (this.#isTelling) return;
    this.#isTelling = true;
    for (let change = this.#changes.shift(); change; change = this.#changes.shift()) {
      const { value: told, subscriptions } = change;
      for (const subscription of subscriptions) {
        if (!this.#subscriptions.has(subscription)) continue; // stopped by a listener before it
        contained(sharedLog(), "listener of a state cell", () => subscription.listener(told));
      }
    }
    this.#isTelling = false;
  }

  subscribe(listener: (value: T) => void): () => void {
    const subscription: Subscription<T> = { listener };
    const subscriptions = (this.#subscriptions ??= new Set());
    subscriptions.add(subscription);
    return () => {
      subscriptions.delete(subscription);
    };
  }

  async until(test: (value: T) => boolean, signal: AbortSignal): Promise<T> {
    if (test(this.#value)) return this.#value;
    signal.throwIfAborted();
    const listeners = abortListeners(signal);
    return await new Promise<T>((resolve, reject) => {
      const leave = () => {
        stop();
        listeners.delete(onAbort);
      };
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      const stop = this.subscribe((value) => {
        try {
          if (!test(value)) return;
          resolve(value);
        } catch (error) {
          reject(error);
        }
        leave();
      });
      listeners.add(onAbort);
    });
  }
}

/** What `map` makes of another cell's value; computed once per value of it. */
export function mappedCell<T, U>(source: ReadonlyCell<T>, map: (value: T) => U): ReadonlyCell<U> {
  let last: { readonly from: T; readonly to: U } | undefined;
  const mapped = (from: T): U => {
    if (!last || !Object.is(last.from, from)) last = { from, to: map(from) };
    return last.to;
  };
  return {
    get value() {
      return mapped(source.value);
    },
    subscribe: (listener) => source.subscribe((value) => listener(mapped(value))),
    until: async (test, signal) => mapped(await source.until((value) => test(mapped(value)), signal)),
  };
}
