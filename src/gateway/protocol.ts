// What the gateway adds to ACP on the wire: fields in `_meta.tenon` and methods of its own. Types only.
import type { JsonObject, JsonValue } from "../base/json/json.js";

/** The version of what this file describes; `_meta.tenon.gateway` of the agent's capabilities. */
export type GatewayProtocol = 1;

/** What a token allows; docs/reference/gateway.md has the methods of each. */
export type Scope = "read" | "prompt" | "approve" | "tools" | "admin";

export type ClientRole = "controller" | "observer";

/** `resting`: stored, without servers or memory. `waiting`: for an answer to a question. */
export type WireSessionState = "resting" | "idle" | "running" | "waiting";

/** As the gateway names a client to the others; `client` is its id, stamped by the gateway. */
export interface WireClient {
  readonly client: string;
  readonly name: string;
}

/** `agentCapabilities._meta.tenon` of a gateway. */
export interface GatewayCapability {
  readonly gateway: GatewayProtocol;
  readonly node: string;
  readonly methods: readonly string[];
}

// `_meta.tenon` of requests, answers and updates.

/** `initialize`. */
export interface InitializeMeta {
  /** `id` and the secret `key` of an earlier answer take up the same identity. */
  readonly client?: { readonly name: string; readonly id?: string; readonly key?: string };
  /** Lowered to what the scopes allow. */
  readonly role?: ClientRole;
  /** It answers questions by itself: it is asked only in turns that it started. */
  readonly unattended?: boolean;
  /** Over the unix socket only; refused elsewhere. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface InitializeAnswerMeta {
  readonly client: { readonly id: string; readonly key: string };
  /** Of the machine: a translator on another one offers no files and no terminal. */
  readonly host: string;
  readonly account: string;
  readonly scopes: readonly Scope[];
  readonly version: string;
}

/** `session/new`. */
export interface NewSessionMeta {
  /** Given out by the translator before the gateway answered; taken if nobody has it. */
  readonly id?: string;
  readonly label?: string;
  readonly attach?: "latest" | { readonly label: string };
}

/** `session/load` and `session/resume`; `after` for `session/resume` only (default: now). */
export interface JoinSessionMeta {
  readonly after?: number;
  readonly role?: ClientRole;
}

/** The answer to `session/new`, `session/load`, `session/resume` and `session/fork`. */
export interface JoinAnswerMeta {
  /** The last record that was sent. */
  readonly seq: number;
  readonly state: WireSessionState;
  readonly view: SessionView;
}

/**
 * `session/update`, in `params._meta.tenon`; absent from what is of the moment. `seq` is on the last update of a record; those
 * before it have `partOf`, the number of the record, and `part`, which counts from 0: a client that was cut off in between
 * resumes before the record, and leaves out the parts it has.
 */
export interface UpdateMeta {
  readonly seq?: number;
  readonly partOf?: number;
  readonly part?: number;
}

/** Of a `session_info_update`, when a turn begins, waits or ends, or a question was answered. */
export interface SessionInfoMeta {
  readonly state?: WireSessionState;
  readonly by?: WireClient;
  readonly promptId?: string;
  /** Prompts that wait for their turn. */
  readonly queued?: number;
  readonly clients?: readonly AttachedClient[];
  /** One that was asked now, or is over; `by` for one that was answered. */
  readonly question?: {
    readonly id: string;
    readonly of: QuestionKind;
    readonly isOpen: boolean;
    readonly answer?: JsonValue;
    readonly by?: WireClient;
  };
}

/** `session/prompt`. Sent again with the same id, it is joined or answered from its record. */
export interface PromptMeta {
  readonly promptId?: string;
}

export interface PromptAnswerMeta {
  readonly turn: number;
  readonly seq: number;
}

/** `session/request_permission` and `elicitation/create`. */
export interface QuestionMeta {
  readonly questionId: string;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
}

