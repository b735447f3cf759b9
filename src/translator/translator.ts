// Between an editor and a gateway: passes messages on, and hides from the editor that connections break.
import { backoffDelayMs } from "../base/async/deadline.js";
import { handled } from "../base/async/scope.js";
import { uuidV7 } from "../base/id.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { messageOf } from "../base/message.js";
import { type Asked, AskedOfEditor, BookedSession, type EditorRequest, type Join, REPEATABLE } from "./book.js";
import type { Connection, FromGateway } from "./connection.js";
import { EditorServers, FORK, type LoadOwnServers, SET_SERVERS } from "./editor-servers.js";
import { GatewayClient, type GatewayOptions } from "./gateway-client.js";
import { TRANSLATOR_LIMITS } from "./limits.js";
import {
  ERRORS,
  failure,
  type Outcome,
  type RpcId,
  type RpcRequest,
  readRpc,
  sessionIdOf,
  tenonMeta,
  withTenonMeta,
} from "./messages.js";

export interface TranslatorOptions extends GatewayOptions {
  /** Whenever there is a connection again, before anything is sent. */
  readonly onConnected?: () => void;
  /** To the editor. A promise when it does not keep up. */
  readonly send: (message: object) => Promise<void> | undefined;
  /** A notice as the updates that an editor with these capabilities shows. */
  readonly notice: (level: NoticeLevel, text: string, capabilities: JsonValue | undefined) => readonly object[];
  /** Runs the editor's servers that a gateway on another machine cannot; loaded when the editor hands one over. */
  readonly ownServers?: LoadOwnServers;
}

export type NoticeLevel = "info" | "warning" | "error";

/** A session whose id the editor has, with the parameters of its `session/new`. */
export interface PromisedId {
  readonly id: string;
  readonly params: JsonObject;
  /** What the editor was answered. */
  readonly answer: JsonObject;
}

const CANCEL_REQUEST = "$/cancel_request";
const CANCEL = "session/cancel";
const UPDATE = "session/update";
const PROMPT = "session/prompt";
const SET_TOOLS = "_tenon/session/set_tools";
const CLOSE = "session/close";

const CANCELLED: Outcome = { error: { code: ERRORS.cancelled, message: "Request cancelled" } };

/** Failures of a join that another attempt does not mend. */
const FINAL: ReadonlySet<number> = new Set([ERRORS.notFound, ERRORS.denied, ERRORS.invalidParams]);

/** A session that is closed there may just be moving to another node. */
function isFinal({ error }: Outcome): boolean {
  const data = isJsonObject(error?.data) ? error.data : {};
  return error !== undefined && FINAL.has(error.code) && data["code"] !== "session.closed";
}

export class Translator {
  readonly #options: TranslatorOptions;
  readonly #gateway: GatewayClient;
  readonly #sessions = new Map<string, BookedSession>();
  /** By their ids at the gateway, oldest first. */
  readonly #requests = new Map<number, EditorRequest>();
  readonly #asked = new AskedOfEditor();
  readonly #servers: EditorServers;
  #refusal: Outcome | undefined;
  #isAway = false;
  #onSent: () => void = () => {};

