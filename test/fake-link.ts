// A link in memory for unit tests of the mcp room: the real request core over a wire that a script answers.
import { TenonError } from "../src/base/errors.js";
import type { JsonObject } from "../src/base/json/json.js";
import type { World } from "../src/base/ports/world.js";
import type { Link } from "../src/mcp/protocol/link.js";
import { Rpc, RpcRefusal } from "../src/mcp/rpc/rpc.js";
import type {
  Agreement,
  MessageEnds,
  OutgoingMessage,
  RequestLoss,
  RpcId,
  SendHint,
  Transport,
  TransportListener,
} from "../src/mcp/transport/transport.js";

type Sent = Extract<OutgoingMessage, { readonly method: string }>;

export interface Ask {
  readonly method: string;
  readonly params: JsonObject;
  readonly hint: SendHint | undefined;
  /** Tells of progress under this request's own token. */
  progress(progress: number, message?: string): void;
}

export interface Refusal {
  readonly error: { readonly code: number; readonly message: string };
}

/** A result, an error, a loss, or nothing: then the request waits for ever. */
export type Answer = { readonly result: JsonObject } | Refusal | { readonly lost: RequestLoss } | undefined;

export interface FakeLinkOptions {
  readonly answer: (ask: Ask) => Answer | Promise<Answer>;
  readonly capabilities?: JsonObject;
  readonly agreement?: Agreement;
  readonly stderrTail?: string;
  /** The ends of an answer as its receiver sees them before the answer itself; as it would stand on the wire, unless given. */
  readonly peek?: true | ((result: JsonObject, id: RpcId) => MessageEnds);
}

export class FakeLink implements Link {
  readonly agreement: Agreement;
  readonly server = { name: "fake", version: "1.0.0" };
  readonly capabilities: JsonObject;
  readonly wire: Transport;
  readonly broken: Promise<TenonError>;
  readonly asked: Ask[] = [];
  readonly cancelled: RpcId[] = [];
  readonly #rpc: Rpc;
  readonly #heard: ((method: string, params: JsonObject) => void)[] = [];
  readonly #breakOff: (error: TenonError) => void;
  #listener: TransportListener | undefined;

  constructor(world: World, options: FakeLinkOptions) {
    this.agreement = options.agreement ?? { era: "legacy", protocolVersion: "2025-11-25" };
    this.capabilities = options.capabilities ?? { tools: {}, resources: {}, prompts: {}, completions: {} };
    let breakOff: (error: TenonError) => void = () => {};
    this.broken = new Promise((resolve) => {
      breakOff = resolve;
    });
    this.#breakOff = breakOff;
    this.wire = {
      start: (listener) => {
        this.#listener = listener;
      },
      send: (message, hint) => {
        if ("method" in message) this.#serve(message, hint, options);
      },
      cancel: (id) => this.cancelled.push(id),
      agreed: () => {},
      stderrTail: options.stderrTail ?? "",
      close: async () => {},
    };
    this.#rpc = new Rpc(this.wire, world, {
      onRequest: () => Promise.reject(new RpcRefusal(-32601, "no")),
      onNotification: (method, params) => {
        for (const hear of this.#heard) hear(method, params);
      },
      onClosed: (error) => this.#breakOff(error),
    });
    this.#rpc.start();
  }

  get counters(): Link["counters"] {
    return this.#rpc.counters;
  }

  request: Link["request"] = (method, params, options) => this.#rpc.request(method, params, options);
  notify: Link["notify"] = (method, params) => this.#rpc.notify(method, params);

  onNotification(listener: (method: string, params: JsonObject) => void): void {
    this.#heard.push(listener);
  }

  /** As if the server had sent it. */
  announce(method: string, params: JsonObject = {}): void {
    this.#listener?.onMessage({ kind: "notification", method, params });
  }

  break(error: TenonError = new TenonError("mcp.connection_lost", "the server is gone")): void {
    this.#listener?.onClosed(error);
  }

  #serve(message: Sent, hint: SendHint | undefined, { answer, peek }: FakeLinkOptions): void {
    if (!("id" in message)) return;
    const { id, method, params = {} } = message;
    const progress = (value: number, text?: string) =>
      this.announce("notifications/progress", {
        progressToken: id,
        progress: value,
        ...(text === undefined ? {} : { message: text }),
      });
    const ask: Ask = { method, params, hint, progress };
    this.asked.push(ask);
    Promise.resolve(answer(ask)).then(
      (given) => {
        if (peek && given && "result" in given) {
          this.#listener?.onPeek?.(id, (peek === true ? endsOfResult : peek)(given.result, id));
        }
        this.#reply(id, given);
      },
      (thrown: unknown) => this.#reply(id, { error: { code: -32603, message: String(thrown) } }),
    );
  }

  #reply(id: RpcId, given: Answer): void {
    if (!given) return;
    if ("result" in given) this.#listener?.onMessage({ kind: "result", id, result: given.result });
    else if ("error" in given) this.#listener?.onMessage({ kind: "error", id, error: given.error });
    else this.#listener?.onRequestLost(id, given.lost);
  }
}

/** As a server of the TypeScript SDK writes it. */
function endsOfResult(result: JsonObject, id: RpcId): MessageEnds {
  const text = JSON.stringify({ result, jsonrpc: "2.0", id });
  return { head: text.slice(0, 1_024), tail: text.slice(-1_024) };
}
