// The sessions of a gateway: opened for the first client that comes, shared by all of them, and put to rest when nobody needs them.
import { Cell } from "../../base/async/cell.js";
import { abortListeners, contained, handled, Scope } from "../../base/async/scope.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { Timer, World } from "../../base/ports/world.js";
import {
  givenTitle,
  type NewSession,
  type Session,
  type SessionHost,
  type SessionInfo,
  type SessionStore,
  type StoredRequest,
} from "../../session/index.js";
import type { AuditLog } from "../access/audit.js";
import { OWN_ACCOUNT } from "../access/principal.js";
import { GATEWAY_LIMITS } from "../limits.js";
import { accountFolder } from "../nodes/file-store.js";
import type { GatewayStore, LeftSession } from "../nodes/nodes.js";
import type { WireSessionState } from "../protocol.js";
import { BroughtServers } from "./brought-servers.js";
import { announceDrain, drainOrder, drainWithin, endSession, unanswered } from "./ending.js";
import { Labels } from "./labels.js";
import { begunWith, LeftTurns, lacksEnvironment } from "./left-turns.js";
import { type OpenRuntime, type RuntimePlace, Runtimes, type UsedRuntime } from "./runtimes.js";

export interface SharedSessionsOptions {
  readonly world: World;
  /** Of the user whose gateway this is; other accounts have folders in it. */
  readonly stateDir: string;
  readonly store: GatewayStore;
  readonly audit: Pick<AuditLog, "write">;
  readonly openRuntime: OpenRuntime;
}

/** A session that is in memory. */
export interface OpenSession {
  readonly id: string;
  readonly account: string;
  readonly session: Session;
  readonly runtime: UsedRuntime;
  /** It runs in the environment of a client. */
  readonly hasEnvironment: boolean;
  /** The client that created it; undefined for one that was loaded. */
  readonly createdBy: string | undefined;
  readonly openedMs: number;
  /** When it was loaded; the session has the one of now, once it is told. */
  title?: string;
  /** Whoever has it open, by connection. */
  readonly members: Set<Member>;
  /** Turns and records it had when it was opened. */
  readonly before: Totals;
  readonly servers: BroughtServers;
  rest?: Timer;
  closing?: Promise<void>;
}

export interface Totals {
  readonly turns: number;
  readonly records: number;
}

/** A client that has a session open, over one connection. */
export interface Member {
  readonly client: string;
  /** Ends the connection: the client connects again and resumes. It is told why, if that is given. */
  reconnect(reason?: string): void;
}

/** For those who watch all sessions of an account. */
export interface SessionChange {
  readonly account: string;
  readonly id: string;
  /** Undefined: it was deleted. */
  readonly session: Session | undefined;
  readonly title?: string;
  readonly info?: SessionInfo;
}

/** How a session is to be opened that is not in memory. */
export interface OpenFor {
  readonly account: string;
  readonly client?: string;
  /** The environment of the client. */
  readonly env?: World["env"];
}

type MakeSession = (host: SessionHost, about: Pick<NewSession, "hasClientEnvironment">) => Promise<Session>;

interface Opening {
  readonly request: NewSession;
  readonly opener: OpenFor;
  readonly createdBy: string | undefined;
}

interface Account {
  readonly name: string;
  readonly place: Pick<RuntimePlace, "stateDir" | "kept">;
  readonly store: SessionStore;
  readonly open: Map<string, OpenSession>;
  readonly opening: Map<string, Promise<OpenSession>>;
  readonly labels: Labels;
}

export class SharedSessions implements AsyncDisposable {
  readonly world: World;
  /** No client is connected, and no session has work: the gateway could end. */
  readonly isIdle: Cell<boolean> = new Cell(true);
  readonly #options: SharedSessionsOptions;
  readonly #runtimes: Runtimes;
  readonly #scope: Scope;
  readonly #accounts = new Map<string, Account>();
  readonly #watchers = new Set<(change: SessionChange) => void>();
  /** Sessions with a turn that runs or waits. */
  readonly #busy = new Set<OpenSession>();
  /** Of sessions that are closed. */
  #past: Totals = { turns: 0, records: 0 };
  readonly #left: LeftTurns;
  #connections = 0;
  #isDraining = false;

