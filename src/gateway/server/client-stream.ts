// A client as the agent sees it: messages both ways, with a way past the SDK for updates, and for updates of several clients.
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import type { RawData, WebSocket } from "ws";
import { messageSink, type SharedMessage } from "../../acp/index.js";
import { contained } from "../../base/async/scope.js";
import type { JsonObject } from "../../base/json/json.js";
import { hasErrorCode } from "../../base/message.js";
import type { Timer, World } from "../../base/ports/world.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { ConnectionRequests } from "./requests.js";

export interface ClientStream extends Stream {
  /** In order with what the SDK writes. A promise while the client does not keep up: wait for it before the next message. */
  send(message: object): Promise<void> | undefined;
  sendShared(shared: SharedMessage): Promise<void> | undefined;
  /** Resolves when the connection is over, however it ended. */
  readonly closed: Promise<void>;
  /** `reason`: for the client. `code`: of the WebSocket's end; 1008 unless given, after which it need not come back. */
  close(reason: string, code?: number): void;
}

/** What the agent may know of a connection besides its principal. */
export interface ConnectionAbout {
  /** For the log; no client has it. */
  readonly id: string;
  /** `node`: of a client that is connected to another node. */
  readonly transport: "websocket" | "http" | "node";
  /** Of a client at another node: the id of that node. */
  readonly remoteAddress: string;
}

/** Part of the socket below a WebSocket. */
export interface RawSocket {
  cork(): void;
  uncork(): void;
  on(event: "drain", listener: () => void): unknown;
  readonly bytesRead?: number;
}

export interface SocketStreamOptions {
  readonly world: Pick<World, "after" | "soon" | "log">;
  readonly socket: RawSocket;
  readonly requests: ConnectionRequests;
}

const PROTOCOL_ERROR = 1002;
const POLICY_VIOLATION = 1008;
const TOO_LARGE = 1009;
/** A client that does not answer the end of a connection is cut off. */
const END_MS = 500;
const UPDATES_EVERY_MS = 1;

export class SocketStream implements ClientStream {
  readonly readable: Stream["readable"];
  readonly writable: Stream["writable"];
  readonly closed: Promise<void>;
  readonly #web: WebSocket;
  readonly #socket: RawSocket;
  readonly #world: SocketStreamOptions["world"];
  readonly #requests: ConnectionRequests;
  #enqueue: (message: AnyMessage) => void = () => {};
  #isCorked = false;
  /** There while more is unsent than a sender should add to. */
  #jam: { readonly over: Promise<void>; readonly end: () => void } | undefined;
  #isOver = false;
  #missedPings = 0;
  #hasSign = true;
  /** Of the WebSocket's end, once it ended: 1006 where it just broke. */
  endCode = 0;
  #bytesRead = 0;
  readonly #timers: { life?: Timer; start?: Timer; end?: Timer; rest?: Timer; updates?: Timer } = {};

