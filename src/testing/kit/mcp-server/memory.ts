// The scripted MCP server in memory: a transport for the client under test, and the controls for the test.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import type { Timer } from "../../../base/ports/world.js";
import { Feed, type WaitOptions } from "../feed.js";
import type { HeldCall } from "./answers.js";
import type { Behaviour, ToolScript } from "./behaviour.js";
import { parseBehaviour } from "./check-behaviour.js";
import { assertPossible, type HostLimits } from "./host.js";
import type { ScriptedPeer } from "./peer.js";
import { InProcessServer } from "./peer.js";

const LIMITS: HostLimits = {
  place: "in memory: it carries messages, not bytes, and has no process",
  steps: ["garbage", "huge_line", "stderr", "stderr_flood", "spawn_children"],
  replies: [],
  fields: ["garbageBetween", "ignoresEof", "ignoresSigterm", "recordFile", "recordEnv", "maxLifetimeMs"],
};

export interface MemoryServerOptions {
  /** The clock of the server's delays: a fake world's `after`, for instance. Real time otherwise. */
  readonly after?: (delayMs: number, run: () => void) => Timer;
}

interface Connection {
  readonly transport: MemoryTransport;
  readonly peer: ScriptedPeer;
}

/**
 * A scripted server in this process.
 *
 * @example
 * const server = memoryServer({ tools: [echoTool()] });
 */
export class MemoryServer implements AsyncDisposable {
  readonly #connections: Connection[] = [];
  readonly #received = new Feed<JsonObject>("message from the client");
  readonly #server: InProcessServer;

  constructor(behaviour: Behaviour, options: MemoryServerOptions = {}) {
    const checked = parseBehaviour(behaviour);
    assertPossible(checked, LIMITS);
    this.#server = new InProcessServer(checked, options.after);
  }

  /** The first connection's client end. */
  get transport(): MemoryTransport {
    return this.#connections[0]?.transport ?? this.connect();
  }

  /** A new connection, as a client makes one when it reconnects: it starts from the behaviour again. */
  connect(): MemoryTransport {
    const transport = new MemoryTransport(
      (message) => {
        if (isJsonObject(message)) this.#received.push(message);
        peer.receive(message);
      },
      () => this.#background(peer.close()),
    );
    const peer = this.#server.openPeer({
      send: (message) => transport.receive(message),
      garbage: () => {},
      crash: () => this.#background(transport.close()),
    });
    this.#connections.push({ transport, peer });
    return transport;
  }

  get connectionCount(): number {
    return this.#connections.length;
  }

  /** Every message of the client so far. */
  get received(): readonly JsonObject[] {
    return this.#received.items;
  }

  /** The first message of that method, waiting for it if need be; `from` skips the earlier ones. */
  async awaitMessage(method: string, options?: WaitOptions): Promise<JsonObject> {
    return await this.#received.find((message) => message["method"] === method, options);
  }

  /** The next call of a `held` tool (of that name) that has not been taken yet. */
  async awaitCall(toolName?: string, options?: WaitOptions): Promise<HeldCall> {
    return await this.#server.awaitCall(toolName, options);
  }

  notify(method: string, params?: JsonObject): void {
    this.#latest.peer.notify(method, params);
  }

  /** Sends the client a request; resolves with its whole response. */
  async request(method: string, params?: JsonObject): Promise<JsonObject> {
    return await this.#latest.peer.request(method, params, new AbortController().signal);
  }

  /** Replaces the tools and tells the client. */
  changeTools(tools: readonly ToolScript[]): void {
    const { peer } = this.#latest;
    peer.setTools(parseBehaviour({ tools }).tools ?? []);
    peer.notify("notifications/tools/list_changed");
  }

  /** Lets a step `{do: "hold", name}` go on, now or when it is reached. */
  release(name: string): void {
    this.#latest.peer.release(name);
  }

  /** Whatever it is, as a message of the server. */
  sendRaw(message: JsonValue): void {
    this.#latest.transport.receive(message);
  }

  /** The connection breaks, as when the server crashes. */
  async disconnect(): Promise<void> {
    await this.#latest.transport.close();
  }

  /** Throws when the script itself failed, so that no test passes over it. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { transport, peer } of this.#connections) {
      await transport.close();
      await peer.close();
    }
    this.#server.end(this.#received);
  }

  get #latest(): Connection {
    const connection = this.#connections.at(-1);
    if (!connection) throw new Error("no client has connected yet: use `transport` or `connect()` first");
    return connection;
  }

  #background(work: Promise<void>): void {
    work.catch((error: unknown) => this.#server.bug(error));
  }
}

/**
 * Makes a scripted server in this process.
 *
 * @example
 * const server = memoryServer({ tools: [echoTool()] });
 */
export function memoryServer(behaviour: Behaviour, options?: MemoryServerOptions): MemoryServer {
  return new MemoryServer(behaviour, options);
}

/** Messages pass as text: the two sides share no object, as over any real wire. */
export class MemoryTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: object) => void) | undefined;
  readonly #toServer: (message: unknown) => void;
  readonly #onClosed: () => void;
  readonly #early: string[] = [];
  #state: "new" | "open" | "closed" = "new";

  constructor(toServer: (message: unknown) => void, onClosed: () => void) {
    this.#toServer = toServer;
    this.#onClosed = onClosed;
  }

  async start(): Promise<void> {
    if (this.#state !== "new") throw new Error(`the transport is ${this.#state} already`);
    this.#state = "open";
    for (const text of this.#early.splice(0)) this.#deliver(text);
  }

  async send(message: object): Promise<void> {
    if (this.#state !== "open") throw new Error("not connected");
    const text = JSON.stringify(message);
    queueMicrotask(() => this.#toServer(JSON.parse(text)));
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#onClosed();
    this.onclose?.();
  }

  /** From the server's side. */
  receive(message: JsonValue): void {
    const text = JSON.stringify(message);
    if (this.#state === "new") this.#early.push(text);
    else queueMicrotask(() => this.#deliver(text));
  }

  #deliver(text: string): void {
    if (this.#state !== "open") return;
    this.onmessage?.(JSON.parse(text));
  }
}
