// One transport with its requests, from its start to its end: serves the peer meanwhile, and becomes a link once both sides agree.
import { Scope } from "../../base/async/scope.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import type { EndGrace } from "../../base/io/process.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { inSpan, type Span, type SpanAttributes, type Telemetry } from "../../base/ports/trace.js";
import { type RequestOptions, Rpc, type RpcHandler, type RpcOutcome } from "../rpc/rpc.js";
import { isRemote, type ServerSpec } from "../spec.js";
import { type Agreement, type RpcId, type SendHint, type Transport, wrapTransport } from "../transport/transport.js";
import { META } from "../versions.js";
import { envelopeOf, withEnvelope } from "./envelope.js";
import { type Rounds, requestInRounds } from "./input-rounds.js";
import { FOREVER_MS, type Handshake, type Link, type LinkOptions } from "./link.js";
import { ChangeListener } from "./listen.js";
import { PeerAnswers } from "./peer.js";

/** What a request names goes into a header of its own over modern HTTP. */
const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

export class OpenLink implements RpcHandler {
  readonly rpc: Rpc;
  readonly wire: Transport;
  readonly envelope: JsonObject;
  /** Resolves when the wire ends by itself. */
  readonly broken: Promise<TenonError>;
  readonly #inner: Transport;
  readonly #options: LinkOptions;
  readonly #answers: PeerAnswers;
  readonly #rounds: Rounds;
  readonly #scope: Scope;
  /** Subscriptions beside the one for changes, by the ids of their requests. */
  readonly #streams = new Set<unknown>();
  readonly #listeners: ((method: string, params: JsonObject) => void)[] = [];
  #break: (error: TenonError) => void = () => {};
  #changes: ChangeListener | undefined;
  #era: Agreement["era"] | undefined;

