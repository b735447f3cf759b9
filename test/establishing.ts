// For the tests of how a server is agreed with: wires that a script answers, and eras that are remembered.

import type { TenonError } from "../src/base/errors.js";
import type { JsonObject, JsonValue } from "../src/base/json/json.js";
import { LIMITS } from "../src/base/limits.js";
import type { ServerCache } from "../src/mcp/connection/cache.js";
import { connectOver } from "../src/mcp/connection/connect.js";
import type { ConnectionOptions } from "../src/mcp/connection/options.js";
import type { Link } from "../src/mcp/protocol/link.js";
import type { RemoteSpec, ServerSpec, StdioSpec } from "../src/mcp/spec.js";
import { SpillDirectory } from "../src/mcp/transport/large/spilled.js";
import type {
  Agreement,
  OutgoingMessage,
  RequestLoss,
  RpcId,
  Transport,
  TransportListener,
} from "../src/mcp/transport/transport.js";
import { MODERN_VERSION } from "../src/mcp/versions.js";
import { type FakeWorld, fakeWorld } from "../src/testing/index.js";

/** What a scripted server does with a request: an answer, a loss of it, the end of the wire, or nothing. */
export type Reaction =
  | { readonly result: JsonObject }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: JsonValue } }
  | { readonly loss: RequestLoss }
  | { readonly closed: TenonError }
  | undefined;

export type Script = (method: string, params: JsonObject) => Reaction;

export class ScriptedWire implements Transport {
  readonly sent: OutgoingMessage[] = [];
  readonly agreements: Agreement[] = [];
  readonly stderrTail = "its last words";
  isClosed = false;
  listener: TransportListener | undefined;
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  get methods(): string[] {
    return this.sent.map((message) => ("method" in message ? message.method : "an answer"));
  }

  start(listener: TransportListener): void {
    this.listener = listener;
  }

  send(message: OutgoingMessage): void {
    this.sent.push(message);
    if (!("method" in message && "id" in message)) return;
    const { id, method, params = {} } = message;
    queueMicrotask(() => this.#react(id, this.#script(method, params)));
  }

  #react(id: RpcId, reaction: Reaction): void {
    if (!reaction || this.isClosed) return;
    if ("result" in reaction) this.listener?.onMessage({ kind: "result", id, result: reaction.result });
    else if ("error" in reaction) this.listener?.onMessage({ kind: "error", id, error: reaction.error });
    else if ("loss" in reaction) this.listener?.onRequestLost(id, reaction.loss);
    else this.listener?.onClosed(reaction.closed);
  }

  cancel(id: RpcId): void {
    this.sent.push({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
  }

  agreed(agreement: Agreement): void {
    this.agreements.push(agreement);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

export const DISCOVERED: JsonObject = {
  supportedVersions: [MODERN_VERSION],
  capabilities: { tools: {} },
  resultType: "complete",
};
export const INITIALIZED: JsonObject = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  serverInfo: { name: "old", version: "1" },
};
export const NOT_FOUND: Reaction = { error: { code: -32601, message: "Method not found" } };
export const MODERN_ONLY: Reaction = { error: { code: -32022, message: "no", data: { supported: [MODERN_VERSION] } } };

export const legacy: Script = (method) => (method === "initialize" ? { result: INITIALIZED } : NOT_FOUND);
export const modern: Script = (method) => (method === "server/discover" ? { result: DISCOVERED } : MODERN_ONLY);

export const STDIO: StdioSpec = { kind: "stdio", name: "given", command: "server", args: [], env: {} };
export const HTTP: RemoteSpec = { kind: "http", name: "given", url: "https://example.com/mcp", headers: {} };

export function cacheOf(era?: "legacy" | "modern"): ServerCache & { readonly written: (string | undefined)[] } {
  const written: (string | undefined)[] = [];
  return {
    written,
    readEra: async () => era,
    writeEra: async (_, verdict) => {
      written.push(verdict);
    },
    readTools: async () => undefined,
    writeTools: async () => {},
  };
}

export interface Bench {
  readonly world: FakeWorld;
  readonly wires: ScriptedWire[];
  readonly abort: AbortController;
  readonly link: Promise<Link>;
}

/** Each wire opened gets the next script; the last one again and again. */
export function establishing(
  scripts: readonly Script[],
  spec: ServerSpec,
  more: Partial<ConnectionOptions> = {},
): Bench {
  const world = fakeWorld();
  const wires: ScriptedWire[] = [];
  const abort = new AbortController();
  const options = { world, cwd: "/", client: { name: "tenon", version: "1.2.3" }, ...more };
  const open = () => {
    const wire = new ScriptedWire(scripts[Math.min(wires.length, scripts.length - 1)] ?? legacy);
    wires.push(wire);
    return wire;
  };
  const life = { signal: abort.signal, grace: () => LIMITS.closeGrace, spill: new SpillDirectory(world) };
  const link = connectOver(open, { spec, options, life });
  link.catch(() => {}); // looked at later
  return { world, wires, abort, link };
}
