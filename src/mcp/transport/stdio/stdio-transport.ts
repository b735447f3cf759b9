// The transport to a child process: JSON lines over its pipes, an honest end, and nothing left of it after `close`.
import { orAborted } from "../../../base/async/deadline.js";
import { handled } from "../../../base/async/scope.js";
import { TenonError } from "../../../base/errors.js";
import { type EndGrace, endTree } from "../../../base/io/process.js";
import type { JsonValue } from "../../../base/json/json.js";
import { LIMITS } from "../../../base/limits.js";
import type { Child, ChildExit, SpawnRequest, World } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import { emptyAnswerError, emptyAnswerId, type OutgoingMessage, type RpcId, readMessage } from "../json-rpc.js";
import { answeredId } from "../large/message-id.js";
import { MessageLines } from "../large/message-lines.js";
import { SpillDirectory } from "../large/spill-directory.js";
import type { Agreement, MessageEnds, Transport, TransportListener } from "../transport.js";
import { explainExit } from "./launch.js";
import { StdioOutput } from "./stdio-output.js";
import { Tail } from "./tail.js";

export interface StdioTransportOptions {
  /** Where results too long for memory are kept. Given one, the transport leaves it to its owner to dispose of. */
  readonly spill?: SpillDirectory;
  /** Told the process that was started; undefined when it was not. */
  readonly onSpawned?: (id: number | undefined) => void;
  /** Gets all of its stderr, as it comes. */
  readonly onStderr?: (chunk: Uint8Array) => void;
}

/** A pipe that is being flooded gives large chunks; asking the clock for each small one would cost more than it tells. */
const FLOOD_CHUNK_BYTES = 16_384;

export class StdioTransport implements Transport {
  readonly #request: SpawnRequest;
  readonly #world: World;
  readonly #child: Child;
  readonly #output: StdioOutput;
  readonly #stderr = new Tail(LIMITS.stderrTailBytes);
  readonly #spill: SpillDirectory;
  readonly #ownsSpill: boolean;
  /** Requests of the server we have not answered. */
  readonly #asked = new Set<RpcId>();
  #onAllAnswered: () => void = () => {};
  #listener: TransportListener | undefined;
  #lines: MessageLines | undefined;
  #initializeId: RpcId | undefined;
  #initializedMs = Number.NEGATIVE_INFINITY;
  #isAgreed = false;
  /** Then servers ask nothing this way, and one that does all the same gets no answer. */
  #isModern = false;
  #isBreaking = false;
  #closing: Promise<void> | undefined;
  #isFull = false;
  #busyMs = 0;
  #lastEndMs = 0;