  constructor(options: TranslatorOptions) {
    this.#options = options;
    this.#servers = new EditorServers({
      load: options.ownServers,
      log: options.world.log,
      tell: (id, words) => {
        const session = this.#sessions.get(id);
        if (session) this.#tell(session, "warning", words);
      },
    });
    this.#gateway = new GatewayClient(options, {
      onUp: (connection) => this.#up(connection),
      onDown: (connection) => this.#down(connection),
      onMessage: (connection, message, raw) => this.#fromGateway(connection, message, raw),
      onAway: (reason) => this.#away(reason),
      onRefused: (outcome) => this.#refuseAll(outcome),
    });
  }

  /** Rejects when there is no gateway, or none that will do: the editor has heard nothing of it. */
  async connect(): Promise<void> {
    await this.#gateway.connect();
  }

  /** From now on it stays connected. */
  run(): void {
    this.#gateway.run();
  }

  promise(sessions: readonly PromisedId[]): void {
    for (const { id, params, answer } of sessions) {
      const session = new BookedSession(id, { method: "session/new", params, wasSent: false });
      session.settings.answered(answer);
      this.#sessions.set(id, session);
      this.#join(session);
    }
  }

  /** The editor is gone. What it sent before still reaches the gateway, within a bound. */
  async leave(): Promise<void> {
    using deadline = this.#options.world.deadline(TRANSLATOR_LIMITS.leaveMs);
    await new Promise<void>((resolve) => {
      deadline.signal.addEventListener("abort", () => resolve(), { once: true });
      this.#onSent = () => {
        const isSent = ({ wasSent }: { readonly wasSent: boolean }) => wasSent;
        const openings = [...this.#sessions.values()].flatMap(({ opening }) => opening ?? []);
        if (this.#refusal || [...openings, ...this.#requests.values()].every(isSent)) resolve();
      };
      this.#onSent();
    });
    await this.close();
  }

  async close(): Promise<void> {
    await Promise.all([this.#gateway.close(), this.#servers.close()]);
  }

  // From the editor.

  hear(message: JsonObject): void {
    const rpc = readRpc(message);
    switch (rpc.kind) {
      case "request":
        this.#request(rpc);
        return;
      case "notification":
        this.#notified(rpc.method, rpc.params);
        return;
      case "answer":
        this.#answeredByEditor(rpc.id, rpc.outcome);
        return;
      case "invalid":
        this.#reply(null, { error: { code: ERRORS.invalidRequest, message: "Invalid request" } });
    }
  }

  #request({ id, method, params: given }: RpcRequest): void {
    const params = method === PROMPT ? this.#withPromptId(given) : given;
    const request: EditorRequest = {
      key: this.#gateway.nextId(),
      editorId: id,
      method,
      params,
      sessionId: sessionIdOf(params),
      isOnWire: false,
      wasSent: false,
      isCancelled: false,
      isAnswered: false,
    };
    if (this.#refusal && !this.#gateway.connection) return this.#reply(id, this.#refusal);
    if (!this.#hasRoom(request)) {
      const words = "too many requests wait for the gateway, to which there is no connection";
      return this.#reply(id, failure(ERRORS.internal, words, "gateway.unreachable", "Send it again later."));
    }
    this.#requests.set(request.key, request);
    this.#dispatch(request);
  }

  /** So that it runs once, however often it is sent. */
  #withPromptId(params: JsonValue | undefined): JsonValue | undefined {
    if (!isJsonObject(params) || tenonMeta(params)["promptId"] !== undefined) return params;
    return withTenonMeta(params, { promptId: this.#newId() });
  }

  #newId(): string {
    const { world } = this.#options;
    return uuidV7(world.now(), (count) => world.randomBytes(count));
  }

  /** Only requests that wait for a connection are counted: the gateway has limits of its own. */
  #hasRoom(request: EditorRequest): boolean {
    if (this.#gateway.connection) return true;
    const { count, chars } = TRANSLATOR_LIMITS.waitingRequests;
    if (this.#requests.size >= count) return false;
    const sizes = [request, ...this.#requests.values()].map(({ params }) => JSON.stringify(params ?? null).length);
    return sizes.reduce((sum, size) => sum + size, 0) <= chars;
  }

  /** Sends it, or leaves it until its session is joined. */
  #dispatch(request: EditorRequest): void {
    const { method, params } = request;
    switch (method) {
      case "initialize":
        this.#introduce(request);
        return;
      case "session/new":
      case "session/load":
      case "session/resume":
        if (isJsonObject(params) && this.#open(request, { method, params, request, wasSent: false })) return;
    }
    const session = this.#sessionOf(request);
    if (session && session.state !== "joined") {
      // Without a connection this client has left already.
      if (method === CLOSE && !this.#gateway.connection) {
        this.#forget(session.id);
        this.#answer(request, { result: {} });
      }
      return;
    }
    if (request.wasSent && !REPEATABLE.has(method)) {
      const words = `the connection to the gateway was lost during ${method}: it may have had its effect`;
      const hint = "Look whether it did before you send it again.";
      return this.#answer(request, failure(ERRORS.internal, words, "gateway.unreachable", hint));
    }
    const placing = this.#servers.placedFor(request, session?.directories);
    if (!placing) return this.#send(request, params);
    const { connection } = this.#gateway;
    request.isOnWire = true; // not to be sent a second time meanwhile
    const sending = placing.then((placed) => {
      if (connection && this.#gateway.connection === connection) this.#send(request, placed);
    });
    handled(sending, this.#options.world.log, "send servers");
  }

  #send(request: EditorRequest, params: JsonValue | undefined): void {
    const { connection } = this.#gateway;
    if (!connection) return;
    const { key, method, sessionId } = request;
    const isAgain = request.wasSent;
    request.isOnWire = true;
    request.wasSent = true;
    connection.request(key, method, params, (outcome) => {
      // Done by the first attempt, whose answer was lost.
      const isEnd = method === "session/delete" || method === CLOSE;
      const isGone = isAgain && isEnd && outcome.error?.code === ERRORS.notFound;
      this.#finish(request, isGone ? { result: {} } : outcome);
    });
    // Only this one: a turn that another client began meanwhile is not what was meant.
    if (request.isCancelled) connection.notify(CANCEL_REQUEST, { requestId: key });
    if (method === CLOSE && sessionId !== undefined) this.#forget(sessionId);
    this.#onSent();
  }

  #finish(request: EditorRequest, outcome: Outcome): void {
    const { method, params, sessionId } = request;
    if (!outcome.error && isJsonObject(params)) {
      if (method === "session/delete" && sessionId !== undefined) this.#forget(sessionId);
      if (method === SET_SERVERS) this.#sessionOf(request)?.declareServers(params["mcpServers"]);
      if (method === SET_TOOLS) this.#sessionOf(request)?.declareTools(params, outcome.result);
      const made = method === FORK ? sessionIdOf(outcome.result) : undefined;
      if (made !== undefined) this.#bookFork(made, params, outcome);
      if (made !== undefined) this.#servers.forked(request.key, made);
    }
    this.#answer(request, outcome);
  }

  /** The gateway has joined this client to the copy. */
  #bookFork(id: string, params: JsonObject, { result }: Outcome): void {
    const session = new BookedSession(id, { method: "session/resume", params, wasSent: true });
    const { seq } = tenonMeta(result);
    session.seen.startAt(typeof seq === "number" ? seq : 0);
    this.#markJoined(session);
    this.#sessions.set(id, session);
  }

  /** Once. */
  #answer(request: EditorRequest, outcome: Outcome): void {
    this.#requests.delete(request.key);
    if (request.method === FORK && outcome.error) this.#servers.forkFailed(request.key);
    if (!request.isAnswered) this.#reply(request.editorId, outcome);
    request.isAnswered = true;
    this.#onSent();
  }

  #introduce(request: EditorRequest): void {
    const { params } = request;
    if (!isJsonObject(params)) {
      const words = "Invalid params: initialize takes an object";
      return this.#answer(request, { error: { code: ERRORS.invalidParams, message: words } });
    }
    if (!this.#gateway.connection) return; // by the next connection
    const answering = async () => {
      try {
        this.#answer(request, { result: await this.#gateway.introduce(params) });
      } catch (error) {
        // Without a connection it is said again by the next one.
        if (this.#gateway.connection) this.#answer(request, failure(ERRORS.internal, messageOf(error), "internal"));
      }
    };
    handled(answering(), this.#options.world.log, "introduce the editor");
  }

  #notified(method: string, params: JsonValue | undefined): void {
    const { connection } = this.#gateway;
    const fields = isJsonObject(params) ? params : {};
    if (method === CANCEL_REQUEST) return this.#cancelRequest(fields["requestId"]);
    if (method === CANCEL) this.#cancelPrompts(sessionIdOf(params));
    const session = this.#sessions.get(sessionIdOf(params) ?? "");
    if (session && session.state !== "joined") return; // prompts that are cancelled are cancelled again once they are sent
    connection?.notify(method, params);
  }

  #cancelRequest(editorId: JsonValue | undefined): void {
    for (const request of [...this.#requests.values()]) {
      if (request.editorId !== editorId) continue;
      request.isCancelled = true;
      if (request.isOnWire) this.#gateway.connection?.notify(CANCEL_REQUEST, { requestId: request.key });
      else if (!request.wasSent) {
        this.#answer(request, CANCELLED);
      }
    }
  }

  /** A prompt that cannot be reached now is over for the editor at once; the gateway hears of it later. */
  #cancelPrompts(sessionId: string | undefined): void {
    for (const request of [...this.#requests.values()]) {
      if (request.method !== PROMPT || request.sessionId !== sessionId) continue;
      request.isCancelled = true;
      if (request.isOnWire) continue;
      this.#answer(request, { result: { stopReason: "cancelled" } });
      if (request.wasSent) this.#requests.set(request.key, request);
    }
  }

  // From the gateway.

  #fromGateway(connection: Connection, message: FromGateway, raw: JsonObject): void {
    const { method, params } = message;
    if (message.kind === "request") {
      if (!this.#servers.serves(connection, message)) this.#ask(connection, { ...message, params });
      return;
    }
    if (method === CANCEL_REQUEST) {
      const id = isJsonObject(params) ? params["requestId"] : undefined;
      this.#servers.cancel(id);
      const asked = this.#asked.byGatewayId(connection, id);
      if (asked) this.#withdraw(connection, asked);
      return;
    }
    if (method === UPDATE) {
      const session = this.#sessions.get(sessionIdOf(params) ?? "");
      if (session?.seen.accepts(tenonMeta(params)) === false) return;
      const update = isJsonObject(params) ? params["update"] : undefined;
      if (isJsonObject(update)) session?.settings.updated(update);
    }
    this.#toEditor(raw);
  }

  #ask(connection: Connection, { id, method, params }: RpcRequest): void {
    const sessionId = sessionIdOf(params);
    const { questionId: given } = tenonMeta(params);
    const questionId = typeof given === "string" ? given : undefined;
    const known = this.#asked.again(sessionId, questionId);
    if (!known) {
      const { key } = this.#asked.add({ sessionId, questionId, gatewayId: id, connection });
      this.#toEditor({ jsonrpc: "2.0", id: key, method, params });
    } else if (known.answer) connection.answer(id, known.answer);
    else {
      known.gatewayId = id;
      known.connection = connection;
    }
  }

  /** What the editor answers to a question after that says nothing about it: editors close withdrawn ones by themselves. */
  #withdraw(connection: Connection, asked: Asked): void {
    if (!asked.isLeft) this.#takeOff(asked);
    if (asked.questionId === undefined) return;
    this.#asked.withdraw(asked);
    connection.answer(asked.gatewayId, CANCELLED);
  }

  #takeOff({ key }: Asked): void {
    this.#toEditor({ jsonrpc: "2.0", method: CANCEL_REQUEST, params: { requestId: key } });
  }

  #answeredByEditor(id: RpcId, outcome: Outcome): void {
    const asked = this.#asked.answered(id, outcome);
    const { connection } = this.#gateway;
    if (asked && connection && asked.connection === connection) connection.answer(asked.gatewayId, outcome);
  }

  /** In order. While the editor does not read, nothing more is read from the gateway. */
  #toEditor(message: object): void {
    const held = this.#options.send(message);
    const { connection } = this.#gateway;
    if (!held || !connection) return;
    connection.pause();
    handled(
      held.then(() => connection.resume()),
      this.#options.world.log,
      "wait for the editor",
    );
  }

  #reply(id: RpcId, outcome: Outcome): void {
    this.#toEditor({ jsonrpc: "2.0", id, ...outcome });
  }

  // The connection.

  #up(connection: Connection): void {
    this.#refusal = undefined;
    this.#options.onConnected?.();
    if (this.#isAway) this.tell("info", "Connected to the gateway again.");
    this.#isAway = false;
    for (const session of this.#sessions.values()) this.#join(session);
    for (const request of [...this.#requests.values()]) {
      if (!this.#sessionOf(request) && this.#gateway.connection === connection) this.#dispatch(request);
    }
    this.#onSent();
  }

  #down(connection: Connection): void {
    this.#asked.dropRequestsOf(connection);
    this.#servers.disconnected();
    for (const session of this.#sessions.values()) {
      session.state = "absent";
      session.failedJoins = 0;
    }
    for (const request of this.#requests.values()) request.isOnWire = false;
  }

  #away(reason: string): void {
    this.#isAway = true;
    const why = reason === "" ? "" : ` (${reason})`;
    const after = "Tenon keeps trying. Turns go on there, and nothing is lost.";
    this.tell("warning", `There is no connection to the gateway ${this.#options.gatewayName}${why}. ${after}`);
  }

  #refuseAll(outcome: Outcome): void {
    this.#refusal = outcome;
    for (const request of [...this.#requests.values()]) this.#answer(request, outcome);
  }

  /** In every session of the editor. */
  tell(level: NoticeLevel, words: string): void {
    for (const session of this.#sessions.values()) this.#tell(session, level, words);
  }

  #tell(session: BookedSession, level: NoticeLevel, words: string): void {
    for (const update of this.#options.notice(level, words, this.#gateway.capabilities)) this.#update(session, update);
  }

  /** Of the translator's own, and so without a number. */
  #update({ id }: BookedSession, update: object): void {
    this.#toEditor({ jsonrpc: "2.0", method: UPDATE, params: { sessionId: id, update } });
  }

  // Sessions.

  /** The session a request is for, unless the request is what opens it. */
  #sessionOf({ sessionId }: EditorRequest): BookedSession | undefined {
    return sessionId === undefined ? undefined : this.#sessions.get(sessionId);
  }

  /** False: there is nothing to book, so the request is passed on as it is. */
  #open(request: EditorRequest, opening: NonNullable<BookedSession["opening"]>): boolean {
    const id = opening.method === "session/new" ? this.#newId() : request.sessionId;
    if (id === undefined) return false;
    const known = [...this.#sessions.values()].find((session) => session.opening?.request === request);
    const session = known ?? this.#sessions.get(id);
    if (!session) {
      const booked = new BookedSession(id, opening);
      this.#sessions.set(id, booked);
      this.#join(booked);
    } else if (!session.opening) {
      session.openAgain(opening);
      if (opening.method === "session/load") this.#leaveQuestions(session.id);
      session.state = "absent";
      this.#join(session);
    }
    return true;
  }

  #join(session: BookedSession): void {
    const { connection } = this.#gateway;
    if (!connection || session.state !== "absent") return;
    session.state = "joining";
    const { opening, directories } = session;
    const join = session.nextJoin();
    const begin = (params: JsonValue = join.params) => {
      if (!this.#isCurrent(connection, session) || session.opening !== opening) return;
      if (opening) opening.wasSent = true;
      connection.request(this.#gateway.nextId(), join.method, params, (outcome) => {
        if (this.#isCurrent(connection, session)) this.#joined(session, join, outcome);
      });
      this.#onSent();
    };
    const { log } = this.#options.world;
    const placed = this.#servers.placed(join.params, { sessionId: session.id, directories });
    if (placed) return handled(placed.then(begin), log, "join a session");
    const preparing = this.#gateway.prepare(connection, directories);
    if (!preparing) return begin();
    handled(
      preparing
        .catch((error: unknown) => log.warn("translator.environment", { error: messageOf(error) }))
        .then(() => begin()),
      log,
      "join a session",
    );
  }

  #isCurrent(connection: Connection, session: BookedSession): boolean {
    return this.#gateway.connection === connection && this.#sessions.get(session.id) === session;
  }

  #joined(session: BookedSession, join: Join, outcome: Outcome): void {
    if (outcome.error) return this.#joinFailed(session, join, outcome);
    const { opening } = session;
    const { seq, view } = tenonMeta(outcome.result);
    if (typeof seq === "number") session.seen.startAt(seq);
    this.#markJoined(session);
    const given = isJsonObject(outcome.result) ? outcome.result : {};
    if (opening?.request) {
      session.settings.answered(given);
      const isNew = opening.method === "session/new";
      this.#answer(opening.request, { result: isNew ? { ...given, sessionId: session.id } : given });
    } else for (const update of session.settings.updatesTo(given)) this.#update(session, update);
    if (isJsonObject(view)) this.#closeQuestions(session.id, view["questions"]);
    for (const tools of session.toolRequests) {
      this.#gateway.connection?.request(this.#gateway.nextId(), SET_TOOLS, tools, () => {});
    }
    for (const request of [...this.#requests.values()]) {
      if (request.sessionId === session.id && !request.isOnWire) this.#dispatch(request);
    }
  }

  #markJoined(session: BookedSession): void {
    session.state = "joined";
    session.wasJoined = true;
    session.failedJoins = 0;
    session.opening = undefined;
  }

  #joinFailed(session: BookedSession, join: Join, outcome: Outcome): void {
    const { opening } = session;
    const code = outcome.error?.code ?? ERRORS.internal;
    const { world } = this.#options;
    session.state = "absent";
    if (opening?.method === "session/new" && join.method === "session/resume" && code === ERRORS.notFound) {
      opening.wasSent = false; // it never arrived
      this.#join(session);
    } else if (opening?.request) {
      session.opening = undefined;
      this.#answer(opening.request, outcome);
      if (session.wasJoined) this.#join(session);
      else this.#lose(session, outcome);
    } else if (isFinal(outcome)) {
      this.#tell(session, "error", `This session cannot be continued: ${outcome.error?.message ?? "unknown cause"}`);
      this.#lose(session, outcome);
    } else {
      session.failedJoins += 1;
      const delayMs = backoffDelayMs(TRANSLATOR_LIMITS.retry, session.failedJoins, world.random());
      const { connection } = this.#gateway;
      world.after(delayMs, () => {
        if (connection && this.#isCurrent(connection, session)) this.#join(session);
      });
    }
  }

  /** What waits for it ends with that. */
  #lose(session: BookedSession, outcome: Outcome): void {
    this.#forget(session.id);
    for (const request of [...this.#requests.values()]) {
      if (request.sessionId === session.id) this.#answer(request, outcome);
    }
  }

  #forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#servers.forget(sessionId);
    this.#leaveQuestions(sessionId);
  }

  /** What the editor was asked in a session that it leaves is asked anew when it comes back. */
  #leaveQuestions(sessionId: string): void {
    for (const asked of this.#asked.leave(sessionId, this.#gateway.connection)) this.#takeOff(asked);
  }

  /** Questions that ended while there was no connection are taken off the editor's screen. */
  #closeQuestions(sessionId: string, open: JsonValue | undefined): void {
    if (!Array.isArray(open)) return;
    const ids = open.flatMap((question) => (isJsonObject(question) ? [question["id"]] : []));
    const openIds = new Set(ids.filter((id) => typeof id === "string"));
    for (const asked of this.#asked.closeAllBut(sessionId, openIds)) this.#takeOff(asked);
  }
}
