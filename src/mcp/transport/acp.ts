// The transport over the client's own protocol (MCP-over-ACP): each request is one message of the channel.
import { type ErrorCode, messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { AcpSpec } from "../spec.js";
import type { OutgoingMessage, RequestLoss, RpcErrorBody, RpcId, Transport, TransportListener } from "./transport.js";

/** Reaches servers on the client's side: the layer above carries MCP messages over its protocol. */
export interface McpChannel {
  /** Rejects only for a bug. Requests to one server may overlap. */
  request(request: ChannelRequest): Promise<ChannelAnswer>;
}

export interface ChannelRequest {
  /** As the client declared the server. */
  readonly serverId: string;
  /** Which client did, where there are several. */
  readonly client?: string;
  readonly method: string;
  readonly params: JsonObject;
  /** Aborting it notifies the other side, as far as the carrier can. */
  readonly signal: AbortSignal;
  /** Hears what the server says about this request before its answer: progress, log lines, changes it subscribed to. */
  onNotification(method: string, params: JsonObject): void;
}

/**
 * `failed`: there is no answer of the server; `code` is the carrier's own, where it gave one. `away`: the client is gone, and may
 * return within that time; 0 when it is not waited for any more.
 */
export type ChannelAnswer =
  | { readonly kind: "result"; readonly result: JsonValue }
  | { readonly kind: "error"; readonly error: RpcErrorBody }
  | { readonly kind: "failed"; readonly message: string; readonly code?: number }
  | { readonly kind: "away"; readonly message: string; readonly returnsWithinMs: number; readonly wasSent: boolean };

type Failure = Extract<ChannelAnswer, { kind: "failed" | "away" }>;
type Request = Extract<OutgoingMessage, { readonly method: string; readonly id: RpcId }>;

export class AcpTransport implements Transport {
  readonly stderrTail = "";
  readonly #spec: AcpSpec;
  readonly #channel: McpChannel | undefined;
  readonly #running = new Map<RpcId, AbortController>();
  #listener: TransportListener | undefined;
  #isOver = false;

  constructor(spec: AcpSpec, channel: McpChannel | undefined) {
    this.#spec = spec;
    this.#channel = channel;
  }

  start(listener: TransportListener): void {
    this.#listener = listener;
    if (this.#channel) return;
    const text = "it is a server of the client's, and no client is attached that could reach it";
    queueMicrotask(() => this.#end(new TenonError("mcp.invalid_spec", text)));
  }

  /** Only requests: the modern era has no answers of ours, and the carrier no notifications in this direction. */
  send(message: OutgoingMessage): void {
    if (this.#isOver || !("method" in message) || !("id" in message) || !this.#channel) return;
    const controller = new AbortController();
    this.#running.set(message.id, controller);
    this.#ask(this.#channel, message, controller).catch((thrown: unknown) => {
      this.#lose(message.id, {
        error: new TenonError("internal", messageOf(thrown), { cause: thrown }),
        wasSent: true,
      });
    });
  }

  cancel(id: RpcId, reason: string): void {
    this.#running.get(id)?.abort(new DOMException(reason, "AbortError"));
    this.#running.delete(id);
  }

  agreed(): void {}

  async close(): Promise<void> {
    this.#isOver = true;
    for (const controller of this.#running.values()) {
      controller.abort(new DOMException("the connection was closed", "AbortError"));
    }
    this.#running.clear();
  }

  async #ask(channel: McpChannel, { id, method, params = {} }: Request, { signal }: AbortController): Promise<void> {
    const isOpen = () => !this.#isOver && this.#running.has(id) && !signal.aborted;
    const { serverId, client } = this.#spec;
    const answer = await channel.request({
      serverId,
      ...defined({ client }),
      method,
      params,
      signal,
      onNotification: (notice, about) => {
        if (isOpen()) this.#listener?.onMessage({ kind: "notification", method: notice, params: about });
      },
    });
    if (isOpen()) this.#answered(id, method, answer);
  }

  #answered(id: RpcId, method: string, answer: ChannelAnswer): void {
    if (answer.kind === "failed" || answer.kind === "away") {
      const loss = lossOf(answer);
      this.#lose(id, loss);
      if (isEnd(answer)) this.#end(loss.error);
      return;
    }
    if (answer.kind === "result" && !isJsonObject(answer.result)) {
      const error = new TenonError("mcp.protocol", `the result of ${method} is no object`);
      return this.#lose(id, { error, wasSent: true });
    }
    this.#running.delete(id);
    if (answer.kind === "error") this.#listener?.onMessage({ kind: "error", id, error: answer.error });
    else if (isJsonObject(answer.result)) this.#listener?.onMessage({ kind: "result", id, result: answer.result });
  }

  #lose(id: RpcId, loss: RequestLoss): void {
    if (this.#isOver) return;
    this.#running.delete(id);
    this.#listener?.onRequestLost(id, loss);
  }

  #end(error: TenonError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const controller of this.#running.values()) controller.abort(error);
    this.#running.clear();
    this.#listener?.onClosed(error);
  }
}

/** The codes of the binding. They are never those of an MCP server, whose errors travel inside a success. */
const METHOD_NOT_FOUND = -32_601;
const SERVER_GONE = -33_001;

/** By code: our error, what happened, and whether the server may have acted on the request. */
const FAILURES: Readonly<Record<number, readonly [ErrorCode, string, boolean]>> = {
  [METHOD_NOT_FOUND]: [
    "mcp.unsupported_version",
    'the client named a server of type "acp" and does not know mcp/message',
    false,
  ],
  [-32_602]: ["mcp.protocol", "the client refused the message to its server", false],
  [-32_800]: ["mcp.connection_lost", "the client gave the request up", true],
  [-33_000]: ["mcp.rate_limited", "the client takes no more requests to this server at once", false],
  [SERVER_GONE]: ["mcp.unavailable", "the client does not offer this server any more", false],
  [-33_002]: ["mcp.unavailable", "the client could not get an answer from its server", true],
};
const CLIENT_GONE = ["mcp.connection_lost", "the connection to the client ended", true] as const;
const OTHER_FAILURE = ["mcp.protocol", "the client answered for its server with an error", true] as const;

function lossOf(failure: Failure): RequestLoss {
  if (failure.kind === "away") {
    const { message, wasSent, returnsWithinMs: retryAfterMs } = failure;
    if (retryAfterMs <= 0) return { error: new TenonError("mcp.client_gone", message), wasSent };
    return { error: new TenonError("mcp.connection_lost", message, { retryAfterMs }), wasSent };
  }
  const { code, message } = failure;
  const [ours, what, wasSent] = code === undefined ? CLIENT_GONE : (FAILURES[code] ?? OTHER_FAILURE);
  const text = `${what}: ${code === undefined ? message : `${message} (${code})`}`;
  return { error: new TenonError(ours, text), wasSent };
}

/** Nothing more can be sent: the server was withdrawn, the client does not support this, or it is gone. */
function isEnd(failure: Failure): boolean {
  if (failure.kind === "away") return true;
  const { code } = failure;
  return code === SERVER_GONE || code === METHOD_NOT_FOUND || code === undefined;
}
