// One line of the person: a command of the chat, or a prompt that runs as a turn of the agent.
import type { Palette } from "../terminal/palette.js";
import type { Screen } from "../terminal/screen.js";
import { commandOf, runCommand } from "./commands.js";
import type { ElicitationPrompter } from "./elicitation.js";
import { type Interrupts, unlessAborted } from "./interrupts.js";
import { EXIT_CODES, exitCodeOf, type TurnOutcome, toFailure } from "./outcome.js";
import type { PermissionPrompter } from "./permission.js";
import type { ChatSession } from "./session.js";
import type { ChatView } from "./view.js";

export interface ConversationOptions {
  readonly session: ChatSession;
  readonly view: ChatView;
  readonly desk: PermissionPrompter;
  readonly elicitation: ElicitationPrompter;
  readonly interrupts: Interrupts;
  readonly screen: Screen;
  readonly palette: Palette;
}

export interface Submission {
  readonly exitCode: number;
  readonly shallQuit: boolean;
}

export class Conversation {
  readonly #options: ConversationOptions;

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  async submit(line: string): Promise<Submission> {
    const command = commandOf(line);
    if (command !== undefined) return await this.#command(command);
    const { outcome, wasInterrupted } = await this.#turn(line);
    this.#options.view.turnEnded(outcome);
    // An answer that was complete when Ctrl-C came is shown; who runs us is told of the interrupt all the same.
    return {
      exitCode: wasInterrupted ? EXIT_CODES.interrupted : exitCodeOf(outcome),
      shallQuit: outcome.kind === "abandoned",
    };
  }

  async #command(command: string): Promise<Submission> {
    const { session, view, screen, palette } = this.#options;
    try {
      const next = await runCommand(command, { screen, palette, status: () => session.status() });
      return { exitCode: EXIT_CODES.done, shallQuit: next === "quit" };
    } catch (error) {
      view.failed(toFailure(error));
      return { exitCode: EXIT_CODES.failed, shallQuit: false };
    }
  }

  async #turn(text: string): Promise<{ outcome: TurnOutcome; wasInterrupted: boolean }> {
    const { session, view, desk, elicitation, interrupts, screen, palette } = this.#options;
    const over = new AbortController();
    const cancelling: Promise<void>[] = [];
    const cancel = () => {
      over.abort();
      screen.line(palette.dim("Stopping. Ctrl-C again quits."));
      cancelling.push(session.cancel());
    };
    desk.beginTurn(over.signal);
    elicitation.beginTurn(over.signal);
    view.turnStarted();
    const outcome = await interrupts.during(cancel, () => this.#prompt(text));
    // A question left open is answered with "cancelled", so that the agent never waits for a person who has gone.
    over.abort();
    await Promise.allSettled(cancelling);
    return { outcome, wasInterrupted: cancelling.length > 0 };
  }

  async #prompt(text: string): Promise<TurnOutcome> {
    const { session, desk, interrupts } = this.#options;
    try {
      const stopReason = await unlessAborted(session.prompt(text), interrupts.quit);
      if (stopReason === undefined) return { kind: "abandoned" };
      return { kind: "stopped", stopReason, wasDenied: desk.wasDenied };
    } catch (error) {
      return { kind: "failed", failure: toFailure(error) };
    }
  }
}
