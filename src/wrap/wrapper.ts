// Between an editor and the processes of another agent: passes on every message, and gives each session servers of its own.
import { isAbsolute } from "node:path";
import {
  abilitiesOf,
  type ClientQuestions,
  loadQuestions,
  noticeUpdates,
  readClientServers,
  toUpdates,
} from "../acp/index.js";
import { handled, Scope } from "../base/async/scope.js";
import { messageOf, TenonError } from "../base/errors.js";
import type { EndGrace } from "../base/io/process.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import { ERRORS, failure, type Outcome, type RpcId, readRpc, sessionIdOf, tenonMeta } from "../translator/index.js";
import type { OnAnswer } from "./agent-process.js";
import { Agents, type AgentsOptions, CANCEL_REQUEST, idOf, type RunningAgent } from "./agents.js";
import { Endpoint } from "./endpoint.js";
import { WRAP_LIMITS } from "./limits.js";
import { bridgeEntry, type SharedServerOptions, WrappedServers } from "./session-servers.js";

export interface WrapperOptions extends Pick<AgentsOptions, "world" | "agent" | "isOneProcess" | "send" | "onStderr"> {
  /** How a bridge to this address is started. */
  readonly bridge: (address: string) => { readonly command: string; readonly args: readonly string[] };
  readonly servers: SharedServerOptions;
  /** The last process of the agent ended by itself. */
  readonly onEnded: (code: number) => void;
}

interface WrappedSession {
  readonly agent: RunningAgent;
  readonly servers: WrappedServers;
  /** Prompts that the agent has not got yet, by their ids. */
  readonly held: Map<RpcId, AbortController>;
}

/** What the wrapper itself asks the editor with, and is reached at by bridges. */
interface OwnSide {
  readonly questions: ClientQuestions;
  readonly endpoint: Endpoint;
}

interface Request {
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonValue | undefined;
  readonly raw: JsonObject;
}

const OPENING: ReadonlySet<string> = new Set(["session/new", "session/load", "session/resume", "session/fork"]);
const UPDATE = "session/update";
const STATUS = "_tenon/mcp/status";
const AUTH_REQUIRED = -32_000;
const METHOD_NOT_FOUND = -32_601;
const SAME_ID = "The wrapped agent gave two of its processes a session of the same id";
const INVALID = { code: ERRORS.invalidRequest, message: "Invalid request: no JSON-RPC message" };

export class Wrapper {
  readonly #options: WrapperOptions;
  readonly #scope: Scope;
  readonly #prefix: string;
  readonly #agents: Agents;
  readonly #sessions = new Map<string, WrappedSession>();
  /** By id, why they take no requests any more. */
  readonly #closed = new Map<string, string>();
  /** Sessions that are being opened under an id the editor gave. */
  readonly #named = new Set<string>();
  /** Requests of the editor that an agent works on. */
  readonly #asked = new Map<RpcId, RunningAgent>();
  /** Loaded, and listening, with the first session. */
  #own: Promise<OwnSide> | undefined;
  #clientQuestions: ClientQuestions | undefined;
  #authenticate: JsonObject | undefined;
  #capabilities: JsonObject = {};
  #isClosing = false;

