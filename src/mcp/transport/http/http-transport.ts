// The transport to a remote server: Streamable HTTP, or the older HTTP+SSE when the entry or the server says so.

import { type TenonError, toTenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { World } from "../../../base/ports/world.js";
import { KnownSecrets } from "../../../base/text/secrets.js";
import type { RemoteSpec } from "../../spec.js";
import type { OutgoingMessage, RpcId } from "../json-rpc.js";
import { SpillDirectory } from "../large/spilled.js";
import type { RequestLoss, Transport, TransportListener } from "../transport.js";
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
