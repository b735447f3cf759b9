// Opens, finds, stores and closes sessions. The host owns every process its sessions started.

import { isAbsolute } from "node:path";
import { TenonError } from "../base/errors.js";
import { type SessionId, uuidV7 } from "../base/id.js";
import type { FileLock } from "../base/io/file-lock.js";
import type { EndGrace } from "../base/io/process.js";
import { defined } from "../base/json/defined.js";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import { SharedConfigs, sharedSecrets } from "../config/index.js";
import { ServerPool } from "../mcp/index.js";
import type { SessionEvent } from "./events.js";
import type { Restored, RestoredTask } from "./journal/history.js";
import { headerOf } from "./journal/journal.js";
import {
  alreadyOpen,
  givenTitle,
  type ListRequest,
  listSessions,
  type SessionPage,
  type StoredSession,
  StoredSessions,
  sessionId,
  unknownSession,
} from "./journal/stored-sessions.js";
import type { NewSession, SharedOptions } from "./options.js";
import { Session } from "./session.js";
import { MeaningSearch } from "./tools/meaning.js";

/** Servers and directories are those of now: nothing of them is taken over from before. */
export type StoredRequest = NewSession & { readonly id: string };

export interface LoadedSession {
  readonly session: Session;
  /** The conversation so far, as its readers heard it: adjacent chunks joined, each call as its beginning and its end. */
  readonly history: Iterable<SessionEvent>;
}

