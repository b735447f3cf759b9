// What a shared server may ask: put to the session it is for, and to nobody where that cannot be told.
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import type { ElicitAnswer, ElicitRequest, Peer, Root, ServerLog } from "../protocol/peer.js";
import { RpcRefusal } from "../rpc/rpc.js";

/** What the first session could answer when it came; the others could the same, or they would not share. */
export interface DeclaredPeer {
  /** Those of all sessions that share it, where they are the same by key. */
  readonly roots?: readonly Root[];
  readonly hasRoots: boolean;
  readonly elicitModes?: readonly ("form" | "url")[];
  readonly samples: boolean;
}

/** A session as the shared peer sees it. */
export interface Asked {
  readonly peer: Peer;
  /** Aborts when the session has left: nobody there answers any more. */
  readonly signal: AbortSignal;
}

/** Who of the sessions is meant. */
export interface Routes {
  /** The server has asked for something that one session's person, model or directories must answer. */
  onAsked(): void;
  /** Waits, within a bound, until it can be told. */
  asker(signal: AbortSignal): Promise<Asked | undefined>;
  /** As far as it can be told at once. */
  askerNow(): Asked | undefined;
  /** The only session that ever used the connection: whatever is said on it can only be about it. */
  only(): Asked | undefined;
  /** All who might be meant. */
  suspects(): readonly Asked[];
  everybody(): readonly Asked[];
}

const INTERNAL_ERROR = -32_603;
const NOBODYS =
  "several sessions were using the server, and it could not be told which one it asked; each has a server of its own now, so try again";

export class SharedPeer implements Peer {
  readonly #routes: Routes;
  readonly roots: Peer["roots"];
  readonly findRoots: Peer["findRoots"];
  readonly elicit: Peer["elicit"];
  readonly elicitModes: Peer["elicitModes"];
  readonly sample: Peer["sample"];

  constructor(declared: DeclaredPeer, routes: Routes) {
    this.#routes = routes;
    this.roots = declared.hasRoots ? () => declared.roots ?? [] : undefined;
    this.findRoots = declared.hasRoots && !declared.roots ? (signal) => this.#findRoots(signal) : undefined;
    this.elicitModes = declared.elicitModes;
    this.elicit = declared.elicitModes ? (request, signal) => this.#elicit(request, signal) : undefined;
    this.sample = declared.samples ? (params, signal) => this.#sample(params, signal) : undefined;
  }

  /** Lines come at any time and may be about anybody's call, also one that is over. */
  log(entry: ServerLog): void {
    const only = this.#routes.only();
    const [first] = this.#routes.everybody();
    if (only) only.peer.log?.(entry);
    else first?.peer.overheard?.(entry);
  }

  /** The id is the server's own: whoever was shown the page knows it, the others do not. */
  elicitationCompleted(elicitationId: string): void {
    for (const { peer } of this.#routes.everybody()) peer.elicitationCompleted?.(elicitationId);
  }

  unanswered(method: string, reason: string): void {
    this.#routes.onAsked();
    this.#routes.askerNow()?.peer.unanswered?.(method, reason);
  }

  async #findRoots(signal: AbortSignal): Promise<readonly Root[]> {
    const own = (await this.#askerOf(signal))?.peer.roots?.();
    if (!own) throw new RpcRefusal(INTERNAL_ERROR, "it cannot be told which session's roots are meant");
    return own;
  }

  async #elicit(request: ElicitRequest, signal: AbortSignal): Promise<ElicitAnswer> {
    const asker = await this.#askerOf(signal);
    const { elicitModes = ["form", "url"] } = asker?.peer ?? {};
    if (!asker?.peer.elicit || !elicitModes.includes(request.mode)) {
      this.#decline("elicitation/create", asker, "nobody here can be shown it");
      return { action: "decline" };
    }
    return await asker.peer.elicit(request, AbortSignal.any([signal, asker.signal]));
  }

  async #sample(params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const asker = await this.#askerOf(signal);
    if (asker?.peer.sample) return await asker.peer.sample(params, AbortSignal.any([signal, asker.signal]));
    this.#decline("sampling/createMessage", asker, "nobody here can approve it");
    throw new RpcRefusal(INTERNAL_ERROR, "nobody here can approve it");
  }

  /** What was asked is told to nobody: it may be another session's. */
  #decline(method: string, asker: Asked | undefined, reason: string): void {
    if (asker) asker.peer.unanswered?.(method, reason);
    else for (const { peer } of this.#routes.suspects()) peer.unanswered?.(method, NOBODYS);
  }

  async #askerOf(signal: AbortSignal): Promise<Asked | undefined> {
    this.#routes.onAsked();
    return await this.#routes.asker(signal);
  }
}

/** As it is when a connection opens. Directories differ between sessions that share a server elsewhere. */
export function declaredBy(peer: Peer | undefined, hasSameRoots: boolean): DeclaredPeer {
  return {
    hasRoots: peer?.roots !== undefined,
    ...defined({
      roots: hasSameRoots && peer?.roots ? peer.roots() : undefined,
      elicitModes: peer?.elicit ? (peer.elicitModes ?? ["form", "url"]) : undefined,
    }),
    samples: peer?.sample !== undefined,
  };
}
