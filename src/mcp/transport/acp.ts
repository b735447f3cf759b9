// A transport over the client's own protocol (MCP-over-ACP): every request is one message of the channel, and knows no session.
import { messageOf, TenonError } from "../../base/errors.js";
import { isJsonObject } from "../../base/json/json.js";
import type { AcpSpec } from "../spec.js";
import type { ChannelAnswer, McpChannel } from "./acp-channel.js";
import { isEnd, lossOf } from "./acp-loss.js";
import type { OutgoingMessage, RpcId } from "./json-rpc.js";
import type { RequestLoss, Transport, TransportListener } from "./transport.js";

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
    const answer = await channel.request({
      serverId: this.#spec.serverId,
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
    if (answer.kind === "failed") return this.#failed(id, answer);
    if (answer.kind === "result" && !isJsonObject(answer.result)) {
      const error = new TenonError("mcp.protocol", `the result of ${method} is no object`);
      return this.#lose(id, { error, wasSent: true });
    }
    this.#running.delete(id);
    if (answer.kind === "error") this.#listener?.onMessage({ kind: "error", id, error: answer.error });
    else if (isJsonObject(answer.result)) this.#listener?.onMessage({ kind: "result", id, result: answer.result });
  }

  #failed(id: RpcId, failure: Extract<ChannelAnswer, { kind: "failed" }>): void {
    const loss = lossOf(failure);
    this.#lose(id, loss);
    if (isEnd(failure)) this.#end(loss.error);
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