  /** Spawns at once, so that the server starts up while the rest of Tenon is still loading. */
  constructor(request: SpawnRequest, world: World, options: StdioTransportOptions = {}) {
    this.#request = request;
    this.#world = world;
    this.#spill = options.spill ?? new SpillDirectory(world);
    this.#ownsSpill = options.spill === undefined;
    this.#child = world.spawn(request);
    options.onSpawned?.(this.#child.pid);
    this.#output = new StdioOutput(this.#child.stdin, {
      onBroken: () => this.#breakOff(),
      onRefused: (id, error) => this.#listener?.onRequestLost(id, { error, wasSent: false }),
    });
    this.#child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr.push(chunk);
      options.onStderr?.(chunk);
    });
    this.#child.stderr.on("error", () => {});
  }

  get stderrTail(): string {
    return this.#stderr.text;
  }

  start(listener: TransportListener): void {
    this.#listener = listener;
    const lines = new MessageLines(
      { world: this.#world, folder: () => this.#spill.folder },
      {
        onValue: (value) => this.#receive(value),
        onWhole: (ends) => this.#peek(ends),
        onLost: (id, error) => this.#listener?.onRequestLost(id, { error, wasSent: true }),
        onNoise: (what) => this.#listener?.onNoise(what),
        onFull: (isFull) => this.#waitForRoom(isFull),
      },
    );
    this.#lines = lines;
    const { stdout } = this.#child;
    stdout.on("data", (chunk: Buffer) => this.#take(lines, chunk));
    stdout.on("end", () => this.#breakOff());
    stdout.on("error", () => this.#breakOff());
    handled(
      this.#child.exited.finally(() => this.#breakOff()),
      this.#world.log,
      "end of a server's process",
    );
    if (this.#output.isOver) this.#breakOff(); // its stdin broke before anybody listened
  }

  send(message: OutgoingMessage): void {
    if ("method" in message) {
      if ("id" in message && message.method === "initialize") this.#initializeId = message.id;
      if (message.method === "notifications/initialized") this.#initializedMs = this.#world.monotonicMs();
      this.#output.write(message);
      return;
    }
    this.#output.write(message);
    if (this.#asked.delete(message.id) && this.#asked.size === 0) this.#onAllAnswered();
  }

  /** By the protocol `initialize` is never cancelled; ending the process says enough. */
  cancel(id: RpcId, reason: string): void {
    if (id === this.#initializeId) return;
    this.#output.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason } });
  }

  agreed({ era }: Agreement): void {
    this.#isAgreed = true;
    this.#isModern = era === "modern";
    if (this.#isModern) this.#asked.clear();
  }

  close(grace: EndGrace): Promise<void> {
    this.#closing ??= this.#close(grace);
    return this.#closing;
  }

  async #close(grace: EndGrace): Promise<void> {
    await this.#answerAll(Math.min(MCP_LIMITS.drainMs, grace.stdinMs));
    await this.#output.end(Math.min(MCP_LIMITS.drainMs, grace.stdinMs), this.#world);
    await endTree(this.#child, this.#world, { ...grace, stdinMs: this.#patienceMs(grace.stdinMs) });
    this.#listener = undefined;
    this.#lines?.close();
    if (this.#ownsSpill) await this.#spill.dispose();
  }

  /**
   * Servers of the SDKs ask for our roots a moment after they were initialized. Closed in between, they wait for an answer
   * that cannot come any more and do not notice the end of their input; having done nothing yet, they lose nothing.
   */
  #patienceMs(stdinMs: number): number {
    const { afterMs, stdinMs: youngMs } = MCP_LIMITS.youngClose;
    const isYoung = this.#world.monotonicMs() - this.#initializedMs < afterMs;
    return isYoung ? Math.min(stdinMs, youngMs) : stdinMs;
  }

  /** Some servers do not see the end of their input while they wait for an answer of ours (the SDKs' `roots/list`). */
  async #answerAll(withinMs: number): Promise<void> {
    if (this.#asked.size === 0 || this.#isBreaking) return;
    const answered = new Promise<void>((resolve) => {
      this.#onAllAnswered = resolve;
    });
    await this.#within(withinMs, answered);
  }

  /** One server that floods us gets its share of a turn, and the others theirs. */
  #take(lines: MessageLines, chunk: Buffer): void {
    if (chunk.length < FLOOD_CHUNK_BYTES) {
      lines.push(chunk);
      return;
    }
    const startMs = this.#world.monotonicMs();
    if (startMs - this.#lastEndMs > 1) this.#busyMs = 0;
    lines.push(chunk);
    this.#lastEndMs = this.#world.monotonicMs();
    this.#busyMs += this.#lastEndMs - startMs;
    if (this.#busyMs <= MCP_LIMITS.serverTurnMs) return;
    this.#busyMs = 0;
    this.#child.stdout.pause();
    this.#world.after(0, () => this.#waitForRoom(this.#isFull));
  }

  #waitForRoom(isFull: boolean): void {
    this.#isFull = isFull;
    if (isFull) this.#child.stdout.pause();
    else this.#child.stdout.resume();
  }

  /** Reading a long answer takes a while, in which the server could already work on what its receiver asks next. */
  #peek(ends: MessageEnds): void {
    const id = answeredId(ends);
    if (id === undefined || !this.#listener?.onPeek) return;
    this.#listener.onPeek(id, ends);
    this.#output.flush();
  }

  /** 2025-03-26 allows several messages in one array. */
  #receive(value: JsonValue): void {
    if (Array.isArray(value)) for (const item of value) this.#deliver(item);
    else this.#deliver(value);
  }

  #deliver(value: unknown): void {
    const message = readMessage(value);
    if (!message) {
      this.#strange(value);
      return;
    }
    if (message.kind === "request" && !this.#isModern) this.#asked.add(message.id);
    else if (message.kind === "notification" && message.method === "notifications/cancelled")
      this.#forget(message.params);
    this.#listener?.onMessage(message);
  }

  #strange(value: unknown): void {
    const id = emptyAnswerId(value);
    if (id === undefined) this.#listener?.onNoise("no JSON-RPC message");
    else this.#listener?.onRequestLost(id, { error: emptyAnswerError(), wasSent: true });
  }

  #forget(params: { readonly requestId?: JsonValue }): void {
    const { requestId } = params;
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    if (this.#asked.delete(requestId) && this.#asked.size === 0) this.#onAllAnswered();
  }

  /** The process ended, or closed a pipe we need. What it said before that still counts, and tells why. */
  #breakOff(): void {
    if (this.#isBreaking || !this.#listener) return;
    this.#isBreaking = true;
    this.#onAllAnswered();
    const announced = this.#lastWords()
      .catch(() => undefined)
      .then((exit) => this.#announce(exit));
    handled(announced, this.#world.log, "report the end of a server");
  }

  #announce(exit: ChildExit | undefined): void {
    if (this.#closing) return;
    const error = explainExit(exit, { request: this.#request, world: this.#world, stderrTail: this.stderrTail });
    const code = this.#isAgreed && error.code === "mcp.connect_failed" ? "mcp.connection_lost" : error.code;
    this.#listener?.onClosed(code === error.code ? error : new TenonError(code, error.message));
  }

  /** Waits, within a bound, for the exit and the ends of its streams: the pipe often breaks before the cause is known. */
  async #lastWords(): Promise<ChildExit | undefined> {
    const { stdout, stderr, exited, pid } = this.#child;
    if (pid === undefined) return await exited;
    if (!this.#isFull) stdout.resume();
    // A grandchild may hold the pipes open; a long message on its way through a thread is worth more patience.
    const isBusy = this.#lines?.isBusy === true;
    await this.#within(isBusy ? MCP_LIMITS.lastMessageMs : MCP_LIMITS.lastWordsMs, ended(stdout));
    await this.#within(MCP_LIMITS.lastMessageMs, this.#lines?.end() ?? Promise.resolve());
    await this.#within(MCP_LIMITS.lastWordsMs, ended(stderr));
    return await this.#within(MCP_LIMITS.lastWordsMs, exited);
  }

  async #within<T>(timeoutMs: number, promise: Promise<T>): Promise<T | undefined> {
    using deadline = this.#world.deadline(timeoutMs);
    return await orAborted(promise, deadline.signal).catch(() => undefined);
  }
}

function ended(stream: Child["stdout"]): Promise<void> {
  if (stream.readableEnded || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once("end", resolve);
    stream.once("close", resolve);
  });
}