  constructor(options: WrapperOptions) {
    this.#options = options;
    this.#scope = new Scope(options.world.log);
    this.#prefix = `tenon-${Buffer.from(options.world.randomBytes(9)).toString("base64url")}-`;
    this.#agents = new Agents({
      ...options,
      prefix: this.#prefix,
      onMessage: (agent, message) => this.#fromAgent(agent, message),
      onEnded: (agent, why, code) => this.#agentEnded(agent, why, code),
    });
  }

  /** A message of the editor. */
  hear(raw: JsonObject): void {
    const message = readRpc(raw);
    switch (message.kind) {
      case "invalid":
        return this.#send({ jsonrpc: "2.0", id: null, error: INVALID });
      case "answer":
        return this.#answered(message.id, raw);
      case "notification":
        return this.#notified(message.method, message.params, raw);
      case "request":
        return this.#requested({ ...message, raw });
    }
  }

  /** Ends every process, of the agent and of servers. */
  async close(grace: EndGrace = LIMITS.exitGrace): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const { held } of sessions) for (const prompt of held.values()) prompt.abort();
    await Promise.all([this.#agents.end(grace), ...sessions.map(({ servers }) => servers.close(grace))]);
    const own = await this.#own?.catch(() => undefined);
    own?.questions.close();
    await own?.endpoint[Symbol.asyncDispose]();
    await this.#scope.close();
  }

  /** In every session. */
  tell(words: string): void {
    for (const sessionId of this.#sessions.keys()) this.#notice(sessionId, words);
  }

  // From the editor.

  #requested(request: Request): void {
    const { id, method, params } = request;
    const sessionId = sessionIdOf(params);
    const session = sessionId === undefined ? undefined : this.#sessions.get(sessionId);
    if (method === "initialize" && isJsonObject(params)) return this.#introduced(request, params);
    if (OPENING.has(method) && this.#agents.initialize) {
      const failed = (error: unknown) => this.#reply(id, refusal(error));
      return this.#scope.run(method, () => this.#open(request).catch(failed));
    }
    const closed = this.#closed.get(sessionId ?? "");
    if (!session && closed !== undefined && method !== "session/delete") {
      return this.#reply(id, failure(ERRORS.notFound, `Session not found: ${closed}`, "session.not_found"));
    }
    if (session && sessionId !== undefined) {
      if (method === STATUS) return this.#reply(id, { result: { servers: asJson(session.servers.statuses) } });
      if (method === "session/prompt") return this.#prompt(session, request);
      if (method === "session/close") return this.#closeSession(sessionId, session, request);
    }
    const agent = session?.agent ?? this.#agents.any();
    this.#pass(agent, request, (outcome) => {
      if (method === "authenticate" && !outcome.error && isJsonObject(params)) this.#authenticate = params;
      this.#reply(id, outcome);
      if (method === "session/delete" && session && sessionId !== undefined && !outcome.error) {
        this.#forget(sessionId, "it was deleted");
        this.#end(session);
      }
    });
  }

  #introduced(request: Request, params: JsonObject): void {
    const agent = this.#agents.any();
    this.#agents.initialize = params;
    const { clientCapabilities } = params;
    this.#capabilities = isJsonObject(clientCapabilities) ? clientCapabilities : {};
    agent.ready = new Promise((resolve) => {
      this.#pass(agent, request, (outcome) => {
        const answer = outcome.error ? outcome : { result: introduced(outcome.result, this.#options.isOneProcess) };
        this.#reply(request.id, answer);
        resolve(outcome);
      });
    });
  }

  #notified(method: string, params: JsonValue | undefined, raw: JsonObject): void {
    if (this.#clientQuestions?.hear(raw)) return;
    const about = isJsonObject(params) ? params : {};
    if (method === CANCEL_REQUEST) {
      const id = idOf(about["requestId"]);
      for (const { held } of this.#sessions.values()) held.get(id)?.abort();
      this.#asked.get(id)?.process.send(raw);
      return;
    }
    const sessionId = sessionIdOf(params);
    const session = sessionId === undefined ? undefined : this.#sessions.get(sessionId);
    if (method === "session/cancel" && session) for (const prompt of session.held.values()) prompt.abort();
    if (session || !this.#closed.has(sessionId ?? "")) (session?.agent ?? this.#agents.any()).process.send(raw);
  }

  #answered(id: RpcId, raw: JsonObject): void {
    if (!this.#agents.answer(id, raw)) this.#clientQuestions?.hear(raw);
  }

  #pass(agent: RunningAgent, { id, raw }: Pick<Request, "id" | "raw">, onAnswer: OnAnswer): void {
    this.#asked.set(id, agent);
    agent.process.ask({ ...raw, id }, (outcome) => {
      this.#asked.delete(id);
      onAnswer(outcome);
    });
  }

  // Sessions.

  async #open(request: Request): Promise<void> {
    const { id, method } = request;
    const params = isJsonObject(request.params) ? request.params : {};
    const given = readClientServers(params["mcpServers"]); // throws for more than there may be
    const { questions, endpoint } = await this.#loadOwn();
    const { world, servers: shared } = this.#options;
    const { cwd: place, additionalDirectories: more } = params;
    const named = method === "session/load" || method === "session/resume" ? sessionIdOf(params) : undefined;
    let sessionId = named;
    const waiting: JsonObject[] = [];
    let isTold = false;
    const tell = (updates: readonly object[]) => {
      if (!isTold || sessionId === undefined) waiting.push(...updates.map((update) => asObject(update)));
      else for (const update of updates) this.#update(sessionId, asObject(update));
    };
    const abilities = abilitiesOf(this.#capabilities);
    const servers = new WrappedServers({
      ...shared,
      world,
      endpoint,
      given,
      cwd: typeof place === "string" && isAbsolute(place) ? place : this.#options.agent.cwd,
      additionalDirectories: Array.isArray(more) ? more.filter((path) => typeof path === "string") : [],
      ports: () => questions.ports(sessionId ?? "", abilities),
      onStatus: (status) => tell(toUpdates({ kind: "server", status }, abilities)),
      onNotice: (level, text) => tell(noticeUpdates(level, text, abilities)),
    });
    const entries = await servers.entries();
    const bridge = this.#options.bridge(endpoint.address);
    const mcpServers = entries.map((entry) => bridgeEntry(entry, bridge));
    const raw = { ...request.raw, params: { ...params, mcpServers } };
    if (this.#isClosing) return await servers.close(LIMITS.exitGrace);
    if (named !== undefined) this.#named.add(named);
    this.#openIn({ ...request, raw }, named, (outcome, agent) => {
      sessionId = sessionIdOf(outcome.result) ?? named;
      if (named !== undefined) this.#named.delete(named);
      const isTaken = this.#isOfAnother(agent, sessionId);
      if (outcome.error || sessionId === undefined || !agent.process.isRunning || isTaken) {
        this.#scope.run("end servers", () => servers.close(LIMITS.closeGrace));
        if (!isTaken) return this.#reply(id, outcome);
        this.#agents.retire(agent);
        return this.#reply(id, failure(ERRORS.internal, SAME_ID, "session.busy", "Start it with --one-process."));
      }
      this.#adopt(sessionId, { agent, servers, held: new Map() });
      this.#reply(id, { result: openedAnswer(outcome.result, servers.statuses) });
      isTold = true;
      for (const update of waiting) this.#update(sessionId, update);
    });
  }

  /** In the process that has the session already, else in one of its own. */
  #openIn(request: Request, named: string | undefined, done: (outcome: Outcome, agent: RunningAgent) => void): void {
    const known = this.#sessions.get(named ?? "")?.agent;
    const agent = known ?? this.#agents.free();
    agent.isUsed = true;
    const opening = async () => {
      const ready = await agent.ready;
      if (ready.error) {
        if (agent.number > 0) this.#agents.retire(agent);
        agent.isUsed = false;
        return done(ready, agent);
      }
      this.#openAt(agent, request, { isNamed: named !== undefined, mayAuthenticate: true }, (outcome) => {
        const source =
          request.method === "session/fork" ? this.#sessions.get(sessionIdOf(request.params) ?? "") : undefined;
        if (outcome.error && source && source.agent !== agent) {
          // Only the process that has the session knows it.
          this.#agents.retire(agent);
          const about = { isNamed: false, mayAuthenticate: false };
          return this.#openAt(source.agent, request, about, (second) => done(second, source.agent));
        }
        done(outcome, agent);
        // It can take the next: nothing was opened in it.
        if (outcome.error && !known) agent.isUsed = false;
      });
    };
    this.#scope.run("open a session", opening);
  }

  #openAt(
    agent: RunningAgent,
    request: Request,
    { isNamed, mayAuthenticate }: { readonly isNamed: boolean; readonly mayAuthenticate: boolean },
    done: OnAnswer,
  ): void {
    if (!isNamed) agent.opening += 1;
    this.#pass(agent, request, (outcome) => {
      const again = outcome.error?.code === AUTH_REQUIRED && mayAuthenticate ? this.#authenticate : undefined;
      if (again && agent.number > 0) {
        const retry = async () => {
          await agent.process.request("authenticate", again, WRAP_LIMITS.initializeMs);
          if (!isNamed) agent.opening -= 1;
          this.#openAt(agent, request, { isNamed, mayAuthenticate: false }, done);
        };
        return this.#scope.run("authenticate", retry);
      }
      done(outcome);
      if (isNamed) return;
      agent.opening -= 1;
      if (agent.opening > 0) return;
      for (const message of agent.early.splice(0)) this.#agents.tell(agent, message);
    });
  }

  #adopt(sessionId: string, session: WrappedSession): void {
    const before = this.#sessions.get(sessionId);
    this.#closed.delete(sessionId);
    this.#sessions.set(sessionId, session);
    if (!before) return;
    for (const prompt of before.held.values()) prompt.abort();
    this.#scope.run("end the servers before", () => before.servers.close(LIMITS.closeGrace));
  }

  /** Held until its servers are as far as they will be. */
  #prompt(session: WrappedSession, request: Request): void {
    const { id } = request;
    const { servers, held, agent } = session;
    const waiting = new AbortController();
    held.set(id, waiting);
    this.#scope.run("prepare a turn", async (closing) => {
      try {
        await servers.beforeTurn(AbortSignal.any([waiting.signal, closing]));
      } catch (error) {
        held.delete(id);
        if (!waiting.signal.aborted) return this.#reply(id, refusal(error));
      }
      held.delete(id);
      if (waiting.signal.aborted) return this.#reply(id, { result: { stopReason: "cancelled" } });
      this.#pass(agent, request, (outcome) => {
        this.#reply(id, outcome);
        servers.turnEnded();
      });
    });
  }

  #closeSession(sessionId: string, session: WrappedSession, request: Request): void {
    this.#forget(sessionId, "it was closed");
    let isAnswered = false;
    const close = (outcome: Outcome) => {
      if (isAnswered) return;
      isAnswered = true;
      this.#reply(request.id, outcome);
      this.#end(session);
    };
    const timer = this.#options.world.after(WRAP_LIMITS.closeAnswerMs, () => close({ result: {} }));
    this.#pass(session.agent, request, (outcome) => {
      timer.clear();
      // One that has no such method is closed by ending its process.
      const isUnknown = outcome.error?.code === METHOD_NOT_FOUND && !this.#options.isOneProcess;
      close(isUnknown ? { result: {} } : outcome);
    });
  }

  #forget(sessionId: string, why: string): void {
    const session = this.#sessions.get(sessionId);
    for (const prompt of session?.held.values() ?? []) prompt.abort();
    this.#sessions.delete(sessionId);
    const [oldest] = this.#closed.keys();
    if (oldest !== undefined && this.#closed.size >= WRAP_LIMITS.closedSessions) this.#closed.delete(oldest);
    this.#closed.set(sessionId, why);
  }

  #end({ agent, servers }: WrappedSession): void {
    this.#scope.run("end the servers of a session", () => servers.close(LIMITS.closeGrace));
    const isShared = [...this.#sessions.values()].some((other) => other.agent === agent);
    if (!isShared && !this.#options.isOneProcess) this.#agents.retire(agent);
  }

  async #loadOwn(): Promise<OwnSide> {
    const { world } = this.#options;
    const load = async (): Promise<OwnSide> => {
      const { ClientQuestions } = await loadQuestions();
      const send = (message: JsonObject) => this.#send(message);
      const questions = new ClientQuestions({ prefix: `${this.#prefix}q-`, send, world });
      this.#clientQuestions = questions;
      return { questions, endpoint: await Endpoint.open(world) };
    };
    this.#own ??= load();
    return await this.#own;
  }

  // Agents.

  #agentEnded(agent: RunningAgent, why: string, code: number): void {
    if (this.#isClosing) return;
    for (const [sessionId, session] of [...this.#sessions]) {
      if (session.agent !== agent) continue;
      this.#notice(sessionId, `The wrapped agent ${why}. Its session is closed: open it again to go on.`);
      this.#forget(sessionId, `the wrapped agent ${why}`);
      this.#scope.run("end the servers of a session", () => session.servers.close(LIMITS.closeGrace));
    }
    this.#options.world.log.warn("wrap.agent_ended", { why });
    if (this.#agents.isEmpty) this.#options.onEnded(code);
  }

  #fromAgent(agent: RunningAgent, message: JsonObject): void {
    const sessionId = sessionIdOf(message["params"]);
    if (this.#isOfAnother(agent, sessionId)) return this.#refuseForeign(agent, message);
    const isKnown = sessionId === undefined || this.#sessions.has(sessionId) || this.#named.has(sessionId);
    const isEarly = agent.opening > 0 && !isKnown && message["method"] === UPDATE;
    if (isEarly && agent.early.length < WRAP_LIMITS.earlyUpdates) {
      agent.early.push(message);
    } else this.#agents.tell(agent, message);
  }

  #isOfAnother(agent: RunningAgent, sessionId: string | undefined): boolean {
    const session = this.#sessions.get(sessionId ?? "");
    return session !== undefined && session.agent !== agent;
  }

  /** One process says and asks nothing in the name of a session that another one has. */
  #refuseForeign({ process }: RunningAgent, { id, method }: JsonObject): void {
    const about = typeof method === "string" ? method.slice(0, WRAP_LIMITS.noise.chars) : "";
    this.#options.world.log.warn("wrap.foreign_session", { method: about });
    if (id === undefined) return;
    const { error = {} } = failure(ERRORS.notFound, "Session not found: another process has it", "session.not_found");
    process.send({ jsonrpc: "2.0", id, error: { ...error } });
  }

  // To the editor.

  #reply(id: RpcId, outcome: Outcome): void {
    this.#send(
      outcome.error ? { jsonrpc: "2.0", id, error: { ...outcome.error } } : { jsonrpc: "2.0", id, ...outcome },
    );
  }

  #notice(sessionId: string, words: string): void {
    for (const update of noticeUpdates("error", words, abilitiesOf(this.#capabilities))) {
      this.#update(sessionId, asObject(update));
    }
  }

  #update(sessionId: string, update: JsonObject): void {
    this.#send({ jsonrpc: "2.0", method: UPDATE, params: { sessionId, update } });
  }

  /** Of the wrapper's own: few and short. */
  #send(message: JsonObject): void {
    const jammed = this.#options.send(message);
    if (jammed) handled(jammed, this.#options.world.log, "wait for the editor");
  }
}

