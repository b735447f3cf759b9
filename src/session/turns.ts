// The turns of a session, one at a time: from what was typed to the end of its answer, each step journaled, then told.

import { TenonError, toTenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { type ContentBlock, plainText } from "../base/text/content.js";
import { NO_USAGE, type TurnEnd } from "../engine/index.js";
import { commandOf, type Invocation } from "./commands/index.js";
import { titleOf } from "./journal-start.js";
import type { SessionParts } from "./session-parts.js";
import { givenPrompts, openingPrompt } from "./system-prompt.js";
import { inTurnSpan } from "./turn-span.js";

export class SessionTurns {
  readonly #parts: SessionParts;
  readonly #date: string;
  /** Turns of before the session was opened, if it was taken up again. */
  readonly #earlier: number;
  #system: string | undefined;
  #count: number;
  #isTitled: boolean;
  #running: { readonly controller: AbortController; over: AbortSignal; readonly done: Promise<unknown> } | undefined;

  constructor(parts: SessionParts) {
    const { world, history, isTitled } = parts.options;
    this.#parts = parts;
    this.#date = new Date(world.now()).toISOString().slice(0, 10);
    this.#earlier = history?.restored.turnCount ?? 0;
    this.#count = this.#earlier;
    this.#isTitled = isTitled ?? this.#count > 0;
  }

  /** How many have begun. */
  get count(): number {
    return this.#count;
  }

  /** Whether the one that runs is being cancelled; undefined when none does. */
  get isCancelled(): boolean | undefined {
    return this.#running?.over.aborted;
  }

  /** The session has a title now: the first prompt gives it none. */
  titled(): void {
    this.#isTitled = true;
  }

  /** Rejects with a TenonError when one is running, or when the model fails. */
  async run(content: string | readonly ContentBlock[], signal?: AbortSignal): Promise<TurnEnd> {
    const { options, settings } = this.#parts;
    const { id, world } = options;
    if (this.#running) throw new TenonError("session.busy", `session ${id} is already running a turn`);
    const controller = new AbortController();
    const over = signal ? AbortSignal.any([controller.signal, signal]) : controller.signal;
    const blocks: readonly ContentBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const facts = { session: id, model: settings.model.id, turn: this.#count + 1 };
    const done = inTurnSpan(world, facts, () => this.#run(blocks, over));
    this.#running = { controller, over, done };
    try {
      return await done;
    } finally {
      this.#running = undefined;
    }
  }

  /** Stops the one that runs, whose prompt resolves with `cancelled`. Returns whether one did. */
  cancel(): boolean {
    this.#running?.controller.abort(new DOMException("cancelled by the person", "AbortError"));
    return this.#running !== undefined;
  }

  /** Stops the one that runs because the session ends. Resolves once it is over; whoever prompted hears how. */
  async end(reason: Error): Promise<void> {
    const running = this.#running;
    running?.controller.abort(reason);
    await running?.done.catch(() => undefined);
  }

  async #run(content: readonly ContentBlock[], signal: AbortSignal): Promise<TurnEnd> {
    const { journal, audience, configuration, gitWatch } = this.#parts;
    journal.assertWritten(); // what an earlier turn left unwritten comes first
    const number = ++this.#count;
    let hasEnd = false;
    const invocation = commandOf(plainText(content));
    journal.append(...(number === 1 ? [{ kind: "title", title: titleOf(content) } as const] : []), {
      kind: "prompt",
      turn: number,
      content,
      ...defined({ isCommand: invocation ? true : undefined }),
    });
    await audience.publish({ kind: "user", content });
    if (number === 1 && !this.#isTitled) await audience.publish({ kind: "title", title: titleOf(content) });
    try {
      journal.assertWritten();
      await gitWatch.report(signal);
      const end = invocation
        ? await this.#runCommand(invocation, number, signal)
        : await this.#answer(number, content, signal);
      journal.append({ kind: "end", turn: number, stopReason: end.stopReason });
      hasEnd = true;
      journal.sync();
      journal.assertWritten(); // whoever hears that the turn is over finds it after a crash
      await audience.publish({ kind: "turn_ended", turn: number, stopReason: end.stopReason });
      return end;
    } catch (thrown) {
      const error = toTenonError(thrown);
      if (!hasEnd) journal.append({ kind: "error", turn: number, code: error.code, message: error.message });
      await audience.publish({ kind: "turn_ended", turn: number, error });
      throw error;
    } finally {
      configuration?.turnEnds();
      journal.sync();
    }
  }

  async #answer(number: number, typed: readonly ContentBlock[], signal: AbortSignal): Promise<TurnEnd> {
    const parts = this.#parts;
    await this.#settle(number, signal);
    const expanded = await parts.expansion.expand(typed, signal);
    if (expanded.kind === "said") return await this.#say(expanded.text, signal);
    const { content } = expanded;
    await parts.tools.startPrompt(plainText(content), parts.ports, signal);
    // Fixed with the first prompt, so that providers can cache it.
    this.#system ??= await this.#systemPrompt();
    return await parts.conversation.answer(content, { number, system: this.#system }, signal);
  }

  async #say(text: string, signal: AbortSignal): Promise<TurnEnd> {
    if (text !== "") await this.#parts.conversation.say(text);
    return { stopReason: signal.aborted ? "cancelled" : "end_turn", usage: NO_USAGE };
  }

  /** Answered by Tenon: the model hears nothing of it. */
  async #runCommand({ command, words }: Invocation, number: number, signal: AbortSignal): Promise<TurnEnd> {
    const parts = this.#parts;
    const { configuration, servers, conversation, audience } = parts;
    if (this.#isFirstHere(number)) {
      await configuration?.opened;
      await servers.settled(signal);
    }
    const compact = () => conversation.compact({ number, system: this.#system ?? "" }, signal);
    const text = await command.run(words, {
      tools: parts.tools.controls,
      servers: () => parts.statuses,
      settled: () => servers.settled(signal),
      mcp: parts.serverSet.switches,
      permissions: parts.tools.permissions,
      logins: parts.logins,
      show: async (words) => await audience.publish({ kind: "turn", event: { kind: "text", text: words } }),
      settings: parts.settings,
      commands: parts.expansion.commands,
      usage: conversation.usage,
      compact,
      signal,
    });
    return await this.#say(text, signal);
  }

  /** The first turn since the session was opened, which may have had others before. */
  #isFirstHere(turn: number): boolean {
    return turn === this.#earlier + 1;
  }

  /** The first turn waits, within a bound, for the configuration and for servers still connecting; every turn may ask. */
  async #settle(number: number, signal: AbortSignal): Promise<void> {
    const { configuration, servers, logins } = this.#parts;
    if (this.#isFirstHere(number)) await configuration?.opened;
    await configuration?.retry();
    await configuration?.askForTrust(this.#parts.ports, signal);
    configuration?.turnStarts();
    if (this.#system === undefined) await servers.settled(signal);
    await logins.ask(signal);
  }

  #systemPrompt(): Promise<string> {
    const { options, promptValues, tools } = this.#parts;
    const given = givenPrompts(promptValues, options.systemPrompt);
    return openingPrompt({ ...options, date: this.#date, serverIndex: tools.serverIndex, given });
  }
}
