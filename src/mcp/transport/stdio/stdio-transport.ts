// The transport to a child process: JSON lines over its pipes. After `close` nothing of the process is left.
import type { Writable } from "node:stream";
import { orAborted } from "../../../base/async/deadline.js";
import { handled } from "../../../base/async/scope.js";
import { TenonError } from "../../../base/errors.js";
import { type EndGrace, endTree } from "../../../base/io/process.js";
import type { JsonValue } from "../../../base/json/json.js";
import { LIMITS } from "../../../base/limits.js";
import type { Child, ChildExit, SpawnRequest, World } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import { answeredId, MessageLines } from "../large/message-lines.js";
import type { SpillDirectory } from "../large/spilled.js";
import type {
  Agreement,
  MessageEnds,
  OutgoingMessage,
  RpcId,
  SendHint,
  Transport,
  TransportListener,
} from "../transport.js";
import { emptyAnswerError, emptyAnswerId, readMessage } from "../transport.js";
import { explainExit } from "./launch.js";
import { Tail } from "./short-run.js";

export interface StdioTransportOptions {
  /** For results too long for memory. Its owner disposes of it. */
  readonly spill: SpillDirectory;
  /** Called with the id of the process; undefined when none was started. */
  readonly onSpawned?: (id: number | undefined) => void;
  /** Gets all of its stderr, as it comes. */
  readonly onStderr?: (chunk: Uint8Array) => void;
}

/** A flooded pipe gives large chunks; reading the clock for each small one would cost more than it tells. */
const FLOOD_CHUNK_BYTES = 16_384;

export class StdioTransport implements Transport {
  readonly #request: SpawnRequest;
  readonly #world: World;
  readonly #child: Child;
  readonly #stdin: StdinWriter;
  readonly #stderr = new Tail(LIMITS.stderrTailBytes);
  readonly #spill: SpillDirectory;
  /** Requests of the server that we have not answered. */
  readonly #unanswered = new Set<RpcId>();
  #onAllAnswered: () => void = () => {};
  #listener: TransportListener | undefined;
  #lines: MessageLines | undefined;
  #initialize: { id: RpcId | undefined; doneMs: number } = { id: undefined, doneMs: Number.NEGATIVE_INFINITY };
  /** In the modern era servers send no requests, and one that does all the same gets no answer. */
  #era: Agreement["era"] | undefined;
  /** Reading stdout: whether it is paused, and the time spent on it without a break. */
  #reading: { isFull: boolean; busyMs: number; lastEndMs: number } = { isFull: false, busyMs: 0, lastEndMs: 0 };
  #hasEnded = false;
  #closing: Promise<void> | undefined;

