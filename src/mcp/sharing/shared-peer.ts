// The peer of a shared server: puts its questions to the session they are for, and to none where that is not clear.
import type { JsonObject } from "../../base/json/json.js";
import type { ElicitAnswer, ElicitRequest, Peer, Root, ServerLog } from "../protocol/peer.js";
import { RpcRefusal } from "../rpc/rpc.js";
import type { Lease, SharedServer } from "./shared-server.js";

const INTERNAL_ERROR = -32_603;
const NOBODYS =
  "several sessions were using the server, and it could not be told which one it asked; each has a server of its own now, so try again";

export class SharedPeer implements Peer {
  readonly #server: SharedServer;
  readonly roots: Peer["roots"];
  readonly findRoots: Peer["findRoots"];
  readonly elicit: Peer["elicit"];
  readonly elicitModes: Peer["elicitModes"];
  readonly sample: Peer["sample"];

  /** `first`: the peer of the first session; the others can answer the same, or they would not share. */
  constructor(server: SharedServer, first: Peer = {}, hasSameRoots: boolean) {
    this.#server = server;
    const { roots, elicit, sample } = first;
    const common = hasSameRoots ? roots?.() : undefined;
    this.roots = roots && (() => common ?? []);
    this.findRoots = roots && !common ? (signal) => this.#findRoots(signal) : undefined;
    this.elicitModes = elicit && (first.elicitModes ?? ["form", "url"]);
    this.elicit = elicit && ((request, signal) => this.#elicit(request, signal));
    this.sample = sample && ((params, signal) => this.#sample(params, signal));
  }

  /** Log lines come at any time and may be about the call of any session, also one that is over. */
  log(entry: ServerLog): void {
    const only = this.#server.only();
    const [first] = this.#server.everybody();
    if (only) only.peer.log?.(entry);
    else first?.peer.overheard?.(entry);
  }

  /** The id is the server's own: only the session that was shown the page knows it. */
  elicitationCompleted(elicitationId: string): void {
    for (const { peer } of this.#server.everybody()) peer.elicitationCompleted?.(elicitationId);
  }

  unanswered(method: string, reason: string): void {
    this.#server.onAsked();
    this.#server.askerNow()?.peer.unanswered?.(method, reason);
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

  /** No session is shown what was asked: it may be another session's. */
  #decline(method: string, asker: Lease | undefined, reason: string): void {
    if (asker) asker.peer.unanswered?.(method, reason);
    else for (const { peer } of this.#server.suspects()) peer.unanswered?.(method, NOBODYS);
  }

  async #askerOf(signal: AbortSignal): Promise<Lease | undefined> {
    this.#server.onAsked();
    return await this.#server.asker(signal);
  }
}
