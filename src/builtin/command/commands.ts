// The commands of one session: those in the background by their ids, and all of them ended with the session.
import { abortListeners, Scope } from "../../base/async/scope.js";
import type { World } from "../../base/ports/world.js";
import { BUILTIN_LIMITS } from "../limits.js";
import type { CommandExit, RunningCommand } from "../ports.js";

/** A command in the background. */
export interface BackgroundCommand {
  readonly id: string;
  readonly line: string;
  readonly running: RunningCommand;
  /** Undefined while it runs. */
  exit: CommandExit | undefined;
  /** How far its output has been read. */
  seenChars: number;
}

export class Commands implements AsyncDisposable {
  readonly #scope: Scope;
  readonly #background = new Map<string, BackgroundCommand>();
  #count = 0;

  constructor(world: World) {
    this.#scope = new Scope(world.log);
  }

  /** Whether one more may go into the background. */
  get hasRoom(): boolean {
    return this.#alive().length < BUILTIN_LIMITS.commandsAtOnce;
  }

  get ids(): readonly string[] {
    return [...this.#background.keys()];
  }

  find(id: string): BackgroundCommand | undefined {
    return this.#background.get(id);
  }

  /** From now on it lives until it ends, is stopped, or the session closes. */
  keep(line: string, running: RunningCommand): BackgroundCommand {
    this.#count += 1;
    const command: BackgroundCommand = { id: `c${this.#count}`, line, running, exit: undefined, seenChars: 0 };
    this.#background.set(command.id, command);
    this.track(running, async (exit) => {
      command.exit = exit;
      await this.#forgetOldest();
    });
    return command;
  }

  /** It ends with the session at the latest. */
  track(running: RunningCommand, onExit: (exit: CommandExit) => Promise<void> = async () => {}): void {
    this.#scope.run("command", async (signal) => {
      const end = () => this.endSoon(running);
      if (signal.aborted) end();
      abortListeners(signal).add(end);
      const exit = await running.exited;
      abortListeners(signal).delete(end);
      await onExit(exit);
    });
  }

  /** Ends it without making anybody wait; closing the session does. */
  endSoon(running: RunningCommand): void {
    this.#scope.run("ending a command", async () => {
      await running.end();
      await running.exited;
      await running.release();
    });
  }

  #alive(): BackgroundCommand[] {
    return [...this.#background.values()].filter(({ exit }) => exit === undefined);
  }

  async #forgetOldest(): Promise<void> {
    const finished = [...this.#background.values()].filter(({ exit }) => exit !== undefined);
    for (const { id, running } of finished.slice(0, Math.max(0, finished.length - BUILTIN_LIMITS.commandsKept))) {
      this.#background.delete(id);
      await running.release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope.close();
    for (const { running } of this.#background.values()) await running.release();
    this.#background.clear();
  }
}
