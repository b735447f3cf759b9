// A gateway for tests of its clients: sessions with a log, turns that follow a script, and faults of the connection.
import { WebSocketServer } from "ws";
import type { WebSocketLink, WebSocketListener } from "../src/base/ports/web-socket.js";
import type { World } from "../src/base/ports/world.js";

/** Fields of parameters and results that tests look at; which of them are there, the method says. */
interface Fields {
  readonly sessionId: string;
  readonly requestId: RpcId;
  readonly method: string;
  readonly prompt: readonly object[];
  readonly update: {
    readonly sessionUpdate: string;
    readonly title: string;
    readonly content?: { readonly text?: string };
  };
  readonly clientCapabilities: object;
  readonly _meta: {
    readonly tenon: {
      readonly id: string;
      readonly after: number;
      readonly promptId: string;
      readonly client?: { readonly name: string; readonly id: string; readonly key?: string };
      readonly env: object;
    };
  };
}

/** A message as it was read. */
export interface Message {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params: Fields;
  readonly result?: Fields;
  readonly error?: { readonly code: number; readonly message: string };
}

type RpcId = number | string | null;

/** What becomes of a message: `lose` cuts the connection before it, `cut` after it. */
export type Fault = "deliver" | "lose" | "cut" | "twice";

/** One thing a turn does. */
export type Step = "text" | "tool" | "moment" | "question" | "file";

interface LogRecord {
  readonly seq: number;
  readonly updates: readonly object[];
  /** Not shown to the client that said it, unless it loads the session. */
  readonly by?: string;
}

interface Question {
  readonly id: string;
  answer?: unknown;
}

interface Prompt {
  readonly id: string;
  readonly ended: Promise<void>;
  stopReason: string;
}

class ScriptedSession {
  readonly log: LogRecord[] = [];
  readonly questions: Question[] = [];
  readonly prompts: Map<string, Prompt> = new Map();
  readonly clients: Set<ScriptedConnection> = new Set();
  /** The id of the prompt whose turn runs. */
  running: string | undefined;
  isCancelled = false;

  get lastSeq(): number {
    return this.log.at(-1)?.seq ?? 0;
  }
}

export interface ScriptedGatewayOptions {
  readonly world: Pick<World, "after">;
  /** Of every turn. */
  readonly steps?: readonly Step[];
  /** Asked for every message that crosses a connection, in either direction. */
  readonly fault?: (message: Message, direction: "in" | "out") => Fault;
  readonly version?: string;
  readonly protocol?: number;
  /** Answers to further methods; by default the method itself. */
  readonly answers?: Readonly<Record<string, () => object>>;
}

export class ScriptedGateway {
  readonly options: ScriptedGatewayOptions;
  readonly sessions: Map<string, ScriptedSession> = new Map();
  readonly connections: Set<ScriptedConnection> = new Set();
  /** Every request received, in order. */
  readonly received: Message[] = [];
  /** Ids of prompts that were run, in order: each belongs here once. */
  readonly ran: string[] = [];
  /** Errors for the next requests of a method. */
  readonly failures: Map<string, { readonly code: number; readonly message: string; readonly data?: object }[]> =
    new Map();
  isDown = false;
  /** Of every session, in the answer that opens one. */
  mode = "ask";
  #clients = 0;
  readonly keys: Map<string, string> = new Map();

  constructor(options: ScriptedGatewayOptions) {
    this.options = options;
  }

  newClient(): { readonly id: string; readonly key: string } {
    this.#clients += 1;
    const identity = { id: `client-${this.#clients}`, key: `key-${this.#clients}` };
    this.keys.set(identity.id, identity.key);
    return identity;
  }

  /** In the test's own process, without a socket. */
  readonly open = async (listener: WebSocketListener): Promise<WebSocketLink> => {
    if (this.isDown) throw new Error("nobody listens");
    const connection = new ScriptedConnection(this, {
      send: (text) => listener.onText(text),
      close: () => listener.onClosed("cut"),
    });
    return {
      send: (text) => connection.receive(text),
      pendingBytes: 0,
      pause: () => {},
      resume: () => {},
      close: async () => connection.cut(),
    };
  };

  /** Over a real socket. */
  async listen(socketPath: string): Promise<AsyncDisposable> {
    const { createServer } = await import("node:http");
    const http = createServer();
    const server = new WebSocketServer({ server: http, path: "/acp" });
    server.on("connection", (socket) => {
      const connection = new ScriptedConnection(this, {
        send: (text) => socket.send(text),
        close: () => socket.terminate(),
      });
      socket.on("message", (data) => connection.receive(data.toString()));
      socket.on("error", () => {});
      socket.on("close", () => connection.cut());
    });
    await new Promise<void>((resolve) => http.listen(socketPath, resolve));
    return {
      [Symbol.asyncDispose]: async () => {
        for (const connection of this.connections) connection.cut();
        server.close();
        await new Promise((resolve) => http.close(resolve));
      },
    };
  }