  constructor(options: SharedSessionsOptions) {
    this.world = options.world;
    this.#options = options;
    this.#runtimes = new Runtimes(options.world, options.openRuntime);
    this.#scope = new Scope(options.world.log);
    this.#left = new LeftTurns({
      world: options.world,
      runtimes: this.#runtimes,
      isAmongNodes: options.store.nodes !== undefined,
      account: (name) => this.#account(name),
      join: (request, account) => this.#join(request, { account }),
    });
  }

  get audit(): SharedSessionsOptions["audit"] {
    return this.#options.audit;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Those in memory, of one account or of all. */
  open(account?: string): readonly OpenSession[] {
    const accounts = account === undefined ? [...this.#accounts.values()] : [this.#account(account)];
    return accounts.flatMap(({ open }) => [...open.values()]);
  }

  /** Since the start. */
  get totals(): Totals {
    return this.open().reduce((sum, open) => added(sum, progressOf(open)), this.#past);
  }

  find(account: string, id: string): OpenSession | undefined {
    const found = this.#account(account).open.get(id);
    return found?.closing ? undefined : found;
  }

  /** Throws `store.unavailable` at once where it would only be waited for. */
  store(account: string): SessionStore {
    this.assertUsable();
    return this.#account(account).store;
  }

  stateOf(account: string, id: string): WireSessionState {
    return this.find(account, id)?.session.state ?? (this.#left.isHeld(account, id) ? "waiting" : "resting");
  }

  /** The one that was begun last with this label, if it is still there. */
  async labelled(name: string, label: string): Promise<string | undefined> {
    const { labels, open } = this.#account(name);
    return await labels.find(label, (id) => open.has(id));
  }

  /** One after the other for each account and label. */
  async inLine<T>(name: string, label: string, work: () => Promise<T>): Promise<T> {
    return await this.#account(name).labels.inLine(label, work);
  }

  /** Sessions that are not in memory, whose turn waits for a client with an environment. */
  held(account: string): readonly string[] {
    return this.#left.heldOf(account);
  }

  /** A client connected; returns what to call when it is gone. */
  connected(): () => void {
    this.#connections += 1;
    this.#checkIdle();
    let isHere = true;
    return () => {
      if (isHere) this.#connections -= 1;
      isHere = false;
      this.#checkIdle();
    };
  }

  /** Calls `listener` after each change of any session; returns the way to stop. */
  watch(listener: (change: SessionChange) => void): () => void {
    this.#watchers.add(listener);
    return () => {
      this.#watchers.delete(listener);
    };
  }

  /** With an id of the client's choice that is in use: the session it is, if this client made it. */
  async create(request: NewSession, opener: OpenFor): Promise<OpenSession> {
    return await this.#unlessStopping(() => this.#createOrJoin(request, opener));
  }

  async #createOrJoin(request: NewSession, opener: OpenFor): Promise<OpenSession> {
    const account = this.#account(opener.account);
    const { id } = request;
    if (id === undefined) return await this.#create(account, request, opener);
    await account.opening.get(id)?.catch(() => undefined);
    const known = account.open.get(id);
    if (known?.createdBy !== undefined && known.createdBy !== opener.client) {
      throw new TenonError("session.invalid_request", `the id "${id}" is in use by another session`, {
        hint: "Load the session, or leave the id out.",
      });
    }
    if (known || (await account.store.has(id))) return await this.#join({ ...request, id }, opener);
    const created = this.#opening(account, id, () => this.#create(account, request, opener));
    return await created.catch(async (error: unknown) => {
      // Another node may have begun it meanwhile, for the same client, whose connection broke before it was told.
      if (!this.#options.store.nodes || !(await account.store.has(id))) throw error;
      return await this.#join({ ...request, id }, opener);
    });
  }

  async #create(account: Account, request: NewSession, opener: OpenFor): Promise<OpenSession> {
    const create: MakeSession = async (host, about) => {
      const session = host.createSession({ ...request, ...about });
      if (request.label !== undefined) account.labels.note(request.label, session.id);
      return session;
    };
    return await this.#open(account, { request, opener, createdBy: opener.client }, create);
  }

  /** In a runtime of its directory and its opener's environment. */
  async #open(account: Account, about: Opening, make: MakeSession): Promise<OpenSession> {
    this.#assertRoom(account);
    const { request, opener, createdBy } = about;
    const { client, env } = opener;
    const hasEnvironment = env !== undefined;
    const runtime = await this.#runtimes.use({ ...account.place, cwd: request.cwd, ...defined({ env }) });
    try {
      this.#mustStay();
      const session = await make(runtime.host, { hasClientEnvironment: hasEnvironment });
      // Before its turn goes on: that is for the next gateway, or another node.
      if (this.#isDraining || !this.#isUsable) await session.close();
      this.#mustStay();
      return this.#add(account, { session, runtime, hasEnvironment, createdBy, declarer: client, given: request });
    } catch (error) {
      runtime.release();
      throw error;
    }
  }

  /** The session in memory, or taken up again from its records; clients that come at once get the same one. */
  async join(request: StoredRequest, opener: OpenFor): Promise<OpenSession> {
    return await this.#unlessStopping(() => this.#join(request, opener));
  }

  async #join(request: StoredRequest, opener: OpenFor): Promise<OpenSession> {
    const account = this.#account(opener.account);
    const { id } = request;
    for (;;) {
      const opening = account.opening.get(id);
      if (opening) await opening.catch(() => undefined);
      this.#mustStay();
      const known = account.open.get(id);
      if (known?.closing) await known.closing;
      else if (known && !(await this.#gaveWay(account, known, opener))) {
        const isHere = (client: string | undefined) => [...known.members].some((member) => member.client === client);
        await known.servers.join(request, opener.client, isHere);
        return known;
      } else if (!known) return await this.#opening(account, id, () => this.#load(account, request, opener));
    }
  }

  /** Clients that come meanwhile wait for it. */
  async #opening(account: Account, id: string, open: () => Promise<OpenSession>): Promise<OpenSession> {
    const underWay = account.opening.get(id);
    if (underWay) return await underWay;
    const work = open();
    account.opening.set(id, work);
    try {
      return await work;
    } finally {
      account.opening.delete(id);
    }
  }

  async #load(account: Account, request: StoredRequest, opener: OpenFor): Promise<OpenSession> {
    let title: string | undefined;
    const load: MakeSession = async (host, about) => {
      const loaded = await host.loadSession({ ...request, ...about });
      title = loaded.title;
      return loaded.session;
    };
    const made = this.#open(account, { request, opener, createdBy: undefined }, load);
    const open = await made.catch((error: unknown) => {
      throw openElsewhere(error);
    });
    title ??= (await account.store.place(open.id).catch(() => undefined))?.title;
    Object.assign(open, defined({ title }));
    this.#left.goOn(open);
    return open;
  }

  /** Whether the session was closed because a client has the environment that it needs: it is to be opened again with it. */
  async #gaveWay(account: Account, known: OpenSession, { env }: OpenFor): Promise<boolean> {
    if (env === undefined || !lacksEnvironment(known)) return false;
    const { cwd } = known.session;
    const problem = await this.#left.problemIn({ ...account.place, cwd, env }, begunWith(known.session));
    if (problem || !lacksEnvironment(known)) return false;
    this.world.log.info("session.reopened", { session: known.id, account: account.name });
    for (const member of known.members) member.reconnect();
    await this.#close(known);
    return true;
  }

  /** A copy of a session, which may be open here or anywhere. */
  async fork(request: StoredRequest, opener: OpenFor): Promise<OpenSession> {
    return await this.#unlessStopping(() => this.#fork(request, opener));
  }

  async #fork(request: StoredRequest, opener: OpenFor): Promise<OpenSession> {
    const account = this.#account(opener.account);
    const fork: MakeSession = async (host, about) => (await host.forkSession({ ...request, ...about })).session;
    return await this.#open(account, { request, opener, createdBy: opener.client }, fork);
  }

  /** Ends what runs in it, and removes all there is of it. */
  async delete(account: string, id: string): Promise<void> {
    const { open, opening } = this.#account(account);
    for (;;) {
      await opening.get(id)?.catch(() => undefined);
      const found = open.get(id);
      if (!found) break;
      if (!found.closing) found.session.cancel();
      await this.#close(found);
    }
    await this.store(account).remove(id);
    this.#left.forget(account, id);
    this.#changed({ account, id, session: undefined });
  }

  async setTitle(account: string, id: string, words: string): Promise<string> {
    const open = this.find(account, id);
    const title = await (open ? open.runtime.host.setTitle(id, words) : this.#retitle(account, id, words));
    this.#changed({ account, id, session: open?.session, title });
    return title;
  }

  async #retitle(account: string, id: string, words: string): Promise<string> {
    const title = givenTitle(words);
    await this.store(account).setTitle(id, title);
    return title;
  }

  /** A client has the session open from now on. Throws `access.limited` when there are too many. */
  enter(open: OpenSession, member: Member): void {
    const clients = new Set([...open.members].map(({ client }) => client));
    const { clientsPerSession } = GATEWAY_LIMITS.sessions;
    if (!clients.has(member.client) && clients.size >= clientsPerSession) {
      const words = `session "${open.id}" has ${clientsPerSession} clients, which is the most it may have`;
      throw new TenonError("access.limited", words, { hint: "Close the session in another client first." });
    }
    open.members.add(member);
    this.#checkRest(open);
    if (open.closing) member.reconnect(); // it came while the session was left: those before it have been told
  }

  /** Work goes on. */
  exit(open: OpenSession, member: Member): void {
    open.members.delete(member);
    this.#checkRest(open);
  }

  /** Throws `store.unavailable` while this node has no lease: it may own no session then. */
  assertUsable(): void {
    if (this.#isUsable) return;
    const reason = this.#options.store.nodes?.problem.value ?? "it is being registered there again";
    throw new TenonError("store.unavailable", `this node of the gateway has no lease in the database: ${reason}`, {
      hint: "Connect to another node, or wait: it goes on by itself once the database can be reached.",
    });
  }

  get #isUsable(): boolean {
    const { nodes } = this.#options.store;
    return !nodes || nodes.self.value !== undefined;
  }

  /** Whether one more session of the account may be opened. */
  hasRoom(account: string): boolean {
    return this.#fullness(this.#account(account)) === undefined;
  }

  /** Goes on with a turn that another node left, which this node owns now. */
  async takeUp({ account, ...request }: LeftSession): Promise<void> {
    const open = await this.#join(request, { account });
    // A client that came at the same moment may have opened it, and left the turn as it is.
    if (open.session.unfinished) this.#left.goOn(open);
  }

  continueOpenTurns(accounts: readonly string[]): void {
    for (const account of new Set([OWN_ACCOUNT, ...accounts])) {
      this.#scope.run(`continue turns of ${account}`, (signal) => this.#left.continue(account, signal));
    }
  }

  /**
   * No prompt is taken any more; turns that run get this long, and those that do not end are left to the next gateway. Where there
   * are other nodes they are handed over at once.
   */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    const { nodes } = this.#options.store;
    if (nodes) await announceDrain(this.world, nodes);
    using deadline = this.world.deadline(graceMs);
    using patience = this.world.deadline(graceMs + GATEWAY_LIMITS.sessions.drainCallsMs);
    const late = new Promise<void>((resolve) => abortListeners(patience.signal).add(() => resolve()));
    for (;;) {
      const opening = [...this.#accounts.values()].flatMap((account) => [...account.opening.values()]);
      const open = this.open();
      if (open.length === 0 && (opening.length === 0 || patience.signal.aborted)) return;
      // Those that are being opened find that they may not go on.
      const opened = Promise.race([Promise.allSettled(opening), late]);
      const callsMs = drainOrder(open);
      const drained = open.map(async (one) => {
        if (!nodes) await drainWithin(one.session, deadline.signal);
        await this.#close(one, callsMs.get(one));
      });
      await Promise.all([opened, ...drained]);
    }
  }

  #mustStay(): void {
    if (this.#isDraining) throw new TenonError("session.closed", "the gateway stops");
    this.assertUsable();
  }

  /** What is begun while the gateway stops is not answered: its connection ends, and the client asks the next one. */
  async #unlessStopping(open: () => Promise<OpenSession>): Promise<OpenSession> {
    try {
      this.#mustStay();
      return await open();
    } catch (error) {
      if (this.#isDraining) return await unanswered();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDraining = true;
    await this.#scope.close();
    await Promise.all(this.open().map((open) => this.#close(open)));
    await this.#runtimes[Symbol.asyncDispose]();
  }

  #account(name: string): Account {
    const known = this.#accounts.get(name);
    if (known) return known;
    const stateDir = accountFolder(this.#options.stateDir, name);
    const kept = this.#options.store.account(name);
    const { sessions: store } = kept;
    const open = { open: new Map(), opening: new Map(), labels: new Labels(store) };
    const account: Account = { name, place: { stateDir, kept }, store, ...open };
    this.#accounts.set(name, account);
    return account;
  }

  #assertRoom(account: Account): void {
    const words = this.#fullness(account);
    if (words === undefined) return;
    throw new TenonError("access.limited", `${words} are open, which is the most there may be`, {
      hint: "Close clients: a session that nobody uses is put to rest after 10 minutes. Or delete sessions.",
    });
  }

  #fullness(account: Account): string | undefined {
    const { perAccount, inAll } = GATEWAY_LIMITS.sessions;
    if (account.open.size + account.opening.size >= perAccount) return `${perAccount} sessions of this account`;
    return this.open().length >= inAll ? `${inAll} sessions` : undefined;
  }

  #add(
    account: Account,
    made: Pick<OpenSession, "session" | "runtime" | "hasEnvironment" | "createdBy"> & {
      given: NewSession;
      declarer: string | undefined;
    },
  ): OpenSession {
    const { session, runtime, hasEnvironment, createdBy, given, declarer } = made;
    const { id } = session;
    const open: OpenSession = {
      ...{ id, account: account.name, session, runtime, hasEnvironment, createdBy },
      before: { turns: session.turnCount, records: session.log.lastSeq },
      members: new Set(),
      openedMs: this.world.now(),
      servers: new BroughtServers(session, given, declarer),
    };
    account.open.set(id, open);
    session.onInfo((info) => {
      const { question } = info;
      if (question?.by && !question.isOpen) {
        const { client, name } = question.by;
        const about = { session: id, account: account.name, question: question.id, of: question.of };
        this.#options.audit.write("question.answered", { ...about, client, name });
      }
      this.#checkRest(open);
      this.#changed({ account: account.name, id, session, info, ...defined({ title: open.title }) });
    });
    const { epoch, lost } = session.owned;
    const onLost = () => {
      const about = { session: id, account: account.name, epoch, error: messageOf(lost.reason) };
      this.world.log.warn("session.superseded", about);
      handled(this.#close(open), this.world.log, "close a session that another node has");
    };
    if (lost.aborted) onLost();
    else abortListeners(lost).add(onLost);
    this.#checkRest(open);
    return open;
  }

  /** An idle session without clients rests after a while: its servers are ended, and its lock is free for others. */
  #checkRest(open: OpenSession): void {
    const isLeft = open.session.unfinished !== undefined;
    const isQuiet = open.session.state === "idle" || isLeft;
    // Other nodes would take an open turn at once, and lack the same.
    const mayRest = open.members.size === 0 && isQuiet && !open.closing && !(isLeft && this.#options.store.nodes);
    if (!mayRest) {
      open.rest?.clear();
      delete open.rest;
    } else {
      open.rest ??= this.world.after(GATEWAY_LIMITS.sessions.restMs, () => {
        this.world.log.info("session.rests", { session: open.id, account: open.account });
        handled(this.#close(open), this.world.log, "put a session to rest");
      });
    }
    if (isQuiet) this.#busy.delete(open);
    else this.#busy.add(open);
    this.#checkIdle();
  }

  #close(open: OpenSession, callsMs: number = GATEWAY_LIMITS.sessions.drainCallsMs): Promise<void> {
    open.closing ??= this.#closeNow(open, callsMs);
    return open.closing;
  }

  async #closeNow(open: OpenSession, callsMs: number): Promise<void> {
    open.rest?.clear();
    const isLeft = open.session.unfinished !== undefined;
    if (isLeft && !this.#options.store.nodes) this.#left.hold(open.account, open.id); // else the store knows
    try {
      await endSession(open, {
        world: this.world,
        nodes: this.#options.store.nodes,
        mayGoOn: this.#isDraining || isLeft,
        callsMs,
      });
    } finally {
      this.#past = added(this.#past, progressOf(open));
      this.#account(open.account).open.delete(open.id);
      this.#busy.delete(open);
      open.runtime.release();
      this.#checkIdle();
    }
    const { account, id, session, title } = open;
    if (!this.#isDraining && !isLeft) this.#changed({ account, id, session, ...defined({ title }) });
  }

  #checkIdle(): void {
    this.isIdle.set(this.#connections === 0 && this.#busy.size === 0);
  }

  #changed(change: SessionChange): void {
    for (const watcher of this.#watchers) contained(this.world.log, "watcher of sessions", () => watcher(change));
  }
}

function added(one: Totals, other: Totals): Totals {
  return { turns: one.turns + other.turns, records: one.records + other.records };
}

function progressOf({ session, before }: OpenSession): Totals {
  return { turns: session.turnCount - before.turns, records: session.log.lastSeq - before.records };
}

/** A session of a plain `tenon acp` belongs to that process alone. */
function openElsewhere(thrown: unknown): unknown {
  if (!(thrown instanceof TenonError) || thrown.code !== "session.busy") return thrown;
  const hint =
    "Close it there, or start that editor with `tenon acp --gateway` (tenon setup EDITOR --gateway): then it can be shared.";
  return new TenonError("session.busy", thrown.message, { cause: thrown, hint });
}