/** Of each session in the answer to `session/list`. */
export interface ListedSessionMeta {
  readonly state: WireSessionState;
  readonly questions?: number;
  readonly clients?: number;
}

// Parts of the answers.

export interface AttachedClient extends WireClient {
  readonly role: ClientRole;
  readonly isHere: boolean;
}

export type QuestionKind = "permission" | "trust" | "sampling" | "elicitation" | "person";

export interface OpenQuestion {
  readonly id: string;
  readonly of: QuestionKind;
  readonly askedAt: number;
  readonly turn?: number;
  readonly toolCallId?: string;
  /** The whole question, arguments included. */
  readonly shown: JsonValue;
}

export interface SessionView {
  readonly sessionId: string;
  readonly cwd: string;
  readonly title?: string;
  readonly state: WireSessionState;
  readonly seq: number;
  readonly clients: readonly AttachedClient[];
  readonly questions: readonly OpenQuestion[];
  /** Prompts that wait for their turn. */
  readonly queued: readonly { readonly promptId: string; readonly by?: WireClient }[];
  readonly usage?: object;
  readonly servers?: readonly object[];
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
}

export interface GatewayStatus {
  readonly version: string;
  readonly protocol: GatewayProtocol;
  readonly node: string;
  readonly account: string;
  readonly isDraining: boolean;
  readonly sessions: Readonly<Record<WireSessionState, number>>;
  readonly clients: number;
  readonly questions: number;
  /** The rest needs the scope `admin`. */
  readonly pid?: number;
  readonly startedAt?: number;
  readonly listen?: readonly string[];
  readonly roots?: readonly string[];
  readonly rssBytes?: number;
}

/** One session of the account changed; sent after `_tenon/gateway/watch`. */
export interface GatewayChange {
  readonly sessionId: string;
  /** Absent: the session was deleted. */
  readonly state?: WireSessionState;
  readonly title?: string;
  readonly questions?: readonly OpenQuestion[];
}

/** Requests of clients, by method: `params` and `answer`. */
export interface GatewayRequests {
  readonly "_tenon/session/view": { params: { readonly sessionId: string }; answer: SessionView };
  readonly "_tenon/session/records": {
    params: {
      readonly sessionId: string;
      readonly after: number;
      readonly limit?: number;
      readonly kinds?: readonly string[];
    };
    answer: { readonly records: readonly JsonObject[]; readonly seq: number };
  };
  readonly "_tenon/session/tools": {
    params: { readonly sessionId: string; readonly query?: string };
    answer: { readonly tools: readonly JsonObject[] };
  };
  readonly "_tenon/question/answer": {
    params: { readonly sessionId: string; readonly questionId: string; readonly answer: JsonValue };
    answer: { readonly result: "taken" | "late" | "unknown" };
  };
  /** Then `_tenon/gateway/changed` notifications, until the connection ends. */
  readonly "_tenon/gateway/watch": { params: object; answer: { readonly sessions: readonly GatewayChange[] } };
  readonly "_tenon/gateway/status": { params: object; answer: GatewayStatus };
  readonly "_tenon/gateway/stop": { params: { readonly drainMs?: number }; answer: object };
  readonly "_tenon/gateway/tokens": { params: TokensRequest; answer: TokensAnswer };
}

export type TokensRequest =
  | { readonly action: "list" }
  | {
      readonly action: "create";
      readonly name: string;
      readonly account?: string;
      readonly scopes?: readonly Scope[];
      readonly expiresInMs?: number;
    }
  | { readonly action: "revoke"; readonly id: string };

/** `token`: of one just created, and never again. */
export interface TokensAnswer {
  readonly tokens: readonly ListedToken[];
  readonly token?: string;
}

/** Notifications of the gateway. */
export interface GatewayNotifications {
  readonly "_tenon/gateway/changed": GatewayChange;
}

export type GatewayMethod = keyof GatewayRequests;
