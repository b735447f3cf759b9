// What the gateway adds to ACP on the wire: fields in `_meta.tenon` and methods of its own. Types only.
import type { JsonValue } from "../base/json/json.js";
import type { ClientRole, SessionView } from "../session/index.js";

/** The version of what this file describes; `_meta.tenon.gateway` of the agent's capabilities. */
export type GatewayProtocol = 1;

/** What a token allows; docs/reference/gateway.md has the methods of each. */
export type Scope = "read" | "prompt" | "approve" | "tools" | "admin";

/** `resting`: stored, without servers or memory. `waiting`: for an answer to a question, or for a client with an environment. */
export type WireSessionState = "resting" | "idle" | "running" | "waiting";

/** `agentCapabilities._meta.tenon` of a gateway. */
export interface GatewayCapability {
  readonly gateway: GatewayProtocol;
  readonly node: string;
  readonly methods: readonly string[];
}

// `_meta.tenon` of requests, answers and updates.

export interface InitializeAnswerMeta {
  readonly client: { readonly id: string; readonly key: string };
  /** Of the machine: a translator on another one offers no files and no terminal. */
  readonly host: string;
  readonly account: string;
  readonly scopes: readonly Scope[];
  readonly version: string;
}

/** Of each session in the answer to `session/list`. */
export interface ListedSessionMeta {
  readonly state: WireSessionState;
  readonly questions?: number;
  readonly clients?: number;
  readonly label?: string;
}

// Parts of the answers.

type QuestionKind = "permission" | "trust" | "sampling" | "elicitation" | "person";

export interface OpenQuestion {
  readonly id: string;
  readonly of: QuestionKind;
  readonly askedAt: number;
  readonly turn?: number;
  readonly toolCallId?: string;
  /** The whole question, arguments included. */
  readonly shown: JsonValue;
}

export interface ListedToken {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch, as all times below. */
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly lastUsedAt?: number;
  readonly revokedAt?: number;
  /** A browser that was let in by a pairing code, or by a token: it has a cookie instead of a token. */
  readonly isDevice?: true;
  /** The id of the token it was let in by; it ends with that token. */
  readonly parent?: string;
}

/** The answer to `POST /login`, `POST /pair` and `GET /me`. */
export interface PageUser {
  readonly account: string;
  readonly scopes: readonly Scope[];
  /** Of the token or the device. */
  readonly name: string;
}

export interface GatewayStatus {
  readonly version: string;
  readonly protocol: GatewayProtocol;
  readonly node: string;
  readonly account: string;
  readonly isDraining: boolean;
  /** Those in memory. */
  readonly sessions: Readonly<Record<Exclude<WireSessionState, "resting">, number>>;
  readonly clients: number;
  readonly questions: number;
  /** The rest needs the scope `admin`. */
  readonly pid?: number;
  readonly startedAt?: number;
  readonly listen?: readonly string[];
  readonly roots?: readonly string[];
  readonly rssBytes?: number;
  readonly connections?: readonly ConnectedClient[];
  /** Where several gateways share a store: all of them. */
  readonly nodes?: readonly ListedNode[];
}

/** A node, for administrators. */
export interface ListedNode {
  /** Of its lease. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** By the database's clock; negative: it does not live any more. */
  readonly leaseLeftMs: number;
  /** Those it owns. */
  readonly sessions: number;
  readonly isDraining: boolean;
  /** It is the one that answers. */
  readonly isSelf: boolean;
}

/** A connection, for administrators. */
export interface ConnectedClient {
  readonly client: string;
  readonly name: string;
  readonly role: ClientRole;
  readonly account: string;
  /** `node`: it is connected to another node, whose id is the address. */
  readonly transport: "websocket" | "http" | "node";
  /** Empty at the unix socket. */
  readonly address: string;
  readonly since: number;
  /** The id of its token or device; missing at the unix socket. */
  readonly token?: string;
  /** Those it has open. */
  readonly sessions: readonly string[];
}

/** One session of the account changed; sent after `_tenon/gateway/watch`. */
export interface GatewayChange {
  readonly sessionId: string;
  /** Absent: the session was deleted. */
  readonly state?: WireSessionState;
  readonly title?: string;
  readonly cwd?: string;
  readonly clients?: readonly { readonly client: string; readonly name: string; readonly role: ClientRole }[];
  readonly questions?: readonly OpenQuestion[];
  /** Of the whole session; `costUsd` where the price is known. */
  readonly usage?: SessionView["usage"];
}

/** `token`: of one just created, and never again. */
export interface TokensAnswer {
  readonly tokens: readonly ListedToken[];
  readonly token?: string;
}

/** Of `_tenon/gateway/page`: a link with a pairing code in its fragment. */
export interface PageAnswer {
  readonly url: string;
  /** When the code ends. */
  readonly expiresAt: number;
  /** Only browsers of the gateway's machine reach it. */
  readonly isNear: boolean;
}
