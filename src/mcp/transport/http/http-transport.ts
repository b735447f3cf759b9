// The transport to a remote server: Streamable HTTP, or the older HTTP+SSE when the entry or the server says so.
import type { Buffer } from "node:buffer";
import type { IncomingMessage as HttpResponse } from "node:http";
import { TenonError, toTenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { Timer, World } from "../../../base/ports/world.js";
import { SERVING } from "../../../base/serving.js";
import { KnownSecrets } from "../../../base/text/secrets.js";
import { MCP_LIMITS } from "../../limits.js";
import type { RemoteSpec } from "../../spec.js";
import type { SpillDirectory } from "../large/spilled.js";
import type { Agreement, OutgoingMessage, RequestLoss, RpcId, Transport, TransportListener } from "../transport.js";
import { Dialler, type Place, placeAt } from "./dial.js";
import type { Exchange } from "./exchange.js";
import { userHeaders } from "./headers.js";
import { type Delivery, HttpSender, type RemoteParts } from "./http-sender.js";
import { type Incoming, mediaType, type Reporting, report } from "./incoming.js";
import { StreamReader } from "./readers.js";
import type { Refused } from "./refusal.js";
import type { RequestAccess } from "./request-access.js";
import { StreamableTransport } from "./streamable-transport.js";

export interface HttpTransportOptions {
  readonly world: World;
  /** Hosts the user allows without TLS and at private addresses. */
  readonly allowHosts?: readonly string[];
  /** Where results too long for memory are kept; its owner disposes of it. */
  readonly spill: SpillDirectory;
  /** Who named the URL; `typed` unless given. */
  readonly urlSource?: "typed" | "project";
  /** Supplies tokens of a log-in. Not used for a server with credentials of its own; closed with the transport. */
  readonly access?: RequestAccess;
  /** Of its entry and its log-in. */
  readonly secrets?: KnownSecrets;
}

/** Never throws: a URL or header that cannot be used is reported through `onClosed`. */
export function httpTransport(spec: RemoteSpec, options: HttpTransportOptions): Transport {
  const { world, allowHosts, secrets = new KnownSecrets(), spill } = options;
  const dialler = new Dialler(world, allowHosts);
  try {
    const user = userHeaders(spec, world.env[SERVING]);
    // If a server refuses credentials that the user configured, no log-in is tried instead.
    const access = user.hasAuthorization ? undefined : options.access;
    for (const name of user.ignored) world.log.warn("mcp.header_ignored", { server: spec.name, header: name });
    const parts: RemoteParts = {
      world,
      dialler,
      user,
      secrets,
      place: dialler.check(spec.url, options.urlSource ?? "typed"),
      folder: () => spill.folder,
      ...defined({ access }),
    };
    return spec.kind === "sse" ? new SseTransport(parts) : withOlderFallback(parts);
  } catch (thrown) {
    return refusedTransport(toTenonError(thrown, "mcp.invalid_spec"));
  }
}

/** The statuses with which servers of the older transport refuse a POST they do not know. */
const NO_SUCH_POST: readonly (number | undefined)[] = [400, 404, 405];

/** Streamable HTTP until the server refuses `initialize` itself; then HTTP+SSE, if a GET brings an endpoint. */
function withOlderFallback(parts: RemoteParts): Transport {
  let current: Transport = new StreamableTransport(parts);
  let initialize: (OutgoingMessage & { readonly id: RpcId }) | undefined;
  let trial: SseTransport | undefined;
  /** If the trial fails, nothing changes: then the refusal of `initialize` is reported. */
  const tryOlder = (request: OutgoingMessage & { readonly id: RpcId }, loss: RequestLoss, to: TransportListener) => {
    let isReady = false;
    const older = new SseTransport(parts, () => {
      isReady = true;
      current = older;
    });
    trial = older;
    older.start({
      onMessage: (message) => to.onMessage(message),
      onNoise: (what) => to.onNoise(what),
      onRequestLost: (id, why) => {
        if (isReady) to.onRequestLost(id, why);
      },
      onClosed: (error) => {
        if (isReady) to.onClosed(error);
        else to.onRequestLost(request.id, loss);
      },
    });
    older.send(request);
  };
  return {
    stderrTail: "",
    get sessionId() {
      return current.sessionId;
    },
    start: (listener) =>
      current.start({
        onMessage: (message) => listener.onMessage(message),
        onNoise: (what) => listener.onNoise(what),
        onClosed: (error) => listener.onClosed(error),
        onRequestLost: (id, loss) => {
          const isUnknown = initialize?.id === id && !trial && NO_SUCH_POST.includes(loss.httpStatus);
          if (initialize && isUnknown) tryOlder(initialize, loss, listener);
          else listener.onRequestLost(id, loss);
        },
      }),
    send: (message, hint) => {
      if ("method" in message && "id" in message && message.method === "initialize") initialize = message;
      current.send(message, hint);
    },
    cancel: (id, reason) => {
      if (initialize?.id === id) {
        initialize = undefined;
        trial?.stop();
      }
      current.cancel(id, reason);
    },
    agreed: (agreement) => {
      initialize = undefined;
      current.agreed(agreement);
    },
    close: async (grace) => {
      trial?.stop();
      await current.close(grace);
    },
  };
}

/** A transport that cannot be opened at all. */
function refusedTransport(error: TenonError): Transport {
  let isClosed = false;
  return {
    stderrTail: "",
    start: (listener) =>
      queueMicrotask(() => {
        if (!isClosed) listener.onClosed(error);
      }),
    send: () => {},
    cancel: () => {},
    agreed: () => {},
    close: async () => {
      isClosed = true;
    },
  };
}

const METHOD_NOT_FOUND = -32601;

/** HTTP+SSE of 2024-11-05: one GET stream for everything the server sends, POSTs to the endpoint it names. */
class SseTransport implements Transport {
  readonly stderrTail = "";
  readonly #parts: RemoteParts;
  readonly #sender: HttpSender;
  readonly #onReady: () => void;
  readonly #held: OutgoingMessage[] = [];
  /** Requests on their way or waiting for their answer, by id; true when a cancellation may be sent. */
  readonly #waiting = new Map<RpcId, boolean>();
  #listener: TransportListener | undefined;
  #stream: Exchange | undefined;
  #reader: StreamReader | undefined;
  #deadline: Timer | undefined;
  #isReady = false;
  #isGone = false;
  readonly #reporting: Reporting = { isGone: () => this.#isGone, answered: (id) => this.#waiting.delete(id) };

  /** `onReady`: the server has named its endpoint, so it does speak this transport. */
  constructor(parts: RemoteParts, onReady: () => void = () => {}) {
    this.#parts = parts;
    this.#sender = new HttpSender(parts);
    this.#onReady = onReady;
  }

  start(listener: TransportListener): void {
    this.#listener = listener;
    const { world } = this.#parts;
    this.#deadline = world.after(MCP_LIMITS.sseEndpointMs, () =>
      this.#end(new TenonError("mcp.connect_timeout", "the server did not name its endpoint in time")),
    );
    this.#stream = this.#sender.get(undefined, {
      onFailed: ({ error }) => this.#end(error),
      onHead: (response, place) => {
        if (this.#isGone) return;
        const isStream = mediaType(response) === "text/event-stream";
        if (response.statusCode === 200 && isStream) this.#follow(response, place);
        else if (response.statusCode === 200) {
          response.destroy();
          this.#end(new TenonError("mcp.protocol", `the server answered with ${mediaType(response)}, not with events`));
        } else this.#sender.judge(response, undefined, (refused) => this.#end(errorOf(refused)));
      },
    });
  }

  send(message: OutgoingMessage): void {
    if (this.#isGone) return;
    if ("method" in message && message.method === "server/discover" && "id" in message) this.#refuseProbe(message.id);
    else if (this.#isReady) this.#post(message);
    else this.#held.push(message);
  }

  cancel(id: RpcId, reason: string): void {
    const held = this.#held.findIndex((message) => "method" in message && "id" in message && message.id === id);
    if (held !== -1) this.#held.splice(held, 1);
    const mayTell = this.#waiting.get(id) ?? false;
    this.#waiting.delete(id);
    if (mayTell) this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason } });
  }

  agreed(agreement: Agreement): void {
    this.#sender.headers.converse(agreement, undefined);
  }

  async close(): Promise<void> {
    this.stop();
    this.#parts.dialler.close();
    await this.#parts.access?.close();
  }

  /** Ends it without ending the connections it shares. */
  stop(): void {
    this.#isGone = true;
    this.#deadline?.clear();
    this.#sender.stop();
    this.#reader?.stop();
    this.#stream?.abort();
    this.#held.length = 0;
    this.#waiting.clear();
  }

  /** This transport is older than the probe: asking would only cost a round trip, or confuse the server. */
  #refuseProbe(id: RpcId): void {
    queueMicrotask(() => {
      if (this.#isGone) return;
      const message = "HTTP+SSE servers speak the legacy era only";
      this.#listener?.onMessage({ kind: "error", id, error: { code: METHOD_NOT_FOUND, message } });
    });
  }

  #follow(response: HttpResponse, place: Place): void {
    this.#reader = new StreamReader(response, this.#parts, {
      onIncoming: (incoming) => this.#receive(incoming),
      onOther: (type, data) => {
        if (type === "endpoint" && !this.#isReady) this.#ready(data, place);
      },
      onStreamEnd: () => {
        const words = this.#isReady ? "the server ended the event stream" : "the event stream ended before it began";
        this.#end(new TenonError(this.#isReady ? "mcp.session_lost" : "mcp.connect_failed", words));
      },
    });
  }

  #ready(data: Buffer, place: Place): void {
    try {
      const endpoint = this.#parts.dialler.check(data.toString("utf8").trim(), "redirect", place);
      if (endpoint.url.origin !== place.url.origin) {
        throw new TenonError("mcp.url_refused", `the server names an endpoint on "${endpoint.url.host}", not its own`);
      }
      this.#sender.place = placeAt(place, endpoint.url);
    } catch (thrown) {
      this.#end(toTenonError(thrown, "mcp.protocol"));
      return;
    }
    this.#sender.hasSessionInPlace = true;
    this.#deadline?.clear();
    this.#isReady = true;
    this.#onReady();
    for (const message of this.#held.splice(0)) this.#post(message);
  }

  #receive(incoming: Incoming): void {
    if (this.#isReady) report(incoming, this.#listener, this.#reporting);
    else this.#end(new TenonError("mcp.protocol", "the server's event stream does not begin with its endpoint"));
  }

  #post(message: OutgoingMessage): void {
    const id = "method" in message && "id" in message ? message.id : undefined;
    if (id !== undefined) this.#waiting.set(id, "method" in message && message.method !== "initialize");
    this.#sender.deliver(message, (delivery) => this.#delivered(message, id, delivery));
  }

  #delivered(message: OutgoingMessage, id: RpcId | undefined, delivery: Delivery): void {
    if (delivery.kind === "delivered" || this.#isGone) return;
    if (delivery.kind === "session_lost") {
      if (id !== undefined) this.#listener?.onRequestLost(id, { error: delivery.error, wasSent: false });
      this.#end(delivery.error);
    } else if (id === undefined) {
      const what = "method" in message ? message.method : "our answer to a request of the server";
      this.#listener?.onNoise(`${what} was not delivered`);
    } else if (this.#waiting.delete(id)) {
      if (delivery.kind === "answer") this.#listener?.onMessage(delivery.message);
      else this.#listener?.onRequestLost(id, delivery.loss);
    }
  }

  #end(error: TenonError): void {
    if (this.#isGone) return;
    const unsent = this.#held.flatMap((message) => ("method" in message && "id" in message ? [message.id] : []));
    this.stop();
    for (const id of unsent) this.#listener?.onRequestLost(id, { error, wasSent: false });
    this.#listener?.onClosed(error);
  }
}

function errorOf(refused: Refused): TenonError {
  switch (refused.kind) {
    case "loss":
      return refused.loss.error;
    case "session_lost":
      return refused.error;
    case "answer":
      return new TenonError("mcp.protocol", "the server answered the opening of its event stream with an error");
  }
}
