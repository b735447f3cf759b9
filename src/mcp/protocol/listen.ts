// Keeps a modern server's change notices coming: one `subscriptions/listen` for what it advertises, reopened when it drops.
import { backoffDelayMs, sleep } from "../../base/async/deadline.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { MCP_LIMITS } from "../limits.js";
import type { RpcOutcome } from "../rpc/rpc.js";
import { META } from "../versions.js";

/** What can be listened for: its name in the filter, the capability that offers it, the notice it brings. */
const CHANGES = [
  { filter: "toolsListChanged", capability: "tools", method: "notifications/tools/list_changed" },
  { filter: "promptsListChanged", capability: "prompts", method: "notifications/prompts/list_changed" },
  { filter: "resourcesListChanged", capability: "resources", method: "notifications/resources/list_changed" },
] as const;

type Change = (typeof CHANGES)[number];

export interface ListenPort {
  readonly world: World;
  /** Sends the request and waits for its end, however long that takes. */
  listen(params: JsonObject, signal: AbortSignal): Promise<RpcOutcome>;
  /** Tells a notice as if the server had sent it. */
  announce(method: string): void;
}

type End = "ended" | "dropped" | "unwanted";

export class ChangeListener {
  readonly #port: ListenPort;
  readonly #wanted: readonly Change[];
  #subscription: { readonly id: unknown; readonly sinceMs: number } | undefined;
  #stream = new AbortController();
  #mayHaveMissed = false;

  /** Asks only for what is advertised: servers refuse the rest, or acknowledge nothing and stay silent. */
  constructor(port: ListenPort, capabilities: JsonObject) {
    this.#port = port;
    this.#wanted = CHANGES.filter(({ capability }) => {
      const offered = capabilities[capability];
      return isJsonObject(offered) && offered["listChanged"] === true;
    });
  }

  /** True when the notification was about the subscription itself and nobody else needs it. */
  hear(method: string, params: JsonObject): boolean {
    if (method === "notifications/subscriptions/acknowledged") {
      this.#acknowledged(params);
      return true;
    }
    if (method !== "notifications/cancelled" || !this.#subscription) return false;
    // A stdio server that ends takes its subscriptions back this way.
    if (params["requestId"] === this.#subscription.id) this.#stream.abort("ended");
    return true;
  }

  /** Until there is nothing more to listen for, or the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    let mayReopenEnded = true;
    while (this.#wanted.length > 0 && !signal.aborted) {
      this.#subscription = undefined;
      const end = await this.#once(signal);
      const wasAcknowledged = this.#subscription !== undefined;
      if (this.#hasProved()) {
        failures = 0;
        mayReopenEnded = true;
      }
      if (end === "unwanted" || signal.aborted) return;
      // What a server ends politely it may be asked for once more, not in a loop.
      if (end === "ended" && !mayReopenEnded) return;
      if (end === "ended") mayReopenEnded = false;
      if (!wasAcknowledged && failures >= MCP_LIMITS.reconnectAttempts) return;
      this.#mayHaveMissed = true;
      if (!(await this.#pause(failures, signal))) return;
      failures += 1;
    }
  }

  async #once(signal: AbortSignal): Promise<End> {
    this.#stream = new AbortController();
    const notifications = Object.fromEntries(this.#wanted.map(({ filter }) => [filter, true]));
    const over = AbortSignal.any([signal, this.#stream.signal]);
    const outcome = await this.#port.listen({ notifications }, over);
    switch (outcome.kind) {
      case "result":
        return this.#stream.signal.reason === "unwanted" ? "unwanted" : "ended";
      case "error":
        this.#port.world.log.debug("mcp.listen_refused", { message: outcome.error.message });
        return "unwanted";
      case "cancelled":
        return this.#stream.signal.reason === "ended" ? "ended" : "unwanted";
      case "timed_out":
        return "dropped";
      case "lost":
        return outcome.loss.error.code === "mcp.unauthorized" ? "unwanted" : "dropped";
    }
  }

  #acknowledged(params: JsonObject): void {
    const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    this.#subscription = { id: meta[META.subscriptionId], sinceMs: this.#port.world.monotonicMs() };
    const granted = isJsonObject(params["notifications"]) ? params["notifications"] : {};
    const honoured = this.#wanted.filter(({ filter }) => granted[filter] === true);
    // Acknowledged, and nothing granted: over HTTP it ends by itself, over stdio it would stay silent for ever.
    if (honoured.length === 0) this.#stream.abort("unwanted");
    if (!this.#mayHaveMissed) return;
    this.#mayHaveMissed = false;
    for (const { method } of honoured) this.#port.announce(method);
  }

  #hasProved(): boolean {
    const sinceMs = this.#subscription?.sinceMs;
    return sinceMs !== undefined && this.#port.world.monotonicMs() - sinceMs >= MCP_LIMITS.reconnectProvenMs;
  }

  async #pause(failures: number, signal: AbortSignal): Promise<boolean> {
    const { world } = this.#port;
    try {
      await sleep(world, backoffDelayMs(MCP_LIMITS.reconnect, failures, world.random()), signal);
      return true;
    } catch {
      return false;
    }
  }
}