  /** Starts the wire at once. */
  constructor(wire: Transport, options: LinkOptions) {
    this.#inner = wire;
    this.#options = options;
    this.#answers = new PeerAnswers(options.peer, options.world.log);
    this.#scope = new Scope(options.world.log);
    this.envelope = envelopeOf(options.client, options.peer);
    this.broken = new Promise((resolve) => {
      this.#break = resolve;
    });
    this.wire = wrapTransport(wire, { close: (grace) => this.close(grace) });
    this.rpc = new Rpc(wire, options.world, this);
    this.#rounds = {
      world: options.world,
      answers: this.#answers,
      send: (method, params, leg) => this.rpc.request(method, withEnvelope(params, this.envelope), leg),
    };
    this.rpc.start();
  }

  /** Work that belongs to this line: over with it, and awaited when it is closed. */
  run(name: string, work: (signal: AbortSignal) => Promise<void>): void {
    this.#scope.run(name, work);
  }

  link(handshake: Handshake): Link {
    const { era } = handshake.agreement;
    this.#era = era;
    if (era === "modern") this.#followChanges(handshake.capabilities);
    const { rpc, wire, broken } = this;
    return {
      ...handshake,
      wire,
      broken,
      counters: rpc.counters,
      request: (method, params, options) =>
        era === "legacy" ? rpc.request(method, params, options) : this.#requestModern(method, params, options),
      notify: (method, params) => rpc.notify(method, era === "legacy" ? params : withEnvelope(params, this.envelope)),
      followProgress: (id, listener) => rpc.followProgress(id, listener),
      ...(era === "modern" ? { listen: (filter, signal) => this.#listen(filter, signal) } : {}),
      askPeer: (method, params, signal) => this.#answers.answer(method, params, signal),
      onNotification: (listener) => {
        this.#listeners.push(listener);
      },
    };
  }

  async close(grace: EndGrace): Promise<void> {
    this.rpc.end(new TenonError("mcp.connection_lost", "the connection was closed"));
    await Promise.all([this.#inner.close(grace), this.#scope.close()]);
  }

  async onRequest(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject | undefined> {
    if (this.#era !== "modern") return await this.#answers.answer(method, params, signal);
    this.rpc.onNoise(`a request of the server (${method}), which the modern era does not know`);
    return undefined;
  }

  onNotification(method: string, params: JsonObject): void {
    if (this.#isOfStream(method, params) || this.#changes?.hear(method, params)) return;
    if (method === "notifications/cancelled") return;
    this.#answers.hear(method, params);
    this.#announce(method, params);
  }

  onClosed(error: TenonError): void {
    this.#break(error);
  }

  #announce(method: string, params: JsonObject): void {
    for (const listener of this.#listeners) {
      try {
        listener(method, params);
      } catch (thrown) {
        this.#options.world.log.error("mcp.listener_failed", { method, error: messageOf(thrown) });
      }
    }
  }

  #requestModern(method: string, params: JsonObject, options: RequestOptions): Promise<RpcOutcome> {
    const named = params[NAMED_BY[method] ?? ""];
    const { answer } = options;
    const rounds = answer ? { ...this.#rounds, answers: { answer } } : this.#rounds;
    if (typeof named !== "string" || options.hint?.name !== undefined) {
      return requestInRounds(rounds, { method, params }, options);
    }
    const hint: SendHint = { name: named, ...options.hint };
    return requestInRounds(rounds, { method, params }, { ...options, hint });
  }

  async #listen(notifications: JsonObject, signal: AbortSignal): Promise<void> {
    let stream: unknown;
    const outcome = await this.rpc.request("subscriptions/listen", withEnvelope({ notifications }, this.envelope), {
      signal,
      timeoutMs: FOREVER_MS,
      onSent: (id) => {
        stream = id;
        this.#streams.add(id);
      },
    });
    this.#streams.delete(stream);
    if (outcome.kind !== "error") return;
    this.#options.world.log.debug("mcp.listen_refused", { message: outcome.error.message });
  }

  /** About one of those streams itself: that it is open, or that its server takes it back. */
  #isOfStream(method: string, params: JsonObject): boolean {
    if (method === "notifications/cancelled") return this.#streams.has(params["requestId"]);
    if (method !== "notifications/subscriptions/acknowledged") return false;
    const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    return this.#streams.has(meta[META.subscriptionId]);
  }

  #followChanges(capabilities: JsonObject): void {
    const changes = new ChangeListener(
      {
        world: this.#options.world,
        listen: (params, signal) =>
          this.rpc.request("subscriptions/listen", withEnvelope(params, this.envelope), {
            signal,
            timeoutMs: FOREVER_MS,
          }),
        announce: (method) => this.#announce(method, {}),
      },
      capabilities,
    );
    this.#changes = changes;
    this.#scope.run("listen for changes", (signal) => changes.run(signal));
  }
}

/** Costs a request nothing while nobody listens. */
export function watchedLink(link: Link, spec: ServerSpec, telemetry: Telemetry | undefined): Link {
  if (!telemetry) return link;
  const place = placeOf(spec);
  return {
    ...link,
    request: (method, params, options) =>
      telemetry.isActive
        ? requestInSpan({ link, telemetry, place }, { method, params }, options)
        : link.request(method, params, options),
  };
}

interface Request {
  readonly method: string;
  readonly params: JsonObject;
}

async function requestInSpan(
  { link, telemetry, place }: { readonly link: Link; readonly telemetry: Telemetry; readonly place: SpanAttributes },
  request: Request,
  options: RequestOptions,
): Promise<RpcOutcome> {
  const { method, params } = request;
  const attributes: SpanAttributes = {
    "mcp.method.name": method,
    "mcp.protocol.version": link.agreement.protocolVersion,
    "mcp.session.id": link.wire.sessionId,
    ...place,
    ...targetOf(request),
  };
  const send = async (span: Span): Promise<RpcOutcome> => {
    const { context } = telemetry;
    const onSent = (id: RpcId) => {
      span.set({ "jsonrpc.request.id": String(id) });
      options.onSent?.(id);
    };
    // The keys are the ones the protocol sets aside for this, without a prefix.
    const traced = context ? { ...params, _meta: Object.assign({}, params["_meta"], context) } : params;
    const outcome = await link.request(method, traced, { ...options, onSent });
    note(span, method, outcome);
    return outcome;
  };
  const outer = telemetry.current;
  // By the convention a call that is traced already gets the attributes instead of a span of its own.
  if (method === "tools/call" && outer?.operation === "execute_tool") {
    outer.set(withoutGenAi(attributes));
    return await send(outer);
  }
  const target = attributes["gen_ai.tool.name"] ?? attributes["gen_ai.prompt.name"];
  const name = typeof target === "string" ? `${method} ${target}` : method;
  return await inSpan(telemetry, { name, kind: "client", attributes }, send);
}

function note(span: Span, method: string, outcome: RpcOutcome): void {
  switch (outcome.kind) {
    case "result":
      if (method === "tools/call" && outcome.result["isError"] === true) span.fail("tool_error");
      break;
    case "error": {
      const { code, message } = outcome.error;
      span.set({ "rpc.response.status_code": String(code) });
      span.fail(String(code), message);
      break;
    }
    case "timed_out":
      span.fail("timeout");
      break;
    case "lost":
      span.fail(outcome.loss.error.code, outcome.loss.error.message);
      break;
    case "cancelled": // by us, on purpose: no error
      break;
    default:
      unreachable(outcome);
  }
}

function targetOf({ method, params }: Request): SpanAttributes {
  const { name, uri } = params;
  switch (method) {
    case "tools/call":
      return { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": textOf(name) };
    case "prompts/get":
      return { "gen_ai.prompt.name": textOf(name) };
    default:
      return { "mcp.resource.uri": textOf(uri) };
  }
}

/** The outer span names the tool as the model does. */
function withoutGenAi(attributes: SpanAttributes): SpanAttributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !name.startsWith("gen_ai.")));
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function placeOf(spec: ServerSpec): SpanAttributes {
  if (!isRemote(spec)) return spec.kind === "stdio" ? { "network.transport": "pipe" } : {};
  const { hostname, port, protocol } = new URL(spec.url);
  return {
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "server.address": hostname,
    "server.port": port === "" ? (protocol === "http:" ? 80 : 443) : Number(port),
  };
}