  cutAll(): void {
    for (const connection of [...this.connections]) connection.cut();
  }

  session(id: string): ScriptedSession {
    const session = this.sessions.get(id);
    if (!session) throw new Error(`there is no session ${id}`);
    return session;
  }

  append(id: string, updates: readonly object[], by?: string): void {
    const session = this.session(id);
    const record = { seq: session.lastSeq + 1, updates, ...(by === undefined ? {} : { by }) };
    session.log.push(record);
    for (const client of session.clients) client.show(id, record, false);
  }

  async runTurn(id: string, prompt: Prompt, by: string, words: object): Promise<void> {
    const session = this.session(id);
    this.ran.push(prompt.id);
    session.isCancelled = false;
    session.running = prompt.id;
    this.append(id, [{ sessionUpdate: "user_message_chunk", content: words }], by);
    for (const step of this.options.steps ?? ["text", "tool", "text"]) {
      await this.#pause();
      if (session.isCancelled) break;
      await this.#step(id, step);
    }
    prompt.stopReason = session.isCancelled ? "cancelled" : "end_turn";
    session.running = undefined;
    this.append(id, []);
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.options.world.after(20, resolve);
    });
  }

  async #step(id: string, step: Step): Promise<void> {
    const session = this.session(id);
    const count = session.lastSeq;
    const text = (words: string) => ({
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: `${words} ${count}` },
    });
    switch (step) {
      case "text":
        return this.append(id, [text("piece")]);
      case "tool":
        return this.append(id, [text("part one of"), text("part two of"), text("the end of")]);
      case "moment":
        for (const client of session.clients) client.update(id, text("moment"), undefined);
        return undefined;
      case "question": {
        const question: Question = { id: `question-${count}` };
        session.questions.push(question);
        for (const client of session.clients) client.ask(id, question);
        while (question.answer === undefined && !session.isCancelled) await this.#pause();
        session.questions.splice(session.questions.indexOf(question), 1);
        return this.append(id, [text(`answered ${JSON.stringify(question.answer)}`)]);
      }
      case "file": {
        const [client] = session.clients;
        client?.request("fs/read_text_file", { sessionId: id, path: "/x" }, () => {});
        return undefined;
      }
    }
  }
}

interface Wire {
  send(text: string): void;
  close(): void;
}

class ScriptedConnection {
  readonly #gateway: ScriptedGateway;
  readonly #wire: Wire;
  readonly #answers = new Map<number, (result: unknown) => void>();
  /** The requests that questions were put by, and the sessions of those. */
  readonly #asked = new Map<number, string>();
  /** Prompts of this connection, by the ids of their requests. */
  readonly #prompts = new Map<RpcId, { readonly sessionId: string; readonly promptId: string }>();
  #client = "";
  #ids = 0;
  #isCut = false;

  constructor(gateway: ScriptedGateway, wire: Wire) {
    this.#gateway = gateway;
    this.#wire = wire;
    gateway.connections.add(this);
  }

  cut(): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.#gateway.connections.delete(this);
    for (const session of this.#gateway.sessions.values()) session.clients.delete(this);
    this.#wire.close();
  }

  receive(text: string): void {
    queueMicrotask(() => {
      const message: Message = JSON.parse(text);
      this.#carry(message, "in", () => this.#hear(message));
    });
  }

