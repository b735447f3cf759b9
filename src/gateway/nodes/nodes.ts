// Several gateways that share one store: the port through which a node holds its lease, finds the others and reaches them.
import type { ReadonlyCell } from "../../base/async/cell.js";
import type { SessionStore } from "../../session/index.js";
import type { DecisionStore } from "../../tools/index.js";
import type { PairingCodes } from "../access/pairing.js";
import type { Tokens } from "../access/tokens.js";

/** Where a gateway keeps what outlives it: in files of its state folder, or in a database that several nodes share. */
export interface GatewayStore extends AsyncDisposable {
  /** The same object each time. */
  account(name: string): AccountStore;
  /** From which the keys of clients are computed: the same at every node. */
  clientSecret(): Promise<string>;
  readonly tokens: Tokens;
  readonly codes: PairingCodes;
  /** Why it cannot be used now, as far as that is known without a wait; undefined: it can. */
  problem(): string | undefined;
  /** Only where several gateways share the store. */
  readonly nodes?: Nodes;
}

/** What is kept for one account. The results of a session are with it: `OwnedSession.results`. */
export interface AccountStore {
  readonly sessions: SessionStore;
  /** In files of the account's state folder unless given. */
  readonly decisions?: DecisionStore;
}

/** A gateway among those that share a store. */
export interface NodeInfo {
  /** Of one lease: a node that lost its lease starts anew under another id. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  readonly version: string;
  /** Below which its sessions may be; all unless given. */
  readonly roots: readonly string[];
  readonly isDraining: boolean;
  /** By the database's clock; negative once the lease is over. */
  readonly leaseLeftMs: number;
  /** Sessions it owns. */
  readonly sessions: number;
}

/** A session with an open turn whose owner is gone, or left it in a drain. */
export interface LeftSession {
  readonly account: string;
  readonly id: string;
  readonly cwd: string;
  readonly additionalDirectories: readonly string[];
  /** This node owns it and does not have it open: the answer of the store was lost when it took it, or opened it. */
  readonly isOwn?: boolean;
}

/** Of this node, since its start. */
export interface NodeFigures {
  /** Statements that appended, how long they took together, and the records they had. */
  readonly appendBatches: number;
  readonly appendedRecords: number;
  readonly appendMs: number;
  /** Sessions whose append was refused because another node owns them. */
  readonly refusedAppends: number;
  /** Now; undefined without a lease. */
  readonly leaseLeftMs: number | undefined;
  /** Messages to and from other nodes that wait here now. */
  readonly inboxDepth: number;
}

/** To another node. Messages of one link arrive in order and once, or the link is broken. */
export interface NodeMessage {
  /** The id of the node it goes to, or comes from. */
  readonly node: string;
  readonly link: string;
  /** Counts from 1 in each direction of a link: with the link it is the idempotency key. */
  readonly n: number;
  /** JSON, so there is no line end in it. */
  readonly body: string;
}

export interface Nodes {
  /** The id of this node while it holds a lease; undefined while it has none: then it owns no session. */
  readonly self: ReadonlyCell<string | undefined>;
  /** All that are registered, also those whose lease is over. */
  list(): Promise<readonly NodeInfo[]>;
  /** The living node that owns the session; undefined: none does. */
  ownerOf(account: string, id: string): Promise<Pick<NodeInfo, "id" | "name"> | undefined>;
  /** Of those of these sessions that there are, the number of the last record: for those who follow sessions of other nodes. */
  lastSeqs(ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** How long a lease lasts that is not renewed. */
  readonly leaseMs: number;
  /** Why the database cannot be used, once that has been so for 2 seconds, for people; undefined: it can, as far as this node knows. */
  readonly problem: ReadonlyCell<string | undefined>;
  /** Sessions with an open turn whose owner is gone or does not have them open, at most so many, those that wait longest first. */
  left(most: number): Promise<readonly LeftSession[]>;
  /** Makes this node the owner of them. Resolves with those that no other node took meanwhile. */
  takeOver(sessions: readonly LeftSession[]): Promise<readonly LeftSession[]>;
  /** One that this node took and cannot open: others may have it. */
  giveBack(session: LeftSession): Promise<void>;
  figures(): NodeFigures;
  /** Sessions that are released with an open turn are others' at once, and this node takes none any more. */
  drain(): Promise<void>;
  /** Never rejects: a link whose message cannot be delivered is reported by `onBroken`. */
  send(message: NodeMessage): void;
  /** `onBroken`: messages of links with that node, or of that one, may be lost; without a node: of all links. */
  listen(listener: {
    readonly onMessage: (message: NodeMessage) => void;
    readonly onBroken: (node: string | undefined, link?: string) => void;
  }): Disposable;
  /** Tells the other nodes, soon and perhaps never, that a session has more records or was released. */
  hint(hint: NodeHint): void;
  onHint(listener: (hint: NodeHint) => void): Disposable;
}

/** Never the truth: whoever gets one looks into the store. `seq`: of the last record; missing when it was released. */
export interface NodeHint {
  readonly session: string;
  readonly seq?: number;
}