export class SessionHost implements AsyncDisposable {
  readonly #options: SharedOptions;
  readonly #stored: StoredSessions;
  /** The servers that sessions share. */
  readonly #pool: ServerPool;
  readonly #meaning: MeaningSearch;
  readonly #sessions = new Map<string, Session>();
  /** What is under way on the disk beside the sessions: nothing of it goes on once the host is closed. */
  readonly #work = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: SharedOptions) {
    this.#options = withSharedConfig(options);
    this.#stored = new StoredSessions(options.world, options.stateDir);
    this.#pool = new ServerPool(options);
    const { world, embedder, cacheDir, config } = this.#options;
    this.#meaning = new MeaningSearch({
      world,
      ...defined({ embedder, cacheDir, resolveSecret: config?.resolveSecret }),
    });
  }

  get world(): World {
    return this.#options.world;
  }

  get sessions(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /**
   * Returns at once: its servers connect in the background. Throws for an id that no session can have, and for one that is in
   * use: `session.busy` when that session is open. Another process that opens it at this moment fails the first prompt.
   */
  createSession(request: NewSession): Session {
    checkPlace(request);
    this.#mustBeOpen();
    const id = request.id === undefined ? newSessionId(this.world) : sessionId(request.id);
    const isChosen = request.id !== undefined && request.isPromised !== true;
    if (this.#sessions.has(id)) throw alreadyOpen(id);
    if (isChosen && this.#stored.has(id)) {
      throw new TenonError("session.invalid_request", `there is a stored session "${id}" already`, {
        hint: "Load it with loadSession, delete it, or leave the id out.",
      });
    }
    const lock = this.#stored.hold(id);
    return this.#open({ ...request, id }, { lock, ...defined({ owned: isChosen ? lock : undefined }) });
  }

  /**
   * Takes a session up again from its journal. A turn that a crash broke off has ended, its calls with an unknown outcome; no
   * prompt is run again. Rejects with `session.busy` when the session is open, here or in another process.
   */
  async loadSession(request: StoredRequest): Promise<LoadedSession> {
    return await this.#tracked(() => this.#load(request));
  }

  async #load(request: StoredRequest): Promise<LoadedSession> {
    checkPlace(request);
    const { id } = request;
    if (!this.#stored.has(id)) throw unknownSession(id);
    if (this.#sessions.has(id)) throw alreadyOpen(id);
    const lock = await this.#stored.lock(id);
    try {
      const stored = await this.#stored.read(id);
      const session = this.#open({ ...request, id }, { lock: Promise.resolve(lock), stored });
      return { session, history: stored.history.events() };
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /** A new session that begins with everything another one has by now, which may be open. Nobody waits for its turn. */
  async forkSession(request: StoredRequest): Promise<LoadedSession> {
    return await this.#tracked(async () => {
      checkPlace(request);
      const { id: from, cwd, additionalDirectories = [] } = request;
      if (!this.#stored.has(from)) throw unknownSession(from);
      const id = newSessionId(this.world);
      await this.#stored.copy(from, headerOf({ id, cwd, additionalDirectories }));
      return await this.#load({ ...request, id });
    });
  }

  /** The sessions on the disk, open or not, the one used last first. */
  async listSessions(request: ListRequest = {}): Promise<SessionPage> {
    return await listSessions(this.world, this.#stored.folder, request);
  }

  /** `open`: in memory here. Throws `session.not_found` for one that nobody knows. */
  statusOf(id: string): "open" | "saved" {
    if (this.#sessions.has(id)) return "open";
    if (this.#stored.has(id)) return "saved";
    throw unknownSession(id);
  }

  /** Kept from now on, whatever is said in the session. Returns the title as it is kept. */
  async setTitle(id: string, words: string): Promise<string> {
    this.statusOf(id);
    const title = givenTitle(words);
    await this.#tracked(() => this.#stored.setTitle(sessionId(id), title));
    this.#sessions.get(id)?.retitled(title);
    return title;
  }

  /** Why the model sessions begin with could not answer, as far as that is known without asking anybody. */
  get modelProblem(): TenonError | undefined {
    const { model, models } = this.#options;
    return models?.problemOf(model.id);
  }

  /** Closes it if it is open here, and removes all there is of it. One that is not there is no error. */
  async deleteSession(id: string): Promise<void> {
    await this.#tracked(async () => {
      await this.#sessions.get(id)?.close();
      if (!this.#stored.has(id)) return;
      const lock = await this.#stored.lock(id);
      try {
        await this.#stored.remove(id);
      } finally {
        await lock.release();
      }
    });
  }

  get(id: string): Session {
    const session = this.#sessions.get(id);
    if (!session) throw new TenonError("session.not_found", `there is no open session "${id}"`);
    return session;
  }

  async closeSession(id: string, grace?: EndGrace): Promise<void> {
    await this.get(id).close(grace);
  }

  async close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#isClosed = true;
    const closed = this.sessions.map((session) => session.close(grace));
    await Promise.all([...closed, this.#pool.close(grace)]);
    await this.#meaning[Symbol.asyncDispose]();
    await Promise.allSettled(this.#work);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new TenonError("session.closed", "no session can be opened any more: Tenon is ending");
  }

  async #tracked<T>(run: () => Promise<T>): Promise<T> {
    const work = run();
    this.#work.add(work);
    try {
      return await work;
    } finally {
      this.#work.delete(work);
    }
  }

  #open(
    request: NewSession & { readonly id: SessionId },
    { lock, owned, stored }: { lock: Promise<FileLock | undefined>; owned?: Promise<unknown>; stored?: StoredSession },
  ): Session {
    lock.catch(() => {}); // `owned` tells the person; a session that was not opened has nothing to release
    this.#mustBeOpen();
    const { servers = [], notices = [] } = request;
    const session = new Session({
      ...this.#options,
      ...request,
      pool: this.#pool,
      meaning: this.#meaning,
      servers,
      notices: [...notices, ...(stored?.problems ?? [])],
      isTitled: stored !== undefined && this.#stored.hasTitle(request.id),
      ...defined({ history: stored && { restored: restoredFrom(stored), tail: stored.tail }, owned }),
      onClosed: async () => {
        this.#sessions.delete(request.id);
        await (await lock.catch(() => undefined))?.release();
      },
    });
    this.#sessions.set(request.id, session);
    return session;
  }
}

/** Directories are watched, and `!command` and `keyring:` references fetched, once for all sessions of the host. */
function withSharedConfig(options: SharedOptions): SharedOptions {
  const { config } = options;
  if (!config) return options;
  const resolveSecret = config.resolveSecret && sharedSecrets(config.resolveSecret);
  return { ...options, config: { ...config, shared: new SharedConfigs(), ...defined({ resolveSecret }) } };
}

/** With what a copy shares with its original told apart from what is its own. */
function restoredFrom({ header, history: { restored } }: StoredSession): Restored {
  if (header?.forkedFrom === undefined) return restored;
  const isBorrowed = ({ lasting }: RestoredTask) => lasting.startedMs <= header.t;
  return { ...restored, tasks: restored.tasks.map((task) => ({ ...task, isBorrowed: isBorrowed(task) })) };
}

function checkPlace({ cwd }: NewSession): void {
  if (isAbsolute(cwd)) return;
  throw new TenonError("session.invalid_request", `cwd must be an absolute path, got "${cwd}"`);
}

function newSessionId(world: Pick<World, "now" | "randomBytes">): SessionId {
  return sessionId(uuidV7(world.now(), (count) => world.randomBytes(count)));
}
