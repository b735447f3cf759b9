// One link of a shared server, and the view each session has of it: its own requests, its own answers, nothing of the others.
import { Cell } from "../../base/async/cell.js";
import { abortListeners } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import type { Link } from "../protocol/link.js";
import type { RequestOptions, RpcOutcome } from "../rpc/rpc.js";
import type { Lease } from "./shared-server.js";

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

  viewFor(lease: Lease): Link {
    const link = this.#link;
    return {
      ...link,
      request: (method, params, options) => this.#request(lease, { method, params }, options),
      askPeer: (method, params, signal) => lease.answer(method, params, signal),
      onNotification: (listener) => this.#listen(lease, listener),
    };
  }

  async #request(
    lease: Lease,
    { method, params }: { readonly method: string; readonly params: JsonObject },
    options: RequestOptions,
  ): Promise<RpcOutcome> {
    const { linkUser, signal, answer } = lease;
    if (options.signal.aborted) return { kind: "cancelled" };
    if (signal.aborted) return { kind: "lost", loss: { error: hasLeft(), wasSent: false } };
    const end = this.usage.begin(linkUser);
    using over = joinSignals(options.signal, signal);
    const request = this.#link.request(method, params, { ...options, signal: over.signal, answer });
    const outcome = await lease.track(request);
    end(isAnswered(outcome));
    const isCutOff = outcome.kind === "cancelled" && !options.signal.aborted;
    return isCutOff ? { kind: "lost", loss: { error: hasLeft(), wasSent: true } } : outcome;
  }

  #listen({ linkUser, signal }: Lease, listener: Listener): void {
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

/** Tells a session from the others, and nothing else. */
export type LinkUser = object;

/** `several`: it may be any of them. `nobody`: no request is under way that it could belong to. */
export type Asker = { readonly kind: "one"; readonly linkUser: LinkUser } | { readonly kind: "several" | "nobody" };

export class LinkUsage {
  /**
   * Requests and calls that are not over for the server: those that run, and those that were given up here, by a cancel or a
   * deadline. Of those nobody can say when the server is done with them, so they count for as long as the link lives.
   */
  readonly #open = new Map<LinkUser, number>();
  /** Counts changes of it. */
  readonly #changes = new Cell(0);
  #first: LinkUser | undefined;
  #hasSeveral = false;

  /** Returns the way to end it; `isAnswered` is false when the server may still be at it. */
  begin(linkUser: LinkUser): (isAnswered: boolean) => void {
    this.#first ??= linkUser;
    if (this.#first !== linkUser) this.#hasSeveral = true;
    this.#add(linkUser, 1);
    return (isAnswered) => {
      if (isAnswered) this.#add(linkUser, -1);
    };
  }

  /** The only session that ever sent anything over the link; undefined when there was none, or more than one. */
  get only(): LinkUser | undefined {
    return this.#hasSeveral ? undefined : this.#first;
  }

  get isUnused(): boolean {
    return this.#first === undefined;
  }

  get asker(): Asker {
    const [first, second] = this.#open.keys();
    if (!first) return { kind: "nobody" };
    return second ? { kind: "several" } : { kind: "one", linkUser: first };
  }

  /** Those who may have something under way. */
  get linkUsers(): readonly LinkUser[] {
    return [...this.#open.keys()];
  }

  /** Whether a session other than this one may still have something under way. */
  hasOthersThan(linkUser: LinkUser): boolean {
    return this.linkUsers.some((one) => one !== linkUser);
  }

  /** Waits until it is clear which session is asked. Rejects when the signal aborts. */
  async decided(signal: AbortSignal): Promise<Asker> {
    await this.#changes.until(() => this.asker.kind !== "several", signal);
    return this.asker;
  }

  #add(linkUser: LinkUser, count: number): void {
    const open = (this.#open.get(linkUser) ?? 0) + count;
    if (open > 0) this.#open.set(linkUser, open);
    else this.#open.delete(linkUser);
    this.#changes.set(this.#changes.value + 1);
  }
}

export interface JoinedSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** Aborts with whichever aborts first, with its reason; once disposed, with neither. */
export function joinSignals(...signals: readonly AbortSignal[]): JoinedSignal {
  const controller = new AbortController();
  const leaves: (() => void)[] = [];
  const leave = () => {
    for (const one of leaves.splice(0)) one();
  };
  for (const signal of signals) {
    const onAbort = () => {
      leave();
      controller.abort(signal.reason);
    };
    if (signal.aborted) {
      onAbort();
      break;
    }
    const listeners = abortListeners(signal).add(onAbort);
    leaves.push(() => listeners.delete(onAbort));
  }
  return { signal: controller.signal, [Symbol.dispose]: leave };
}
