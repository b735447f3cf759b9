// The turns of a session, one at a time: each is journaled before its events are published.
import { TenonError, toTenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { World } from "../../base/ports/world.js";
import { type ContentBlock, plainText } from "../../base/text/content.js";
import type { TurnEnd } from "../../engine/index.js";
import { commandOf, type Invocation } from "../commands/index.js";
import type { EventStream } from "../events.js";
import { type Journal, titleOf } from "../journal/journal.js";
import { inTurnSpan } from "./spans.js";

/** One turn, as it is run. */
export interface TurnWork {
  /** Counts from 1 within the session. */
  readonly number: number;
  /** The first turn since the session was opened or loaded. */
  readonly isFirst: boolean;
  readonly content: readonly ContentBlock[];
  /** For a prompt that is a slash command: Tenon answers it, and the model does not see it. */
  readonly invocation: Invocation | undefined;
}

export interface TurnsOptions {
  readonly world: Pick<World, "telemetry">;
  readonly session: string;
  readonly journal: Journal;
  readonly events: EventStream;
  /** How many turns there were before the session was loaded. */
  readonly earlier: number;
  /** A person gave the session a title: its first prompt does not. */
  readonly isTitled: boolean;
  run(work: TurnWork, signal: AbortSignal): Promise<TurnEnd>;
  /** Called when a turn is over and its last event is published. */
  onEnd(): void;
}

export class SessionTurns {
  readonly #options: TurnsOptions;
  #count: number;
  #isTitled: boolean;
  #running: { readonly controller: AbortController; over: AbortSignal; readonly done: Promise<unknown> } | undefined;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#count = options.earlier;
    this.#isTitled = options.isTitled;
  }

  /** How many have begun. */
  get count(): number {
    return this.#count;
  }

  /** Whether the running turn is being cancelled; undefined when none runs. */
  get isCancelled(): boolean | undefined {
    return this.#running?.over.aborted;
  }

  /** The session has a title now: the first prompt gives it none. */
  titled(): void {
    this.#isTitled = true;
  }

  /** Rejects with a TenonError when a turn is running, or when the model fails. */
  async run(content: string | readonly ContentBlock[], model: string, signal?: AbortSignal): Promise<TurnEnd> {
    const { session, world } = this.#options;
    if (this.#running) throw new TenonError("session.busy", `session ${session} is already running a turn`);
    const controller = new AbortController();
    const over = signal ? AbortSignal.any([controller.signal, signal]) : controller.signal;
    const blocks: readonly ContentBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const facts = { session, model, turn: this.#count + 1 };
    const done = inTurnSpan(world, facts, () => this.#run(blocks, over));
    this.#running = { controller, over, done };
    try {
      return await done;
    } finally {
      this.#running = undefined;
    }
  }

  /** Stops the running turn, whose prompt resolves with `cancelled`. Returns whether one ran. */
  cancel(): boolean {
    this.#running?.controller.abort(new DOMException("cancelled by the person", "AbortError"));
    return this.#running !== undefined;
  }

  /** Stops the running turn because the session ends. Resolves once it is over. */
  async end(reason: Error): Promise<void> {
    const running = this.#running;
    running?.controller.abort(reason);
    await running?.done.catch(() => undefined); // the prompt rejects with it
  }

  async #run(content: readonly ContentBlock[], signal: AbortSignal): Promise<TurnEnd> {
    const { journal, events, earlier } = this.#options;
    journal.assertWritten(); // records that an earlier turn left unwritten come first
    const number = ++this.#count;
    let hasEnd = false;
    const invocation = commandOf(plainText(content));
    const title = { kind: "title", title: titleOf(content) } as const;
    const prompt = { kind: "prompt", turn: number, content, ...defined({ isCommand: invocation && true }) } as const;
    journal.append(...(number === 1 ? [title] : []), prompt);
    await events.publish({ kind: "user", content });
    if (number === 1 && !this.#isTitled) await events.publish(title);
    try {
      journal.assertWritten();
      const end = await this.#options.run({ number, isFirst: number === earlier + 1, content, invocation }, signal);
      journal.append({ kind: "end", turn: number, stopReason: end.stopReason });
      hasEnd = true;
      journal.sync();
      journal.assertWritten(); // a turn that is reported as over survives a crash
      await events.publish({ kind: "turn_ended", turn: number, stopReason: end.stopReason });
      return end;
    } catch (thrown) {
      const error = toTenonError(thrown);
      if (!hasEnd) journal.append({ kind: "error", turn: number, code: error.code, message: error.message });
      await events.publish({ kind: "turn_ended", turn: number, error });
      throw error;
    } finally {
      this.#options.onEnd();
      journal.sync();
    }
  }
}