  constructor(web: WebSocket, { world, socket, requests }: SocketStreamOptions) {
    this.#web = web;
    this.#socket = socket;
    this.#world = world;
    this.#requests = requests;
    let end = () => {};
    this.closed = new Promise((resolve) => {
      end = resolve;
    });
    let closeReadable = () => {};
    this.readable = new ReadableStream<AnyMessage>({
      start: (controller) => {
        this.#enqueue = (message) => controller.enqueue(message);
        closeReadable = () => controller.close();
      },
    });
    this.writable = messageSink((message) => this.#write(message));
    web.on("message", (data, isBinary) =>
      contained(world.log, "message of a client", () => this.#receive(data, isBinary)),
    );
    web.on("pong", () => this.#sign());
    web.on("error", (error) => {
      this.endCode = hasErrorCode(error, "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") ? TOO_LARGE : PROTOCOL_ERROR; // `close` follows
    });
    web.on("close", (code) => {
      this.#isOver = true;
      this.endCode ||= code;
      for (const timer of Object.values(this.#timers)) timer.clear();
      this.#goOn();
      contained(world.log, "end of a client", closeReadable);
      end();
    });
    socket.on("drain", () => this.#goOn());
    this.#timers.start = world.after(GATEWAY_LIMITS.initializeMs, () =>
      this.close(`initialize was not sent within ${GATEWAY_LIMITS.initializeMs / 1_000} s`),
    );
    this.#watchLife();
  }

  send(message: object): Promise<void> | undefined {
    this.#write(message);
    return this.#jam?.over;
  }

  sendShared(shared: SharedMessage): Promise<void> | undefined {
    this.#writeBytes(shared.bytes, true);
    return this.#jam?.over;
  }

  close(reason: string, code: number = POLICY_VIOLATION): void {
    if (this.#isOver) return;
    this.#isOver = true; // nothing of it is read any more
    this.#web.close(code, reason.slice(0, 120));
    this.#timers.end = this.#world.after(END_MS, () => this.#web.terminate());
  }

  #write(message: object): void {
    this.#requests.sent(message);
    this.#writeBytes(JSON.stringify(message));
  }

  /**
   * What is sent in one turn of the event loop leaves in one write. Updates that come faster than `UPDATES_EVERY_MS` wait for
   * each other: a write costs as much as all the rest of an update.
   */
  #writeBytes(data: string | Buffer, mayWait = false): void {
    if (this.#isOver) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      if (!mayWait || !this.#timers.updates) this.#world.soon(this.#flush);
    } else if (!mayWait && this.#timers.updates) this.#world.soon(this.#flush);
    this.#web.send(data, { binary: false }, ignore);
    const unsent = this.#web.bufferedAmount;
    if (unsent > GATEWAY_LIMITS.unsent.maxBytes) this.#web.terminate();
    else if (unsent > GATEWAY_LIMITS.unsent.waitBytes) this.#jam ??= newJam();
    if (mayWait) this.#timers.updates ??= this.#world.after(UPDATES_EVERY_MS, this.#afterUpdates);
  }

  readonly #flush = (): void => {
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#socket.uncork();
  };

  readonly #afterUpdates = (): void => {
    delete this.#timers.updates;
    if (!this.#isCorked) return;
    this.#flush();
    this.#timers.updates = this.#world.after(UPDATES_EVERY_MS, this.#afterUpdates);
  };

  #goOn(): void {
    const jam = this.#jam;
    this.#jam = undefined;
    jam?.end();
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#isOver) return;
    this.#sign();
    const checked = isBinary
      ? this.#requests.malformed(-32600, "Invalid request: a message is a text frame")
      : this.#requests.check(textOf(data));
    if (checked.kind === "message") this.#hand(checked.message);
    else if (checked.kind === "refused") {
      this.#writeBytes(JSON.stringify(checked.answer));
      const isMalformed = checked.why === "malformed";
      if (isMalformed && this.#requests.countMalformed()) this.close("too many messages that are no JSON-RPC");
    }
    // The answer to a request says when to come again; what has no answer is read more slowly.
    if (checked.kind !== "refused" && checked.waitMs > 0) this.#rest(checked.waitMs);
  }

  #hand(message: JsonObject): void {
    if (message["method"] === "initialize") this.#timers.start?.clear();
    if (isMessage(message)) this.#enqueue(message);
  }

  #rest(waitMs: number): void {
    this.#web.pause();
    this.#timers.rest?.clear();
    this.#timers.rest = this.#world.after(waitMs, () => this.#web.resume());
  }

  #sign(): void {
    this.#missedPings = 0;
    this.#hasSign = true;
  }

  #watchLife(): void {
    const { everyMs, maxMissed, minBytes } = GATEWAY_LIMITS.ping;
    this.#timers.life = this.#world.after(everyMs, () => {
      const read = this.#socket.bytesRead ?? 0;
      if (read - this.#bytesRead >= minBytes) this.#sign();
      this.#bytesRead = read;
      if (!this.#hasSign) this.#missedPings += 1;
      this.#hasSign = false;
      if (this.#missedPings >= maxMissed) return this.#web.terminate();
      if (!this.#isOver) this.#web.ping(undefined, undefined, ignore);
      this.#watchLife();
    });
  }
}

function newJam(): { readonly over: Promise<void>; readonly end: () => void } {
  let end = () => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { over, end };
}

function ignore(): void {}

/** Whether it is a JSON-RPC message, the SDK checks itself. */
function isMessage(message: JsonObject): message is JsonObject & AnyMessage {
  return message["jsonrpc"] === "2.0";
}

/** Texts come as one buffer; the other forms are those of settings that are not used. */
function textOf(data: RawData): string {
  if (data instanceof ArrayBuffer) return Buffer.from(data).toString("utf8");
  return (Array.isArray(data) ? Buffer.concat(data) : data).toString("utf8");
}
