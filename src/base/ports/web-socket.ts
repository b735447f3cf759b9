// A WebSocket connection of a client, as a port: text messages both ways, in order, until it ends.

/** Where to connect: an address, or a path of the unix socket of this machine. */
export interface WebSocketTarget {
  readonly url: string;
  readonly socketPath?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  /** How long connecting may take. */
  readonly connectMs: number;
  /** The other side is asked for a sign of life this often; one that gives none by the next time is taken for gone. */
  readonly pingMs: number;
}

export interface WebSocketListener {
  onText(text: string): void;
  /** Once, whoever ended it; nothing comes after. */
  onClosed(reason: string): void;
}

export interface WebSocketLink {
  send(text: string): void;
  /** Bytes that were sent and have not left this process. */
  readonly pendingBytes: number;
  /** Stops reading; the other side notices when its own buffers are full. */
  pause(): void;
  resume(): void;
  /** Lets what was sent leave, for a bounded time, then ends. Idempotent. */
  close(): Promise<void>;
}

/** Rejects when nobody answers, when the signal aborts, or with a `WebSocketRefusal`. */
export type OpenWebSocket = (
  target: WebSocketTarget,
  listener: WebSocketListener,
  signal: AbortSignal,
) => Promise<WebSocketLink>;

/** The other side answered with an HTTP status instead of a connection. */
export class WebSocketRefusal extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text === "" ? `HTTP ${status}` : `HTTP ${status}: ${text}`);
    this.status = status;
  }
}
