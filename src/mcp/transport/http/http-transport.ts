// The transport to a remote server: Streamable HTTP, or the older HTTP+SSE when the entry or the server says so.

import { type TenonError, toTenonError } from "../../../base/errors.js";
import type { EndGrace } from "../../../base/io/process.js";
import { defined } from "../../../base/json/defined.js";
import type { World } from "../../../base/ports/world.js";
import { KnownSecrets } from "../../../base/text/secrets.js";
import type { RemoteSpec } from "../../spec.js";
import type { IncomingMessage, OutgoingMessage, RpcId } from "../json-rpc.js";
import { SpillDirectory } from "../large/spill-directory.js";
import type { Agreement, RequestLoss, SendHint, Transport, TransportListener } from "../transport.js";
import { Dialler } from "./dial.js";
import { userHeaders } from "./headers.js";
import type { RemoteParts } from "./http-sender.js";
import type { RequestAccess } from "./request-access.js";
import { SseTransport } from "./sse-transport.js";
import { StreamableTransport } from "./streamable-transport.js";

export interface HttpTransportOptions {
  readonly world: World;
  /** Hosts the user allows without TLS and at private addresses. */
  readonly allowHosts?: readonly string[];
  /** Where results too long for memory are kept. Given one, the transport leaves it to its owner to dispose of. */
  readonly spill?: SpillDirectory;
  /** Who named the URL; `typed` unless given. */
  readonly urlSource?: "typed" | "project";
  /** Supplies tokens of a log-in. Not used for a server with credentials of its own; closed with the transport. */
  readonly access?: RequestAccess;
  /** Of its entry and its log-in. */
  readonly secrets?: KnownSecrets;
}

/** Never throws: a URL or header that cannot be used is told through `onClosed`. */
export function httpTransport(spec: RemoteSpec, options: HttpTransportOptions): Transport {
  const { world, allowHosts, secrets = new KnownSecrets() } = options;
  const spill = options.spill ?? new SpillDirectory(world);
  const dialler = new Dialler(world, allowHosts);
  try {
    const user = userHeaders(spec);
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
      dispose: async () => {
        await access?.close();
        if (!options.spill) await spill.dispose();
      },
    };
    return spec.kind === "sse" ? new SseTransport(parts) : new FallbackTransport(parts);
  } catch (thrown) {
    return new RefusedTransport(toTenonError(thrown, "mcp.invalid_spec"));
  }
}

/** What servers of the older transport answer to a POST they know nothing of. */
const NO_SUCH_POST: readonly (number | undefined)[] = [400, 404, 405];

/** Streamable HTTP until the server refuses `initialize` itself; then, if a GET brings an endpoint, HTTP+SSE. */
class FallbackTransport implements Transport, TransportListener {
  readonly stderrTail = "";
  readonly #parts: RemoteParts;
  #transport: Transport;
  #listener: TransportListener | undefined;
  #initialize: (OutgoingMessage & { readonly id: RpcId }) | undefined;
  #trial: SseTransport | undefined;

  constructor(parts: RemoteParts) {
    this.#parts = parts;
    this.#transport = new StreamableTransport(parts);
  }

  get sessionId(): string | undefined {
    return this.#transport.sessionId;
  }

  start(listener: TransportListener): void {
    this.#listener = listener;
    this.#transport.start(this);
  }

  send(message: OutgoingMessage, hint?: SendHint): void {
    if ("method" in message && "id" in message && message.method === "initialize") this.#initialize = message;
    this.#transport.send(message, hint);
  }

  cancel(id: RpcId, reason: string): void {
    if (this.#initialize?.id === id) {
      this.#initialize = undefined;
      this.#trial?.stop();
    }
    this.#transport.cancel(id, reason);
  }

  agreed(agreement: Agreement): void {
    this.#initialize = undefined;
    this.#transport.agreed(agreement);
  }

  async close(grace: EndGrace): Promise<void> {
    this.#trial?.stop();
    await this.#transport.close(grace);
  }

  onMessage(message: IncomingMessage): void {
    this.#listener?.onMessage(message);
  }

  onRequestLost(id: RpcId, loss: RequestLoss): void {
    const initialize = this.#initialize;
    if (initialize?.id === id && !this.#trial && NO_SUCH_POST.includes(loss.httpStatus))
      this.#tryOlder(initialize, loss);
    else this.#listener?.onRequestLost(id, loss);
  }

  onClosed(error: TenonError): void {
    this.#listener?.onClosed(error);
  }

  onNoise(what: string): void {
    this.#listener?.onNoise(what);
  }

  /** A trial that fails changes nothing: then the refusal of `initialize` is what is told. */
  #tryOlder(initialize: OutgoingMessage & { readonly id: RpcId }, loss: RequestLoss): void {
    let isReady = false;
    const trial = new SseTransport(this.#parts, () => {
      isReady = true;
      this.#transport = trial;
    });
    this.#trial = trial;
    trial.start({
      onMessage: (message) => this.onMessage(message),
      onNoise: (what) => this.onNoise(what),
      onRequestLost: (id, why) => {
        if (isReady) this.#listener?.onRequestLost(id, why);
      },
      onClosed: (error) => {
        if (isReady) this.onClosed(error);
        else this.#listener?.onRequestLost(initialize.id, loss);
      },
    });
    trial.send(initialize);
  }
}

/** A transport that was over before it began. */
class RefusedTransport implements Transport {
  readonly stderrTail = "";
  readonly #error: TenonError;
  #isClosed = false;

  constructor(error: TenonError) {
    this.#error = error;
  }

  start(listener: TransportListener): void {
    queueMicrotask(() => {
      if (!this.#isClosed) listener.onClosed(this.#error);
    });
  }

  send(): void {}

  cancel(): void {}

  agreed(): void {}

  async close(): Promise<void> {
    this.#isClosed = true;
  }
}
