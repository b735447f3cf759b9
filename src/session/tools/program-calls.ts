// The calls a program makes beside any turn, tied to their session: none outlives it, and none begins once it closes.
import { orAborted } from "../../base/async/deadline.js";
import { abortListeners } from "../../base/async/scope.js";
import type { World } from "../../base/ports/world.js";
import { text } from "../../base/text/content.js";
import { failed, notMade } from "../../tools/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { ProgramResult } from "./tools.js";

export const CANCELLED_CALL: ProgramResult = { outcome: { kind: "cancelled" }, forModel: [] };

export class ProgramCalls {
  readonly #open = new Map<AbortController, Promise<unknown>>();

  /** `work` hears of the caller's signal and of the session's end. */
  async run(
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<ProgramResult>,
  ): Promise<ProgramResult> {
    const call = new AbortController();
    const abort = () => call.abort(signal?.reason);
    if (signal?.aborted === true) abort();
    else if (signal) abortListeners(signal).add(abort);
    const running = work(call.signal);
    this.#open.set(call, running);
    try {
      return await running;
    } finally {
      this.#open.delete(call);
      if (signal) abortListeners(signal).delete(abort);
    }
  }

  /** Cancels all that run; resolves once they have ended, or have had their time. */
  async end(reason: unknown, world: Pick<World, "deadline">): Promise<void> {
    const ended = Promise.allSettled(this.#open.values());
    for (const call of this.#open.keys()) call.abort(reason);
    using patience = world.deadline(SESSION_LIMITS.programCallEndMs);
    await orAborted(ended, patience.signal).catch(() => undefined); // the session closes all the same
  }
}

/** Waits for what a call needs first; false when it was cancelled meanwhile. */
export async function unlessAborted(needed: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  try {
    await orAborted(needed, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return !signal.aborted;
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