  /** Spawns at once, so that the server starts up while the rest of Tenon is still loading. */
  constructor(request: SpawnRequest, world: World, options: StdioTransportOptions) {
    this.#request = request;
    this.#world = world;
    this.#spill = options.spill;
    this.#child = world.spawn(request);
    options.onSpawned?.(this.#child.pid);
    this.#stdin = new StdinWriter(this.#child.stdin, {
      onBroken: () => this.#end(),
      onRefused: (id, error) => this.#listener?.onRequestLost(id, { error, wasSent: false }),
      onUnsent: (id) => this.#loseUnsent(id),
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
    const { stdout, exited } = this.#child;
    stdout.on("data", (chunk: Buffer) => this.#take(lines, chunk));
    stdout.on("end", () => this.#end());
    stdout.on("error", () => this.#end());
    const ended = exited.finally(() => this.#end());
    handled(ended, this.#world.log, "end of a server's process");
    if (this.#stdin.isOver) this.#end(); // it broke before `start`
  }

  send(message: OutgoingMessage, _hint?: SendHint, isLone?: boolean): void {
    if (this.#hasEnded && "method" in message && "id" in message) {
      const { id } = message;
      queueMicrotask(() => this.#loseUnsent(id));
    } else this.#stdin.write(message, isLone);
    if (!("method" in message)) this.#settled(message.id);
    else if (message.method === "notifications/initialized") this.#initialize.doneMs = this.#world.monotonicMs();
    else if (message.method === "initialize" && "id" in message) this.#initialize.id = message.id;
  }

  /** Of a call: it may be made again. Before an era is agreed on, how a server ends tells which one it speaks. */
  #loseUnsent(id: RpcId): void {
    if (this.#era === undefined) return;
    const error = new TenonError("mcp.connection_lost", "the server ended before it got the request");
    this.#listener?.onRequestLost(id, { error, wasSent: false });
  }

  /** By the protocol `initialize` is never cancelled; the end of the process says enough. */
  cancel(id: RpcId, reason: string): void {
    if (id === this.#initialize.id) return;
    this.#stdin.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason } });
  }

  agreed({ era }: Agreement): void {
    this.#era = era;
    if (era === "modern") this.#unanswered.clear();
  }

  close(grace: EndGrace): Promise<void> {
    this.#closing ??= this.#close(grace);
    return this.#closing;
  }

  async #close(grace: EndGrace): Promise<void> {
    const drainMs = Math.min(MCP_LIMITS.drainMs, grace.stdinMs);
    // Some servers do not see the end of their input while they wait for an answer of ours (the SDKs' `roots/list`).
    if (this.#unanswered.size > 0 && !this.#hasEnded) {
      const answered = new Promise<void>((resolve) => {
        this.#onAllAnswered = resolve;
      });
      await this.#within(drainMs, answered);
    }
    await this.#stdin.end(drainMs, this.#world);
    await endTree(this.#child, this.#world, { ...grace, stdinMs: this.#patienceMs(grace.stdinMs) });
    this.#listener = undefined;
    this.#lines?.close();
  }

  /**
   * Servers of the SDKs ask for our roots a moment after they were initialized. Closed in between, they wait for an answer
   * that cannot come any more and do not notice the end of their input; having done nothing yet, they lose nothing.
   */
  #patienceMs(stdinMs: number): number {
    const { afterMs, stdinMs: youngMs } = MCP_LIMITS.youngClose;
    const isYoung = this.#world.monotonicMs() - this.#initialize.doneMs < afterMs;
    return isYoung ? Math.min(stdinMs, youngMs) : stdinMs;
  }

  /** A server that floods us gets its share of a turn of the event loop, so that others get theirs. */
  #take(lines: MessageLines, chunk: Buffer): void {
    if (chunk.length < FLOOD_CHUNK_BYTES) return lines.push(chunk);
    const reading = this.#reading;
    const startMs = this.#world.monotonicMs();
    if (startMs - reading.lastEndMs > 1) reading.busyMs = 0;
    lines.push(chunk);
    reading.lastEndMs = this.#world.monotonicMs();
    reading.busyMs += reading.lastEndMs - startMs;
    if (reading.busyMs <= MCP_LIMITS.serverTurnMs) return;
    reading.busyMs = 0;
    this.#child.stdout.pause();
    this.#world.after(0, () => this.#waitForRoom(reading.isFull));
  }

  #waitForRoom(isFull: boolean): void {
    this.#reading.isFull = isFull;
    if (isFull) this.#child.stdout.pause();
    else this.#child.stdout.resume();
  }

  /** Parsing a long response takes a while, in which the server can already work on the next request. */
  #peek(ends: MessageEnds): void {
    const id = answeredId(ends);
    if (id === undefined || !this.#listener?.onPeek) return;
    this.#listener.onPeek(id, ends);
    this.#stdin.flush();
  }

  /** 2025-03-26 allows several messages in one array. */
  #receive(value: JsonValue): void {
    if (Array.isArray(value)) for (const item of value) this.#deliver(item);
    else this.#deliver(value);
  }

  #deliver(value: JsonValue): void {
    const message = readMessage(value);
    if (message) {
      if (message.kind === "request" && this.#era !== "modern") this.#unanswered.add(message.id);
      else if (message.kind === "notification" && message.method === "notifications/cancelled")
        this.#settled(message.params["requestId"]);
      this.#listener?.onMessage(message);
      return;
    }
    const id = emptyAnswerId(value);
    if (id === undefined) this.#listener?.onNoise("no JSON-RPC message");
    else this.#listener?.onRequestLost(id, { error: emptyAnswerError(), wasSent: true });
  }

  /** A request of the server was answered, or the server took it back. */
  #settled(id: JsonValue | undefined): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    if (this.#unanswered.delete(id) && this.#unanswered.size === 0) this.#onAllAnswered();
  }

  /** The process ended, or closed a pipe we need. Its output before that still counts, and explains the end. */
  #end(): void {
    if (this.#hasEnded || !this.#listener) return;
    this.#hasEnded = true;
    this.#onAllAnswered();
    const reported = this.#drain()
      .catch(() => undefined)
      .then((exit) => this.#report(exit));
    handled(reported, this.#world.log, "report the end of a server");
  }

  #report(exit: ChildExit | undefined): void {
    if (this.#closing) return;
    const error = explainExit(exit, { request: this.#request, world: this.#world, stderrTail: this.stderrTail });
    const isLost = this.#era !== undefined && error.code === "mcp.connect_failed";
    this.#listener?.onClosed(isLost ? new TenonError("mcp.connection_lost", error.message) : error);
  }

  /** Waits, within a bound, for the exit and the ends of its streams: the pipe often breaks before the cause is known. */
  async #drain(): Promise<ChildExit | undefined> {
    const { stdout, stderr, exited, pid } = this.#child;
    if (pid === undefined) return await exited;
    if (!this.#reading.isFull) stdout.resume();
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

interface StdinListener {
  /** The child does not read any more. Once. */
  onBroken(): void;
  /** A request that did not fit: the child has not read the requests before it. */
  onRefused(id: RpcId, error: TenonError): void;
  /** A request that the child cannot have got: writing it failed. */
  onUnsent(id: RpcId): void;
}

/** So much is written at once even in the middle of a turn: the server works on it while we write the rest. */
const PART_CHARS = 4_096;

/** A write up to this is taken as a whole or not at all. */
const WHOLE_WRITE_BYTES = 4_096;

/** Writes the messages of one turn in few writes, and never more than the child takes. */
class StdinWriter {
  readonly #stdin: Writable;
  readonly #listener: StdinListener;
  /** Lines not written yet. */
  #text = "";
  /** The requests among them. */
  #requests: RpcId[] | undefined;
  /** The last line, where that is a request: of a write that fails, the server cannot have got it whole. */
  #lastRequest: RpcId | undefined;
  /** Of the last request. */
  #method = { name: "", json: '""' };
  #isScheduled = false;
  #mustDrain = false;
  isOver = false;
  #onFlushed: () => void = () => {};
  /** One function for all turns: every call comes through here. */
  readonly #flushNow: () => void = () => this.flush();

  constructor(stdin: Writable, listener: StdinListener) {
    this.#stdin = stdin;
    this.#listener = listener;
    stdin.on("error", () => this.#break());
    stdin.on("close", () => this.#break());
    stdin.on("drain", () => {
      this.#mustDrain = false;
      this.flush();
    });
  }

  write(message: OutgoingMessage, isLone = false): void {
    if (this.isOver) return;
    if (this.#mustDrain && this.#text.length > MCP_LIMITS.stdinBacklogBytes) return this.#refuse(message);
    this.#text += this.#lineOf(message);
    this.#lastRequest = "method" in message && "id" in message ? message.id : undefined;
    if (this.#lastRequest !== undefined) {
      if (this.#requests) this.#requests.push(this.#lastRequest);
      else this.#requests = [this.#lastRequest];
    }
    if (isLone || this.#text.length >= PART_CHARS) return this.flush();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(this.#flushNow);
  }

  /** Requests are written around their parameters: as one object each would take a third longer. */
  #lineOf(message: OutgoingMessage): string {
    if (!("method" in message && "id" in message && message.params)) return `${JSON.stringify(message)}\n`;
    const { id, method, params } = message;
    if (method !== this.#method.name) this.#method = { name: method, json: JSON.stringify(method) };
    const written = typeof id === "number" ? id : JSON.stringify(id);
    return `{"jsonrpc":"2.0","id":${written},"method":${this.#method.json},"params":${JSON.stringify(params)}}\n`;
  }

  /** Writes what is left, within a bound. Nothing is written after that. */
  async end(withinMs: number, world: World): Promise<void> {
    if (this.isOver) return;
    this.flush();
    if (this.#text !== "") {
      using deadline = world.deadline(withinMs);
      const flushed = new Promise<void>((resolve) => {
        this.#onFlushed = resolve;
      });
      await orAborted(flushed, deadline.signal).catch(() => {});
    }
    this.isOver = true;
  }

  /** Writes now, as far as the child takes it, instead of at the end of the turn. */
  flush(): void {
    this.#isScheduled = false;
    if (this.isOver || this.#mustDrain) return;
    const text = this.#text;
    this.#text = "";
    if (text !== "") this.#mustDrain = !this.#write(text);
    if (!this.#mustDrain) this.#onFlushed();
  }

  #write(text: string): boolean {
    const requests = this.#requests;
    const last = this.#lastRequest;
    if (!requests) return this.#stdin.write(text);
    this.#requests = undefined;
    return this.#stdin.write(text, (error) => {
      if (!error) return;
      // Of a longer one the child may have got, and run, all but the last line.
      const isWhole = Buffer.byteLength(text) <= WHOLE_WRITE_BYTES;
      for (const id of requests) if (isWhole || id === last) this.#listener.onUnsent(id);
    });
  }

  #refuse(message: OutgoingMessage): void {
    if (!("method" in message) || !("id" in message)) return;
    const { id } = message;
    const error = new TenonError("mcp.unavailable", "the server has stopped reading its input");
    queueMicrotask(() => this.#listener.onRefused(id, error));
  }

  #break(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#text = "";
    this.#onFlushed();
    this.#listener.onBroken();
  }
}
