// Opens, finds, stores and closes sessions. The host owns every process its sessions started.

import { isAbsolute } from "node:path";
import { TenonError } from "../base/errors.js";
import { isSessionId, type SessionId, uuidV7 } from "../base/id.js";
import type { EndGrace } from "../base/io/process.js";
import { defined } from "../base/json/defined.js";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import { SharedConfigs, sharedSecrets } from "../config/index.js";
import { ServerPool } from "../mcp/index.js";
import { OFFLINE_MODEL_ID } from "../models/index.js";
import { type Continuation, continuationOf } from "./conversation/continuation.js";
import type { SessionEvent } from "./events.js";
import { History, type RestoredTask } from "./journal/history.js";
import type { StoredRecord } from "./journal/read-journal.js";
import { type StoredView, storedView } from "./log/stored-view.js";
import type { NewSession, SharedOptions, StoredHistory } from "./options.js";
import { Session } from "./session.js";
import { alreadyOpen, FileSessionStore, givenTitle, sessionId, unknownSession } from "./store/file-store.js";
import type {
  AcquiredSession,
  ListRequest,
  OwnedSession,
  SessionAbout,
  SessionPage,
  SessionStore,
} from "./store/session-store.js";
import { MeaningSearch } from "./tools/meaning.js";

const NO_KEY = "there is no key of a model provider";

/** Servers and directories are those of now: nothing of them is taken over from before. */
export type StoredRequest = NewSession & { readonly id: string };

export interface LoadedSession {
  readonly session: Session;
  /** The conversation so far, as its readers heard it: adjacent chunks joined, each call as its beginning and its end. */
  readonly history: Iterable<SessionEvent>;
  /** What it is called, where the store knows that by now. */
  readonly title?: string;
}

export class SessionHost implements AsyncDisposable {
  readonly #options: SharedOptions;
  readonly #store: SessionStore;
  /** The servers that sessions share. */
  readonly #pool: ServerPool;
  readonly #meaning: MeaningSearch;
  readonly #sessions = new Map<string, Session>();
  /** What is under way on the disk beside the sessions: nothing of it goes on once the host is closed. */
  readonly #work = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: SharedOptions) {
    this.#options = withSharedConfig(options);
    this.#store = options.store ?? new FileSessionStore(options.world, options.stateDir);
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
    const { isPromised = false } = request;
    if (this.#sessions.has(id)) throw alreadyOpen(id);
    const owned = this.#store.create(aboutOf(request, id), { isPromised });
    const settled = request.id !== undefined && !isPromised ? owned.settled : undefined;
    return this.#open({ ...request, id }, { owned, ...defined({ settled }) });
  }

  /**
   * Takes a session up again from its journal. A turn that a crash broke off has ended, its calls with an unknown outcome; no
   * prompt is run again. With `openTurns: "continue"` it goes on once `continueOpenTurn` of the session is called. Rejects with
   * `session.busy` when the session is open, here or in another process.
   */
  async loadSession(request: StoredRequest): Promise<LoadedSession> {
    return await this.#tracked(() => this.#load(request));
  }

