// Answers `initialize`, and `session/new`s that come early, before the agent is loaded; then hands the stream over to it.
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import type { PromisedSession } from "./agent.js";
import { introduction, type SetupCommand } from "./capabilities.js";
import { readSessionRequest } from "./from-client.js";
import { ACP_LIMITS } from "./limits.js";
import { EARLY_SETTINGS, givenMeta, settingsAnswer } from "./options.js";
import { Wire, type WireMessage, type WireStreams, wordsOf } from "./wire.js";

export interface FrontOptions extends WireStreams {
  readonly world: Pick<World, "after" | "soon">;
  newSessionId(): string;
  /** How this agent's log-in is started in a terminal. */
  readonly setup?: SetupCommand;
  /** Called before the client hears of the session: it must be there to be loaded even if the client leaves at once. */
  onPromised?(session: PromisedSession): void;
  /**
   * Loads the agent and connects it to the stream. Called once, after the first answers are out; failing is its own affair.
   * Until `takePromised` is called (once everything is loaded), the front goes on answering `session/new`.
   */
  start(stream: FrontStream, takePromised: () => readonly PromisedSession[]): void;
}

export interface FrontStream extends Stream {
  /** The parameters of the client's `initialize`; undefined where it sent none, or none that could be answered. */
  readonly initialize: JsonObject | undefined;
  /**
   * A message of the agent's own, past the SDK: behind all that was written to the stream before, and without the dozen of
   * promises the SDK makes for each. A promise when the client does not keep up.
   */
  readonly send: (message: object) => Promise<void> | undefined;
}

/** The id under which `initialize` is said again to the agent; no client can have chosen it. */
const REPLAY_ID = "tenon:front:initialize";

export class Front {
  readonly #options: FrontOptions;
  readonly #wire: Wire;
  readonly #promised: PromisedSession[] = [];
  readonly #waiting: AnyMessage[] = [];
  #isStarting = false;
  /** The agent has been told of the promised sessions: those that come now it opens itself. */
  #isTaken = false;
  #replay: AnyMessage | undefined;
  #feed: ((message: AnyMessage) => void) | undefined;

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#wire = new Wire(options);
    this.#wire.onMessage = (message) => this.#receive(message);
  }

  /** Resolves when the client is gone. */
  get closed(): Promise<void> {
    return this.#wire.closed;
  }

  /** Writes what waits to be written: nothing of it outlives the process. */
  flush(): void {
    this.#wire.flush();
  }

  #receive(message: WireMessage): void {
    if (this.#feed) this.#feed(message);
    else if (this.#isTaken || !this.#answer(message)) {
      this.#waiting.push(message);
      this.#startSoon(0);
    }
  }

  /** True when the message is dealt with and the agent need not see it. */
  #answer(message: WireMessage): boolean {
    const { id, method } = message;
    if (id === undefined || id === null) return false;
    const { params } = message;
    // A malformed `initialize` is left to the SDK, which says what is wrong with it.
    const isWhole = isJsonObject(params) && Number.isInteger(params["protocolVersion"]);
    if (method === "initialize" && !this.#replay && isWhole) {
      this.#replay = { ...message, id: REPLAY_ID };
      this.#wire.post({ jsonrpc: "2.0", id, result: introduction(params, this.#options.setup) });
      this.#startSoon(ACP_LIMITS.frontQuietMs);
      return true;
    }
    if (method !== "session/new" || !this.#replay) return false;
    this.#openSession(id, params);
    return true;
  }

  #openSession(id: unknown, params: unknown): void {
    try {
      const request = readSessionRequest(params);
      const promised = { request, id: this.#options.newSessionId(), params: isJsonObject(params) ? params : {} };
      this.#promised.push(promised);
      this.#options.onPromised?.(promised);
      const _meta = givenMeta(promised.request);
      const result = { sessionId: promised.id, ...settingsAnswer(EARLY_SETTINGS), _meta };
      this.#wire.post({ jsonrpc: "2.0", id, result });
    } catch (error) {
      this.#wire.post({ jsonrpc: "2.0", id, error: { code: -32602, message: `Invalid params: ${wordsOf(error)}` } });
    }
    this.#startSoon(0);
  }

  /** Loading blocks the event loop for tens of milliseconds: it waits until the first answers have left the process. */
  #startSoon(delayMs: number): void {
    this.#options.world.after(delayMs, () => {
      if (this.#isStarting) return;
      this.#isStarting = true;
      this.#start();
    });
  }

  /** The SDK turns away what comes before `initialize` is answered: everything else waits for its answer to the replay. */
  #start(): void {
    let enqueue: (message: AnyMessage) => void = () => {};
    const readable = new ReadableStream<AnyMessage>({
      start: (controller) => {
        let isOpen = true;
        enqueue = (message) => {
          if (isOpen) controller.enqueue(message);
        };
        const closed = this.#wire.closed.then(() => {
          isOpen = false;
          controller.close();
        });
        closed.catch(() => {}); // the agent closed it itself
      },
    });
    const handOver = () => {
      for (const message of this.#waiting.splice(0)) enqueue(message);
      this.#feed = enqueue;
    };
    // Nobody waits here for a client that does not read: what the SDK holds back would be overtaken by updates.
    const writable = messageSink((message) => {
      if ("id" in message && message.id === REPLAY_ID) handOver();
      else this.#wire.post(message);
    });
    const send = (message: object) => this.#wire.send(message);
    if (this.#replay) enqueue(this.#replay);
    else handOver();
    const params = this.#replay && "params" in this.#replay ? this.#replay.params : undefined;
    const initialize = isJsonObject(params) ? params : undefined;
    this.#options.start({ readable, writable, send, initialize }, () => {
      this.#isTaken = true;
      return this.#promised;
    });
  }
}

type Sink = Stream["writable"];

/**
 * The SDK takes a writer for each message and waits for the write. A `WritableStream` makes and rejects two promises for
 * every writer that is let go, which was a third of what an update cost.
 */
export function messageSink(write: (message: AnyMessage) => void): Sink {
  const done = Promise.resolve();
  const never = new Promise<undefined>(() => {});
  const end = () => done;
  const writer: ReturnType<Sink["getWriter"]> = {
    closed: never,
    ready: Promise.resolve(undefined),
    desiredSize: 1,
    write: (message) => {
      if (message !== undefined) write(message);
      return done;
    },
    close: end,
    abort: end,
    releaseLock: () => {},
  };
  return { locked: false, getWriter: () => writer, close: end, abort: end };
}
