// For the tests of the remote transport: drives one transport as the handshake and the calls do, and keeps what it was told.

import type { TenonError } from "../../src/base/errors.js";
import { isJsonObject, type JsonObject } from "../../src/base/json/json.js";
import type { World } from "../../src/base/ports/world.js";
import type { RemoteSpec } from "../../src/mcp/spec.js";
import { httpTransport } from "../../src/mcp/transport/http/http-transport.js";
import { SpillDirectory } from "../../src/mcp/transport/large/spilled.js";
import type {
  IncomingMessage,
  RequestLoss,
  RpcId,
  SendHint,
  Transport,
  TransportListener,
} from "../../src/mcp/transport/transport.js";
import { META, MODERN_VERSION } from "../../src/mcp/versions.js";
import { Feed } from "../../src/testing/kit/feed.js";
import { nodeWorld } from "../../src/world/index.js";

export type Told =
  | { readonly kind: "message"; readonly message: IncomingMessage }
  | { readonly kind: "lost"; readonly id: RpcId; readonly loss: RequestLoss }
  | { readonly kind: "closed"; readonly error: TenonError }
  | { readonly kind: "noise"; readonly what: string };

export type Ended =
  | { readonly kind: "result"; readonly result: JsonObject }
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  | { readonly kind: "lost"; readonly loss: RequestLoss };

export interface TestTransportOptions {
  readonly world?: World;
  readonly allowHosts?: readonly string[];
}

export class TestTransport implements AsyncDisposable {
  readonly transport: Transport;
  readonly told: Feed<Told> = new Feed<Told>("word of the transport");
  readonly #spill: SpillDirectory;
  #nextId = 1;
  #isDisposed = false;

  constructor(spec: Pick<RemoteSpec, "url"> & Partial<RemoteSpec>, options: TestTransportOptions = {}) {
    const whole: RemoteSpec = { kind: "http", name: "test", headers: {}, ...spec };
    const world = options.world ?? nodeWorld({ env: {} });
    const { allowHosts } = options;
    this.#spill = new SpillDirectory(world);
    this.transport = httpTransport(whole, { world, spill: this.#spill, ...(allowHosts ? { allowHosts } : {}) });
    const listener: TransportListener = {
      onMessage: (message) => this.#tell({ kind: "message", message }),
      onRequestLost: (id, loss) => this.#tell({ kind: "lost", id, loss }),
      onClosed: (error) => this.#tell({ kind: "closed", error }),
      onNoise: (what) => this.#tell({ kind: "noise", what }),
    };
    this.transport.start(listener);
  }

  /** Sends a request and returns its id. */
  send(method: string, params: JsonObject = {}, hint?: SendHint): number {
    const id = this.#nextId++;
    this.transport.send({ jsonrpc: "2.0", id, method, params }, hint);
    return id;
  }

  notify(method: string, params: JsonObject = {}): void {
    this.transport.send({ jsonrpc: "2.0", method, params });
  }

  /** How the request ended: exactly one of its three ends is told. */
  async ended(id: number): Promise<Ended> {
    const told = await this.told.find((item) => endOf(item, id) !== undefined);
    const end = endOf(told, id);
    if (!end) throw new Error("no end");
    return end;
  }

  async request(method: string, params?: JsonObject, hint?: SendHint): Promise<Ended> {
    return await this.ended(this.send(method, params, hint));
  }

  async closed(): Promise<TenonError> {
    const told = await this.told.find(({ kind }) => kind === "closed");
    if (told.kind !== "closed") throw new Error("not closed");
    return told.error;
  }

  /** The ends that were told for this request: more than one is a defect. */
  endsOf(id: number): number {
    return this.told.items.filter((item) => endOf(item, id) !== undefined).length;
  }

  notifications(method: string): readonly JsonObject[] {
    return this.told.items.flatMap((item) =>
      item.kind === "message" && item.message.kind === "notification" && item.message.method === method
        ? [item.message.params]
        : [],
    );
  }

  async initialize(protocolVersion = "2025-11-25"): Promise<Ended> {
    const ended = await this.request("initialize", {
      protocolVersion,
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    if (ended.kind !== "result") return ended;
    const { protocolVersion: agreed } = ended.result;
    this.transport.agreed({ era: "legacy", protocolVersion: typeof agreed === "string" ? agreed : "" });
    this.notify("notifications/initialized");
    return ended;
  }

  /** Agrees on the modern era without asking. */
  beModern(): this {
    this.transport.agreed({ era: "modern", protocolVersion: MODERN_VERSION });
    return this;
  }

  async requestModern(method: string, params: JsonObject = {}, hint?: SendHint): Promise<Ended> {
    return await this.request(method, modernParams(params), hint);
  }

  async call(name: string, args: JsonObject = {}): Promise<Ended> {
    return await this.request("tools/call", { name, arguments: args });
  }

  async close(): Promise<void> {
    this.#isDisposed = true;
    await this.transport.close({ stdinMs: 1_000, terminateMs: 1_000 });
    await this.#spill.dispose();
    this.told.end(new Error("the transport is closed"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isDisposed) await this.close();
  }

  #tell(told: Told): void {
    this.told.push(told);
  }
}

export function modernParams(params: JsonObject = {}): JsonObject {
  return {
    ...params,
    _meta: {
      [META.protocolVersion]: MODERN_VERSION,
      [META.clientInfo]: { name: "test", version: "1" },
      [META.clientCapabilities]: {},
    },
  };
}

function endOf(told: Told, id: number): Ended | undefined {
  if (told.kind === "lost") return told.id === id ? { kind: "lost", loss: told.loss } : undefined;
  if (told.kind !== "message") return undefined;
  const { message } = told;
  if (message.kind === "result" && message.id === id) return { kind: "result", result: message.result };
  if (message.kind !== "error" || message.id !== id) return undefined;
  return { kind: "error", code: message.error.code, message: message.error.message };
}

/** The text of a tool's result, or how it ended otherwise. */
export function textOf(ended: Ended): string {
  if (ended.kind === "lost") return `lost: ${ended.loss.error.code}: ${ended.loss.error.message}`;
  if (ended.kind === "error") return `error ${ended.code}: ${ended.message}`;
  const { content } = ended.result;
  const [first] = Array.isArray(content) ? content : [];
  return isJsonObject(first) && typeof first["text"] === "string" ? first["text"] : JSON.stringify(ended.result);
}
