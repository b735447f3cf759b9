// What one connection needs of sessions, wherever they are kept. Over stdio that is the host of this process.

import type { TenonError } from "../base/errors.js";
import type { World } from "../base/ports/world.js";
import type {
  ListRequest,
  LoadedSession,
  NewSession,
  Session,
  SessionHost,
  SessionPage,
  StoredRequest,
} from "../session/index.js";

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
  | "prompt"
  | "set"
  | "setServers"
  | "cancel"
  | "notice"
>;

export interface OpenedSession {
  readonly session: SessionHandle;
  /** The conversation so far, adjacent chunks joined. */
  readonly history: LoadedSession["history"];
}

/** Made for each connection: whose it is, is known to it and never asked of the client. */
export interface SessionAccess {
  readonly world: World;
  /** Why the model that sessions begin with could not answer. */
  readonly modelProblem: TenonError | undefined;
  create(request: NewSession): SessionHandle | Promise<SessionHandle>;
  load(request: StoredRequest): Promise<OpenedSession>;
  fork(request: StoredRequest): Promise<SessionHandle>;
  list(request: ListRequest): Promise<SessionPage>;
  /** `open`: in memory. Rejects with `session.not_found`. */
  statusOf(id: string): Promise<"open" | "saved">;
  setTitle(id: string, words: string): Promise<string>;
  delete(id: string): Promise<void>;
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

  create(request: NewSession): SessionHandle {
    return this.#host.createSession(request);
  }

  load(request: StoredRequest): Promise<OpenedSession> {
    return this.#host.loadSession(request);
  }

  async fork(request: StoredRequest): Promise<SessionHandle> {
    return (await this.#host.forkSession(request)).session;
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

  /** A client that closes takes back what runs; one that is gone has said nothing of the kind. */
  async leave({ id }: SessionHandle, cause: "closed" | "lost"): Promise<void> {
    const session = this.#host.get(id);
    if (cause === "closed") session.cancel();
    await session.close();
  }
}
