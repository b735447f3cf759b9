// Commands on this machine: a process group each, its output kept within bounds, nothing of it left at the end.
import { StringDecoder } from "node:string_decoder";
import { orAborted } from "../base/async/deadline.js";
import { messageOf } from "../base/errors.js";
import { endTree } from "../base/io/process.js";
import { defined } from "../base/json/defined.js";
import type { Child, World } from "../base/ports/world.js";
import { BUILTIN_LIMITS } from "./limits.js";
import type { CommandExit, CommandOutput, CommandRequest, RunningCommand, Terminal } from "./ports.js";

/** `base` is the environment that every command gets, beside what its request sets. */
export function localTerminal(world: World, base: Readonly<Record<string, string>>): Terminal {
  return {
    run: async (request, onOutput) =>
      new LocalCommand(world, { ...request, env: { ...base, ...request.env } }, onOutput),
  };
}

class LocalCommand implements RunningCommand {
  readonly #world: World;
  readonly #child: Child;
  readonly #output = new OutputBuffer();
  readonly #onOutput: () => void;
  readonly exited: Promise<CommandExit>;
  #bytes = 0;
  #ending: Promise<void> | undefined;
  #cutOff: string | undefined;

  constructor(world: World, request: CommandRequest, onOutput: () => void) {
    this.#world = world;
    this.#onOutput = onOutput;
    const { command, args, cwd, env, isVerbatim } = request;
    this.#child = world.spawn({ command, args, cwd, env, ...defined({ isVerbatim: isVerbatim || undefined }) });
    this.#child.stdin.on("error", () => {}); // it may end before it hears that there is no input
    this.#child.stdin.end();
    const streams = Promise.all([this.#read(this.#child.stdout), this.#read(this.#child.stderr)]);
    this.exited = this.#finish(streams).catch((error: unknown) => ({ kind: "cut_off", reason: messageOf(error) }));
  }

  async output(sinceChar: number): Promise<CommandOutput> {
    return this.#output.since(sinceChar);
  }

  end(): Promise<void> {
    this.#ending ??= endTree(this.#child, this.#world, BUILTIN_LIMITS.commandGrace);
    return this.#ending;
  }

  async release(): Promise<void> {} // nothing is held but what this object holds

  async #finish(streams: Promise<unknown>): Promise<CommandExit> {
    const exit = await this.#child.exited;
    if (exit.kind === "not_started") return { kind: "not_started", reason: exit.error.message };
    // What it started in the background may hold the pipes for ever.
    await this.#drained(streams);
    await this.end();
    await this.#drained(streams);
    if (this.#cutOff !== undefined) return { kind: "cut_off", reason: this.#cutOff };
    return { kind: "exited", code: exit.code, signal: exit.signal };
  }

  async #drained(streams: Promise<unknown>): Promise<void> {
    using deadline = this.#world.deadline(BUILTIN_LIMITS.commandDrainMs);
    await orAborted(streams, deadline.signal).catch(() => {}); // then without the rest
  }

  /** Resolves at the end of the stream, however it ends. */
  #read(stream: Child["stdout"]): Promise<void> {
    const decoder = new StringDecoder("utf8");
    stream.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      this.#output.push(decoder.write(chunk));
      if (this.#bytes > BUILTIN_LIMITS.commandMaxBytes) this.#stopFlood();
      this.#onOutput();
    });
    return new Promise((resolve) => {
      const end = () => {
        this.#output.push(decoder.end());
        resolve();
      };
      stream.once("close", end);
      stream.on("error", () => {}); // `close` follows
    });
  }

  #stopFlood(): void {
    if (this.#cutOff !== undefined) return;
    this.#cutOff = `it printed more than ${BUILTIN_LIMITS.commandMaxBytes} bytes and was ended`;
    this.#child.signalGroup("SIGKILL");
  }
}

// The output of a command, however long: its start and its end are kept, and what lies between is counted.
export interface OutputBounds {
  readonly headChars: number;
  readonly tailChars: number;
}

export class OutputBuffer {
  readonly #bounds: OutputBounds;
  #head = "";
  #tail = "";
  #total = 0;

  constructor(bounds: OutputBounds = BUILTIN_LIMITS.commandOutput) {
    this.#bounds = bounds;
  }

  push(text: string): void {
    this.#total += text.length;
    const room = this.#bounds.headChars - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Cut now and then, not at every piece: each cut copies.
    if (this.#tail.length > 2 * this.#bounds.tailChars) this.#tail = this.#tail.slice(-this.#bounds.tailChars);
  }

  since(sinceChar: number): CommandOutput {
    const from = Math.min(sinceChar, this.#total);
    const tail = this.#tail.slice(-this.#bounds.tailChars);
    const tailStart = this.#total - tail.length;
    const headPart = this.#head.slice(from);
    const tailPart = tail.slice(Math.max(0, from - tailStart));
    const gap = tailStart - Math.max(from, this.#head.length);
    const middle = gap > 0 ? `\n[… ${gap} characters left out …]\n` : "";
    return { text: `${headPart}${middle}${tailPart}`, nextChar: this.#total };
  }
}
