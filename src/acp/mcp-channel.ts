// MCP-over-ACP, the agent's side: requests to the client's own servers as `mcp/message`, and what they say meanwhile.

import { type AgentContext, RequestError } from "@agentclientprotocol/sdk";
import { messageOf } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonValue } from "../base/json/json.js";
import type { ChannelAnswer, ChannelRequest, McpChannel } from "../mcp/index.js";

/** Of the unstable protocol, so the SDK's stable half has no name for it. */
export const MCP_MESSAGE = "mcp/message";

const INTERNAL_ERROR = -32_603;

/** One per connection: the ids of requests must not repeat on it, whichever session they are of. */
export class McpMessages {
  readonly #listeners = new Map<string, ChannelRequest["onNotification"]>();
  #count = 0;

  channel(client: AgentContext): McpChannel {
    return { request: (request) => this.#request(client, request) };
  }

  /** A notification of the client about a request that runs; any other is dropped. */
  hear(params: unknown): void {
    if (!isJsonObject(params)) return;
    const { serverId, requestId, method } = params;
    if (typeof method !== "string") return;
    this.#listeners.get(keyOf(serverId, requestId))?.(method, isJsonObject(params["params"]) ? params["params"] : {});
  }

  async #request(client: AgentContext, request: ChannelRequest): Promise<ChannelAnswer> {
    const { serverId, method, params, signal } = request;
    this.#count += 1;
    const requestId = `tenon-${this.#count}`;
    const key = keyOf(serverId, requestId);
    this.#listeners.set(key, (notice, about) => request.onNotification(notice, about));
    try {
      const message = { serverId, requestId, method, params };
      return readOutcome(await client.request<unknown>(MCP_MESSAGE, message, { cancellationSignal: signal }));
    } catch (thrown) {
      const message = messageOf(thrown);
      return thrown instanceof RequestError
        ? { kind: "failed", message, code: thrown.code }
        : { kind: "failed", message };
    } finally {
      this.#listeners.delete(key);
    }
  }
}

function keyOf(serverId: JsonValue | undefined, requestId: JsonValue | undefined): string {
  return JSON.stringify([serverId ?? null, requestId ?? null]);
}

/** A result wins over an error, as the binding has it. */
function readOutcome(response: unknown): ChannelAnswer {
  if (isJsonObject(response)) {
    const { result, error } = response;
    if (result !== undefined) return { kind: "result", result };
    if (isJsonObject(error)) {
      const { code, message, data } = error;
      return {
        kind: "error",
        error: {
          code: typeof code === "number" ? code : INTERNAL_ERROR,
          message: typeof message === "string" ? message : "the server gave no message",
          ...defined({ data }),
        },
      };
    }
  }
  return { kind: "failed", code: INTERNAL_ERROR, message: "the client's answer carries neither a result nor an error" };
}