  /** `isCopy`: the turn that was under way is the original's to go on with. */
  async #load(request: StoredRequest, isCopy = false): Promise<LoadedSession> {
    checkPlace(request);
    const { id } = request;
    if (!isSessionId(id)) throw unknownSession(id);
    if (this.#sessions.has(id)) throw alreadyOpen(id);
    const history = new History();
    const acquired = await this.#store.acquire(aboutOf(request, id), (record) => history.addStored(record));
    try {
      const stored = loadedFrom(history, acquired, this.#options.openTurns === "continue" && !isCopy);
      const session = this.#open({ ...request, id }, { owned: acquired.owned, stored });
      return { session, history: history.events(), ...defined({ title: acquired.title }) };
    } catch (error) {
      await acquired.owned.release();
      throw error;
    }
  }

  /** A new session that begins with everything another one has by now, which may be open. Nobody waits for its turn. */
  async forkSession(request: StoredRequest): Promise<LoadedSession> {
    return await this.#tracked(async () => {
      checkPlace(request);
      const id = newSessionId(this.world);
      await this.#store.copy(request.id, aboutOf(request, id));
      return await this.#load({ ...request, id }, true);
    });
  }

  /** The sessions on the disk, open or not, the one used last first. */
  async listSessions(request: ListRequest = {}): Promise<SessionPage> {
    return await this.#store.list(request);
  }

  /** Records after a number, in order; at most `limit`. Rejects with `session.not_found`. */
  async records(id: string, after: number, limit: number): Promise<readonly StoredRecord[]> {
    return await this.#store.read(id, after, limit);
  }

  /** A session that is not in memory, from its journal. Rejects with `session.not_found`. */
  async storedView(id: string): Promise<StoredView> {
    return await storedView(this.#store, id);
  }

  /** `open`: in memory here. Rejects with `session.not_found` for one that nobody knows. */
  async statusOf(id: string): Promise<"open" | "saved"> {
    if (this.#sessions.has(id)) return "open";
    if (await this.#store.has(id)) return "saved";
    throw unknownSession(id);
  }

  /** Kept from now on, whatever is said in the session. Returns the title as it is kept. */
  async setTitle(id: string, words: string): Promise<string> {
    await this.statusOf(id);
    const title = givenTitle(words);
    await this.#tracked(() => this.#store.setTitle(id, title));
    this.#sessions.get(id)?.retitled(title);
    return title;
  }

  /** Why the model sessions begin with could not answer, as far as that is known without asking anybody. */
  get modelProblem(): TenonError | undefined {
    const { model, models } = this.#options;
    return models?.problemOf(model.id);
  }

  /** Why a turn that was begun with this model, or any turn, cannot be answered here: neither it nor the host's own is to be had. */
  problemOf(begunWith?: string): TenonError | undefined {
    const { model, models } = this.#options;
    const isOffline = model.id === OFFLINE_MODEL_ID;
    const own = isOffline ? new TenonError("model.unauthorized", NO_KEY) : models?.problemOf(model.id);
    return own && (begunWith === undefined ? own : models?.problemOf(begunWith));
  }

  /** Closes it if it is open here, and removes all there is of it. One that is not there is no error. */
  async deleteSession(id: string): Promise<void> {
    await this.#tracked(async () => {
      await this.#sessions.get(id)?.close();
      await this.#store.remove(id);
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
    { owned, settled, stored }: { owned: OwnedSession; settled?: Promise<void>; stored?: LoadedHistory },
  ): Session {
    this.#mustBeOpen();
    const { servers = [], notices = [] } = request;
    const session = new Session({
      ...this.#options,
      ...request,
      pool: this.#pool,
      meaning: this.#meaning,
      servers,
      notices: [...notices, ...(stored?.problems ?? [])],
      owned,
      isTitled: stored?.isTitled ?? false,
      store: this.#store,
      ...defined({ history: stored?.history, settled }),
      onClosed: async () => {
        this.#sessions.delete(request.id);
        await owned.release();
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

interface LoadedHistory {
  readonly history: StoredHistory;
  readonly isTitled: boolean;
  /** What people should hear of: damage to what is stored, a turn that was broken off. */
  readonly problems: readonly string[];
}

function loadedFrom(read: History, acquired: AcquiredSession, isContinued: boolean): LoadedHistory {
  const { isTitled, problems, forkedFrom, createdMs = 0 } = acquired;
  const plan = isContinued ? planOf(read, acquired) : undefined;
  const continuation = plan?.kind === "going_on" ? plan : undefined;
  const all = plan ? problems : [...problems, ...read.problems];
  const { openTurn } = read.restored;
  const openRecords = openTurn && [...openTurn.records]; // what ends the turn comes with the next record
  const tail = read.tail(continuation ? read.resume() : read.end(plan?.kind === "over" ? plan.ending : undefined));
  const { restored, turnStarts } = read;
  // What a copy shares with its original is told apart from what is its own.
  const isBorrowed = ({ lasting }: RestoredTask) => forkedFrom !== undefined && lasting.startedMs <= createdMs;
  const tasks = restored.tasks.map((task) => (isBorrowed(task) ? { ...task, isBorrowed: true } : task));
  const going = { isContinued, ...defined({ continuation, openRecords }) };
  const history = { restored: { ...restored, tasks }, tail, turnStarts, ...going };
  return { history, isTitled, problems: all };
}

/** A turn that was copied is the original's to go on with. */
function planOf(
  { restored }: History,
  { forkedFrom, createdMs = 0, tries }: AcquiredSession,
): Continuation | undefined {
  const { openTurn, messages } = restored;
  const isCopied = forkedFrom !== undefined && (openTurn?.beganMs ?? 0) <= createdMs;
  return openTurn && !isCopied ? continuationOf(openTurn, messages, tries) : undefined;
}

function aboutOf({ cwd, additionalDirectories = [], label }: NewSession, id: SessionId): SessionAbout {
  return { id, cwd, additionalDirectories, ...defined({ label }) };
}

function checkPlace({ cwd }: NewSession): void {
  if (isAbsolute(cwd)) return;
  throw new TenonError("session.invalid_request", `cwd must be an absolute path, got "${cwd}"`);
}

function newSessionId(world: Pick<World, "now" | "randomBytes">): SessionId {
  return sessionId(uuidV7(world.now(), (count) => world.randomBytes(count)));
}
