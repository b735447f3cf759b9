// What goes to a child's stdin: the messages of one turn in few writes, and never more than the child takes.
import type { Writable } from "node:stream";
import { orAborted } from "../../../base/async/deadline.js";
import { TenonError } from "../../../base/errors.js";
import type { World } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import type { OutgoingMessage, RpcId } from "../json-rpc.js";

export interface OutputListener {
  /** The child does not read any more. Once. */
  onBroken(): void;
  /** A request that did not fit: the child has not read what came before. */
  onRefused(id: RpcId, error: TenonError): void;
}

/** So much goes out at once even in the middle of a turn: the server works on it while we write the rest. */
const PART_CHARS = 4_096;

export class StdioOutput {
  readonly #stdin: Writable;
  readonly #listener: OutputListener;
  /** Lines not written yet. */
  #text = "";
  #isScheduled = false;
  #mustDrain = false;
  #isOver = false;
  #onFlushed: () => void = () => {};
  /** One for all turns: this is the path of every call. */
  readonly #flushNow: () => void = () => this.flush();

  constructor(stdin: Writable, listener: OutputListener) {
    this.#stdin = stdin;
    this.#listener = listener;
    stdin.on("error", () => this.#break());
    stdin.on("close", () => this.#break());
    stdin.on("drain", () => {
      this.#mustDrain = false;
      this.flush();
    });
  }

  /** Whether nothing can be written any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  write(message: OutgoingMessage): void {
    if (this.#isOver) return;
    if (this.#mustDrain && this.#text.length > MCP_LIMITS.stdinBacklogBytes) {
      this.#refuse(message);
      return;
    }
    this.#text += `${JSON.stringify(message)}\n`;
    if (this.#text.length >= PART_CHARS) {
      this.flush();
      return;
    }
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(this.#flushNow);
  }

  /** Lets what is under way go out first, within a bound. Nothing is written after that. */
  async end(withinMs: number, world: World): Promise<void> {
    if (this.#isOver) return;
    this.flush();
    if (this.#text !== "") {
      using deadline = world.deadline(withinMs);
      const flushed = new Promise<void>((resolve) => {
        this.#onFlushed = resolve;
      });
      await orAborted(flushed, deadline.signal).catch(() => {});
    }
    this.#isOver = true;
  }

  /** What was written goes out now, as far as the child takes it, and not with the end of the turn. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#isOver || this.#mustDrain) return;
    const text = this.#text;
    this.#text = "";
    if (text !== "") this.#mustDrain = !this.#stdin.write(text);
    if (!this.#mustDrain) this.#onFlushed();
  }

  #refuse(message: OutgoingMessage): void {
    if (!("method" in message) || !("id" in message)) return;
    const { id } = message;
    const error = new TenonError("mcp.unavailable", "the server has stopped reading its input");
    queueMicrotask(() => this.#listener.onRefused(id, error));
  }

  #break(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#text = "";
    this.#onFlushed();
    this.#listener.onBroken();
  }
}
