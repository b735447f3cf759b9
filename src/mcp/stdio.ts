// The stdio transport: one child that leads its own process group, newline-delimited JSON, ended with its whole tree.
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { orAborted } from "../base/deadline.js";
import { LIMITS } from "../base/limits.js";
import { type Line, LineSplitter } from "../base/ndjson.js";
import { type EndGrace, endTree } from "../base/process.js";
import type { Child, ChildExit, SpawnRequest, World } from "../base/world.js";
import { Tail } from "./tail.js";

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];

  readonly #world: World;
  readonly #child: Child;
  readonly #lines = new LineSplitter(LIMITS.mcpMaxLineBytes);
  readonly #stderr = new Tail(LIMITS.stderrTailBytes);
  readonly #early: JSONRPCMessage[] = [];
  #garbageLines = 0;
  #isStarted = false;
  #hasClosed = false;

  /** Spawns at once, so that the server starts up while the rest of Tenon is still loading. */
  constructor(request: SpawnRequest, world: World) {
    this.#world = world;
    this.#child = world.spawn(request);
    this.#child.stdout.on("data", (chunk: Buffer) => this.#receive(this.#lines.push(chunk)));
    this.#child.stdout.on("end", () => this.#receive(this.#lines.flush()));
    this.#child.stderr.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    this.#child.stdin.on("error", (error: Error) => this.onerror?.(error));
  }

  /** Settles when the direct child is gone, also when it never started. */
  get exited(): Promise<ChildExit> {
    return this.#child.exited;
  }

  /** Waits, within a bound, for the exit and the end of stderr: together they tell why a server broke off. */
  async lastWords(): Promise<ChildExit | undefined> {
    using deadline = this.#world.deadline(LIMITS.lastWordsMs);
    const stderrEnded = new Promise<void>((resolve) => {
      if (this.#child.stderr.readableEnded || this.#child.pid === undefined) resolve();
      else this.#child.stderr.once("end", resolve);
    });
    try {
      const exit = await orAborted(this.#child.exited, deadline.signal);
      await orAborted(stderrEnded, deadline.signal).catch(() => undefined); // a grandchild may hold it open
      return exit;
    } catch {
      return undefined;
    }
  }

  get stderrTail(): string {
    return this.#stderr.text;
  }

  /** Lines on stdout that were no JSON-RPC: tolerated, counted, told. */
  get garbageLines(): number {
    return this.#garbageLines;
  }

  async start(): Promise<void> {
    this.#isStarted = true;
    for (const message of this.#early.splice(0)) this.onmessage?.(message);
    this.#child.exited.then(
      () => this.#announceClose(),
      () => this.#announceClose(),
    );
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const line = `${JSON.stringify(message)}\n`;
    await new Promise<void>((resolve, reject) => {
      this.#child.stdin.write(line, (error) => (error ? reject(error) : resolve()));
    });
  }

  async close(): Promise<void> {
    await this.end(LIMITS.closeGrace);
  }

  async end(grace: EndGrace): Promise<void> {
    await endTree(this.#child, this.#world, grace);
    this.#announceClose();
  }

  #receive(lines: readonly Line[]): void {
    for (const line of lines) {
      if (line.kind === "oversize") {
        this.onerror?.(new Error(`a message of ${line.bytes} bytes is over the limit and was dropped`));
        continue;
      }
      const message = parseMessage(line.text);
      if (!message) this.#garbageLines += 1;
      else if (this.#isStarted) this.onmessage?.(message);
      else this.#early.push(message);
    }
  }

  #announceClose(): void {
    if (this.#hasClosed) return;
    this.#hasClosed = true;
    this.onclose?.();
  }
}

/** Servers print banners and debug lines on stdout; those are not messages and not a reason to lose the connection. */
function parseMessage(text: string): JSONRPCMessage | undefined {
  try {
    const value: JSONRPCMessage | null = JSON.parse(text);
    return value?.jsonrpc === "2.0" ? value : undefined;
  } catch {
    return undefined;
  }
}
