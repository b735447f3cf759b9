// What one connection needs of sessions, wherever they are kept. Over stdio that is the host of this process.

import type { TenonError } from "../base/errors.js";
import type { JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import type {
  ListRequest,
  LoadedSession,
  NewSession,
  NoticeLevel,
  Session,
  SessionHost,
  SessionPage,
  SessionSummary,
  StoredRecord,
  StoredRequest,
  StoredView,
} from "../session/index.js";
import type { SharedIntroduction } from "./capabilities.js";

/** One session as its client uses it. */
export type SessionHandle = Pick<
  Session,
  | "id"
  | "settings"
  | "servers"
  | "tools"
  | "usage"
  | "turnCount"
  | "configured"
  | "isAttached"
  | "attach"
  | "events"
  | "current"
  | "view"
  | "questions"
  | "log"
  | "prompt"
  | "set"
  | "setServers"
  | "setTools"
  | "cancel"
  | "notice"
  | "restartServer"
  | "loginPage"
  | "callTool"
>;

export interface OpenedSession {
  readonly session: SessionHandle;
  /** The conversation so far, adjacent chunks joined; none where it is read from the log. */
  readonly history?: LoadedSession["history"];
  /** Of a shared session: the last record the client has. */
  readonly after?: number;
  /** What the client said itself is shown to it too, of what it does not have yet. */
  readonly showsOwn?: boolean;
}

export interface LoadOptions {
  /** The client is shown the conversation so far. */
  readonly isReplayed: boolean;
  /** `_meta.tenon` of the request. */
  readonly meta: JsonObject;
}

/** What sessions that several clients share add: they are read from their logs, and every client has an identity. */
export interface SharedAccess {
  /** The id of this client, assigned by the gateway. */
  client(): string;
  /** `initialize`: what the answer has in `_meta.tenon`, and in that of its capabilities. */
  introduce(params: unknown): SharedIntroduction;
  /** `_meta.tenon` of a session in a listing. */
  listed(session: SessionSummary): object;
  /** The client is connected; `tell` shows a notice in every session it has open, before records that are not durable yet. */
  connected(tell: TellAll): void;
  /** The log of a session it has open cannot be read any more. */
  lost(): void;
  /** The connection is over, and all of its sessions were left. */
  closed(): void;
  /** Requests of its own, by method. */
  readonly methods: Readonly<Record<string, OwnMethod>>;
}

/** `signal`: the client takes its request back, or is gone. */
export type OwnMethod = (params: JsonObject, notify: Notify, signal: AbortSignal) => object | Promise<object>;

export type TellAll = (level: NoticeLevel, text: string) => void;

/** Sends a notification to the client. */
export type Notify = (method: string, params: object) => void;

/** Made for each connection: whose it is, is known to it and never asked of the client. */
export interface SessionAccess {
  readonly world: World;
  /** Why the model that sessions begin with could not answer. */
  readonly modelProblem: TenonError | undefined;
  readonly shared?: SharedAccess;
  /** `meta`: `_meta.tenon` of the request. */
  create(request: NewSession, meta: JsonObject): OpenedSession | Promise<OpenedSession>;
  load(request: StoredRequest, options: LoadOptions): Promise<OpenedSession>;
  fork(request: StoredRequest): Promise<OpenedSession>;
  list(request: ListRequest): Promise<SessionPage>;
  /** `open`: in memory. Rejects with `session.not_found`. */
  statusOf(id: string): Promise<"open" | "saved">;
  setTitle(id: string, words: string): Promise<string>;
  delete(id: string): Promise<void>;
  /** Records of a session after a number. */
  records(id: string, after: number, limit: number): Promise<readonly StoredRecord[]>;
  /** A session that is in memory, without joining it. */
  peek(id: string): SessionHandle | undefined;
  /** One that is not, from its journal. Rejects with `session.not_found`. */
  stored(id: string): Promise<StoredView>;
  /** `closed`: by the client's own word; `lost`: the connection is over. */
  leave(session: SessionHandle, cause: "closed" | "lost"): Promise<void>;
}

/** The sessions of one client, which end with its connection. */
export class HostAccess implements SessionAccess {
  readonly #host: SessionHost;

  constructor(host: SessionHost) {
    this.#host = host;
  }

  get world(): World {
    return this.#host.world;
  }

  get modelProblem(): TenonError | undefined {
    return this.#host.modelProblem;
  }

  create(request: NewSession): OpenedSession | Promise<OpenedSession> {
    return { session: this.#host.createSession(request) };
  }

  load(request: StoredRequest): Promise<OpenedSession> {
    return this.#host.loadSession(request);
  }

  fork(request: StoredRequest): Promise<OpenedSession> {
    return this.#host.forkSession(request);
  }

  list(request: ListRequest): Promise<SessionPage> {
    return this.#host.listSessions(request);
  }

  statusOf(id: string): Promise<"open" | "saved"> {
    return this.#host.statusOf(id);
  }

  setTitle(id: string, words: string): Promise<string> {
    return this.#host.setTitle(id, words);
  }

  delete(id: string): Promise<void> {
    return this.#host.deleteSession(id);
  }

  records(id: string, after: number, limit: number): Promise<readonly StoredRecord[]> {
    return this.#host.records(id, after, limit);
  }

  peek(id: string): SessionHandle | undefined {
    return this.#host.sessions.find((session) => session.id === id);
  }

  stored(id: string): Promise<StoredView> {
    return this.#host.storedView(id);
  }

  /** A client that closes takes back what runs; one that is gone has said nothing of the kind. */
  async leave({ id }: SessionHandle, cause: "closed" | "lost"): Promise<void> {
    const session = this.#host.get(id);
    if (cause === "closed") session.cancel();
    await session.close();
  }
}
