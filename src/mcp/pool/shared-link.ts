// One link of a shared server, and the view each session has of it: its own requests, its own answers, nothing of the others.
import { TenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import type { Link } from "../era/link.js";
import type { RequestOptions, RpcOutcome } from "../rpc/rpc.js";
import { joinSignals } from "./joined-signal.js";
import { LinkUsage, type LinkUser } from "./link-usage.js";

/** What the view of a link needs to know of the session it is for. */
export interface LinkHolder {
  readonly linkUser: LinkUser;
  /** Aborts when the session has left: its requests end then, and only they. */
  readonly signal: AbortSignal;
  /** Answers what a request of this session asks for. */
  readonly answer: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  track<T>(work: Promise<T>): Promise<T>;
}

type Listener = (method: string, params: JsonObject) => void;

/** What a server says to everybody on the connection; whom it is for is the shared peer's to decide. */
const FOR_THE_PEER: ReadonlySet<string> = new Set(["notifications/message", "notifications/elicitation/complete"]);

export class SharedLink {
  readonly usage: LinkUsage = new LinkUsage();
  readonly #link: Link;
  readonly #listeners = new Map<LinkUser, Set<Listener>>();

  constructor(link: Link) {
    this.#link = link;
    // Once for all: a link keeps its listeners for as long as it lives, and sessions come and go.
    link.onNotification((method, params) => {
      if (FOR_THE_PEER.has(method)) return;
      for (const listeners of [...this.#listeners.values()])
        for (const listener of [...listeners]) listener(method, params);
    });
  }

  viewFor(holder: LinkHolder): Link {
    const link = this.#link;
    return {
      ...link,
      request: (method, params, options) => this.#request(holder, { method, params }, options),
      askPeer: (method, params, signal) => holder.answer(method, params, signal),
      onNotification: (listener) => this.#listen(holder, listener),
    };
  }

  async #request(
    holder: LinkHolder,
    { method, params }: { readonly method: string; readonly params: JsonObject },
    options: RequestOptions,
  ): Promise<RpcOutcome> {
    const { linkUser, signal, answer } = holder;
    if (options.signal.aborted) return { kind: "cancelled" };
    if (signal.aborted) return { kind: "lost", loss: { error: hasLeft(), wasSent: false } };
    const end = this.usage.begin(linkUser);
    using over = joinSignals(options.signal, signal);
    const request = this.#link.request(method, params, { ...options, signal: over.signal, answer });
    const outcome = await holder.track(request);
    end(isAnswered(outcome));
    const isCutOff = outcome.kind === "cancelled" && !options.signal.aborted;
    return isCutOff ? { kind: "lost", loss: { error: hasLeft(), wasSent: true } } : outcome;
  }

  #listen({ linkUser, signal }: LinkHolder, listener: Listener): void {
    if (signal.aborted) return;
    const listeners = this.#listeners.get(linkUser);
    if (listeners) listeners.add(listener);
    else {
      this.#listeners.set(linkUser, new Set([listener]));
      signal.addEventListener("abort", () => this.#listeners.delete(linkUser), { once: true });
    }
  }
}

/** False when the server may still be at it. */
function isAnswered(outcome: RpcOutcome): boolean {
  return outcome.kind === "result" || outcome.kind === "error" || (outcome.kind === "lost" && !outcome.loss.wasSent);
}

function hasLeft(): TenonError {
  return new TenonError("mcp.connection_lost", "the connection was closed");
}