  #send(message: object): void {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    queueMicrotask(() => this.#carry(JSON.parse(text), "out", () => this.#wire.send(text)));
  }

  #carry(message: Message, direction: "in" | "out", deliver: () => void): void {
    if (this.#isCut) return;
    const fault = this.#gateway.options.fault?.(message, direction) ?? "deliver";
    if (fault !== "lose") deliver();
    if (fault === "twice" && direction === "out") deliver();
    if (fault === "lose" || fault === "cut") this.cut();
  }

  update(sessionId: string, update: object, tenon: object | undefined): void {
    const _meta = tenon === undefined ? {} : { _meta: { tenon } };
    this.#send({ method: "session/update", params: { sessionId, update, ..._meta } });
  }

  show(sessionId: string, { seq, updates, by }: LogRecord, isLoaded: boolean): void {
    if (by === this.#client && !isLoaded) return;
    for (const [part, update] of updates.entries()) {
      this.update(sessionId, update, part === updates.length - 1 ? { seq } : { partOf: seq, part });
    }
  }

  ask(sessionId: string, question: Question): void {
    const _meta = { tenon: { questionId: question.id, askedAt: 0 } };
    const id = this.request("session/request_permission", { sessionId, _meta }, (result) => {
      question.answer ??= result;
    });
    this.#asked.set(id, sessionId);
  }

  /** The client leaves: what it was asked is taken back, and stays open for others. */
  #leave(sessionId: string): void {
    if (!this.#gateway.session(sessionId).clients.delete(this)) return;
    for (const [requestId, of] of this.#asked) {
      if (of !== sessionId || !this.#answers.has(requestId)) continue;
      this.#answers.set(requestId, () => {});
      this.#send({ method: "$/cancel_request", params: { requestId } });
    }
  }

  request(method: string, params: object, onAnswer: (result: unknown) => void): number {
    const id = this.#ids++;
    this.#answers.set(id, onAnswer);
    this.#send({ id, method, params });
    return id;
  }

  #hear(message: Message): void {
    const { id, method, params } = message;
    if (method === undefined) {
      this.#answers.get(Number(id))?.(message.result);
      this.#answers.delete(Number(id));
      return;
    }
    this.#gateway.received.push(message);
    if (id === undefined) {
      if (method === "session/cancel") this.#gateway.session(params.sessionId).isCancelled = true;
      const { sessionId, promptId } = this.#prompts.get(params.requestId) ?? {};
      const session = this.#gateway.sessions.get(sessionId ?? "");
      if (method === "$/cancel_request" && session?.running === promptId && session) session.isCancelled = true;
      return;
    }
    const failure = this.#gateway.failures.get(method)?.shift();
    if (failure) return this.#send({ id, error: failure });
    this.#answer(id, method, params);
  }

  #answer(id: RpcId, method: string, params: Message["params"]): void {
    const { sessions, options, keys } = this.#gateway;
    const session = sessions.get(params.sessionId);
    switch (method) {
      case "initialize": {
        const given = params._meta.tenon.client;
        const isKnown = given?.key !== undefined && keys.get(given.id) === given.key;
        const client = isKnown ? { id: given.id, key: given.key } : this.#gateway.newClient();
        this.#client = client.id;
        const agentCapabilities = { _meta: { tenon: { gateway: options.protocol ?? 1 } } };
        const _meta = { tenon: { client, version: options.version ?? "0.1.0" } };
        return this.#send({ id, result: { protocolVersion: 1, agentCapabilities, _meta } });
      }
      case "session/new": {
        const sessionId = params._meta.tenon.id;
        if (sessions.has(sessionId)) return this.#send({ id, error: { code: -32602, message: "the id is taken" } });
        sessions.set(sessionId, new ScriptedSession());
        return this.#join(id, sessionId, { after: 0, isLoaded: false });
      }
      case "session/load":
      case "session/resume": {
        if (!session) return this.#send({ id, error: { code: -32002, message: "no such session" } });
        const isLoaded = method === "session/load";
        return this.#join(id, params.sessionId, { after: isLoaded ? 0 : params._meta.tenon.after, isLoaded });
      }
      case "session/prompt":
        if (!session) return this.#send({ id, error: { code: -32002, message: "no such session" } });
        return this.#prompt(id, params.sessionId, params);
      case "session/close":
        this.#leave(params.sessionId);
        return this.#send({ id, result: {} });
      default:
        return this.#send({ id, result: options.answers?.[method]?.() ?? { method } });
    }
  }

  #join(id: RpcId, sessionId: string, how: { readonly after: number; readonly isLoaded: boolean }): void {
    this.#leave(sessionId);
    const session = this.#gateway.session(sessionId);
    const view = { questions: session.questions.map((question) => ({ id: question.id })) };
    const modes = { currentModeId: this.#gateway.mode, availableModes: [] };
    const result = {
      sessionId,
      modes,
      configOptions: [],
      _meta: { tenon: { seq: session.lastSeq, state: "idle", view } },
    };
    if (!how.isLoaded) this.#send({ id, result });
    for (const record of session.log) if (record.seq > how.after) this.show(sessionId, record, how.isLoaded);
    if (how.isLoaded) this.#send({ id, result });
    session.clients.add(this);
    for (const question of session.questions) this.ask(sessionId, question);
  }

  #prompt(id: RpcId, sessionId: string, params: Message["params"]): void {
    const session = this.#gateway.session(sessionId);
    const { promptId } = params._meta.tenon;
    this.#prompts.set(id, { sessionId, promptId });
    const known = session.prompts.get(promptId);
    const prompt: Prompt = known ?? { id: promptId, stopReason: "", ended: Promise.resolve() };
    const ended = known ? known.ended : this.#gateway.runTurn(sessionId, prompt, this.#client, params.prompt[0] ?? {});
    session.prompts.set(promptId, Object.assign(prompt, { ended }));
    ended
      .then(() =>
        this.#send({ id, result: { stopReason: prompt.stopReason, _meta: { tenon: { seq: session.lastSeq } } } }),
      )
      .catch(() => {});
  }
}