/** What the wrapper can do whatever the agent can: servers of every kind, and closing a session by ending its process. */
function introduced(result: JsonValue, isOneProcess: boolean): JsonValue {
  if (!isJsonObject(result)) return result;
  const capabilities = objectIn(result["agentCapabilities"]);
  const session = objectIn(capabilities["sessionCapabilities"]);
  const { methods } = tenonMeta(capabilities);
  const known = Array.isArray(methods) ? methods.filter((method) => method !== STATUS) : [];
  const meta = {
    ...objectIn(capabilities["_meta"]),
    tenon: { ...tenonMeta(capabilities), methods: [...known, STATUS] },
  };
  return {
    ...result,
    agentCapabilities: {
      ...capabilities,
      mcpCapabilities: { ...objectIn(capabilities["mcpCapabilities"]), http: true, sse: true, acp: true },
      sessionCapabilities: isOneProcess ? session : { ...session, close: session["close"] ?? {} },
      _meta: meta,
    },
  };
}

/** With the state of the session's servers, as Tenon's own agent says it. */
function openedAnswer(result: JsonValue, servers: object): JsonValue {
  const answer = objectIn(result ?? undefined);
  const meta = objectIn(answer["_meta"]);
  return { ...answer, _meta: { ...meta, tenon: { ...tenonMeta(answer), mcp: { servers: asJson(servers) } } } };
}

function objectIn(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function asObject(value: object): JsonObject {
  const plain: JsonObject = JSON.parse(JSON.stringify(value));
  return plain;
}

function asJson(value: object): JsonValue {
  const plain: JsonValue = JSON.parse(JSON.stringify(value));
  return plain;
}

/** `InvalidRequest` of the parameters is no `TenonError`. */
function refusal(error: unknown): Outcome {
  if (error instanceof TenonError) return failure(ERRORS.internal, error.message, error.code, error.hint);
  return failure(ERRORS.invalidParams, `Invalid params: ${messageOf(error)}`, "acp.invalid_params");
}
