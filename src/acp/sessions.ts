// The sessions of one connection: opens them, relays their updates in order, and leaves them when it is over.
import type * as acp from "@agentclientprotocol/sdk";
import { methods } from "@agentclientprotocol/sdk";
import { Cell } from "../base/async/cell.js";
import { contained, handled, Scope } from "../base/async/scope.js";
import { messageOf, TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import type { ContentBlock } from "../base/text/content.js";
import {
  type GivenServers,
  type NoticeLevel,
  type PromptResult,
  SETTINGS,
  type ServerStatus,
  type SessionEvent,
  type SettingsView,
} from "../session/index.js";
import type { LoadOptions, SessionAccess, SessionHandle } from "./access.js";
import { abilitiesOf, type ClientAbilities } from "./capabilities.js";
import type { SessionRequest, StoredSessionRequest } from "./from-client.js";
import type { FrontStream } from "./front.js";
import { sharedMeta, tenonMeta } from "./meta.js";
import { NumberedRelay, type SharedMessage, SharedUpdate } from "./numbered.js";
import { configOptions, EARLY_SETTINGS, EmittedSettings, settingsAnswer } from "./options.js";
import { McpMessages, sessionPorts, TerminalTrust, ToolCalls } from "./ports.js";
import { EventRelay, replayUpdates } from "./relay.js";
import { toUpdates } from "./to-client.js";

/** One session of this connection. */
interface Relay {
  readonly session: SessionHandle;
  /** Updates go out from now on. Resolves once the client has everything until now. */
  begin(): Promise<void>;
  /** Resolves when all updates of a prompt that is over have been handed to the connection. `before`: turns before it. */
  caughtUp(before: number): Promise<unknown>;
  /** No update goes out any more. */
  end?(): void;
  /** The client joins the session once more; returns what to call if it could not. */
  hold?(): () => void;
}

/** How a session is shown at first. */
interface TakeOptions {
  /** Settings that the client was told already. */
  readonly told?: SettingsView;
  /** Shown before anything else. */
  readonly history?: Iterable<SessionEvent>;
  /** Of a shared session: the last record the client has. */
  readonly after?: number;
  /** Its answer comes after all that. */
  readonly isReplayed?: boolean;
  readonly showsOwn?: boolean;
}

/** Writes to the client past the SDK, where there is such a way. Both must keep the order with what the SDK writes. */
export interface DirectWrite {
  readonly send?: FrontStream["send"];
  /** The same for a message that several clients get. */
  readonly sendShared?: (shared: SharedMessage) => Promise<void> | undefined;
}

export class OpenSessions {
  /** What the client can show; relaying starts once it has said so. */
  readonly abilities: Cell<ClientAbilities | undefined> = new Cell<ClientAbilities | undefined>(undefined);
  /** Requests to the client's own servers. */
  readonly messages: McpMessages;
  /** Calls of tools that the client runs. */
  readonly calls: ToolCalls;
  readonly #terminals: TerminalTrust;
  readonly #access: SessionAccess;
  readonly #write: DirectWrite;
  readonly #scope: Scope;
  readonly #relays = new Map<string, Relay>();
  #connection: acp.AgentConnection | undefined;
  #isOver = false;

  constructor(access: SessionAccess, write: DirectWrite = {}) {
    this.#access = access;
    this.messages = new McpMessages(access.world);
    this.calls = new ToolCalls(access.world);
    this.#write = write;
    this.#scope = new Scope(access.world.log);
    this.#terminals = new TerminalTrust(access.world);
  }

  connected(connection: acp.AgentConnection): void {
    this.#connection = connection;
    this.#access.shared?.connected((level, text) => {
      for (const id of this.#relays.keys()) this.#tell(id, level, text);
    });
    this.#scope.run("leave with the connection", async () => {
      await connection.closed.catch(() => undefined);
      this.#isOver = true;
      await Promise.all([...this.#relays.keys()].map((id) => this.leave(id, "lost")));
      this.#access.shared?.closed();
    });
  }

  /** `promisedId`: it was given out before this agent was loaded, and so were the settings that are certain. */
  async open(request: SessionRequest, meta: JsonObject, promisedId?: string): Promise<string> {
    const isPromised = promisedId === undefined ? undefined : true;
    const given = { ...request, ...defined({ id: promisedId, isPromised }) };
    const { session, showsOwn } = await this.#access.create(given, meta);
    const relay = await this.#take(session, defined({ told: isPromised && EARLY_SETTINGS, showsOwn }));
    handled(relay.begin(), this.#access.world.log, "relay a new session");
    return session.id;
  }

  /** For the answer that tells the client of a session. */
  settingsOf(id: string): ReturnType<typeof settingsAnswer> {
    return settingsAnswer(this.find(id).settings);
  }

  /** Waits for the configuration, which has a word in what may be chosen. */
  async set(id: string, name: string, value: unknown): Promise<acp.SessionConfigOption[]> {
    const session = this.find(id);
    const known = SETTINGS.find((setting) => setting === name);
    if (!known || typeof value !== "string") {
      const what = known ? `${name} takes a text` : `there is no option "${name}"; there are: ${SETTINGS.join(", ")}`;
      throw new TenonError("session.invalid_request", what);
    }
    await session.configured;
    session.set(known, value);
    return configOptions(session.settings);
  }

  /** Resolves once the client has the conversation so far: all of it, or nothing where it is not to be replayed. */
  async load(request: StoredSessionRequest, options: LoadOptions): Promise<string> {
    const goOn = this.#relays.get(request.id)?.hold?.();
    const { session, history, after } = await this.#access.load(request, options).catch((error: unknown) => {
      goOn?.();
      throw error;
    });
    const { isReplayed } = options;
    const shown = { isReplayed, ...defined({ after, history: isReplayed ? history : undefined }) };
    const live = (await this.#take(session, shown)).begin();
    if (isReplayed) await live;
    else handled(live, this.#access.world.log, "relay a resumed session");
    return session.id;
  }

  async fork(request: StoredSessionRequest): Promise<string> {
    const { session, after } = await this.#access.fork(request);
    const relay = await this.#take(session, defined({ after }));
    handled(relay.begin(), this.#access.world.log, "relay a forked session");
    return session.id;
  }

  async delete(id: string): Promise<void> {
    const relay = this.#relays.get(id);
    if (!this.#access.shared) {
      relay?.session.cancel();
      this.#relays.delete(id);
    }
    await this.#access.delete(id);
    this.#relays.delete(id);
    relay?.end?.();
  }

  /** From now on the session is this connection's. While it was opened the client may have gone: nobody would ever leave it. */
  async #take(session: SessionHandle, shown: TakeOptions = {}): Promise<Relay> {
    const connection = this.#connection;
    if (!connection) throw new TenonError("internal", "a session was asked for before the connection was up");
    if (this.#isOver) {
      await this.#access.leave(session, "lost");
      throw new TenonError("session.closed", "the client is gone");
    }
    const client = this.#access.shared?.client();
    const earlier = this.#relays.get(session.id); // of a client that loads it once more
    earlier?.end?.();
    if (earlier) await this.#access.leave(earlier.session, "lost");
    const relay =
      client === undefined
        ? this.#eventRelay(session, connection, shown)
        : this.#numberedRelay(session, connection, { ...shown, client });
    this.#relays.set(session.id, relay);
    return relay;
  }

  #eventRelay(
    session: SessionHandle,
    connection: acp.AgentConnection,
    { told = session.settings, history = [] }: TakeOptions,
  ): Relay {
    const known = this.abilities.value;
    if (known) this.#attach(session, connection, known);
    const send = (update: acp.SessionUpdate) => this.#send(session.id, update);
    const onLost = (event: SessionEvent, error: unknown) => this.#lose(session, event, { error, send });
    const relay = new EventRelay({ session, told: new EmittedSettings(told), send, onLost });
    return {
      session,
      caughtUp: (before) => relay.caughtUp(before, this.#scope.signal),
      begin: async () => {
        for (const update of replayUpdates(history, known ?? abilitiesOf())) await send(update);
        // On a later turn of the event loop: no update may overtake the answer that tells the client the session's id.
        this.#access.world.after(0, () => {
          this.#scope.run(`relay ${session.id}`, async (signal) => {
            const abilities = (await this.abilities.until((one) => one !== undefined, signal)) ?? abilitiesOf();
            if (!session.isAttached) this.#attach(session, connection, abilities);
            await relay.run(abilities);
          });
        });
      },
    };
  }

  /** The client is asked what is open once it knows the session: after the answer, and after what it missed. */
  #numberedRelay(
    session: SessionHandle,
    connection: acp.AgentConnection,
    { after = 0, isReplayed = false, showsOwn = isReplayed, client }: TakeOptions & { readonly client: string },
  ): Relay {
    const { world } = this.#access;
    const abilities = this.abilities.value ?? abilitiesOf();
    const stop = new AbortController();
    const joins = new Cell(0);
    const relay = new NumberedRelay({
      ...{ session, abilities, client, after, showsOwn, joins },
      own: { told: new EmittedSettings(session.settings), settings: () => session.settings },
      send: (update) => this.#sendShared(update),
      onLost: (event, error) => this.#lose(session, event, { error, send: (update) => this.#send(session.id, update) }),
    });
    const start = (onLive: () => void) => async (signal: AbortSignal) => {
      await relay.run(AbortSignal.any([signal, stop.signal]), async () => {
        onLive();
        if (isReplayed) await new Promise<void>((resolve) => world.after(0, resolve)); // the answer goes first
        if (stop.signal.aborted) return;
        this.#attach(session, connection, abilities);
        // A client that comes back has been told the rest.
        const isBack = after > 0 && !isReplayed;
        const isState = ({ kind }: SessionEvent) => kind === "settings" || kind === "commands";
        await relay.sendCurrent(isBack ? session.current.filter(isState) : session.current);
      });
    };
    return {
      session,
      caughtUp: () => {
        const { lastSeq } = session.log;
        return relay.relayed.until((relayed) => relayed >= lastSeq, this.#scope.signal);
      },
      begin: () =>
        new Promise((resolve, reject) => {
          const run = () => {
            const work = start(resolve);
            this.#scope.run(`relay ${session.id}`, async (signal) => {
              await work(signal).catch((error: unknown) => {
                reject(error);
                if (!stop.signal.aborted) this.#loseAll(session, error);
              });
              resolve();
            });
          };
          if (isReplayed) run();
          else world.after(0, run);
        }),
      end: () => stop.abort(new DOMException("the client left", "AbortError")),
      hold: () => {
        joins.set(joins.value + 1);
        return () => joins.set(joins.value - 1);
      },
    };
  }

  async prompt(
    id: string,
    content: readonly ContentBlock[],
    { signal, meta: { promptId } }: { readonly signal: AbortSignal; readonly meta: JsonObject },
  ): Promise<acp.PromptResponse & { usage: object }> {
    const relay = this.#relay(id);
    const { session } = relay;
    if (promptId !== undefined && typeof promptId !== "string") {
      throw new TenonError("session.invalid_request", "_meta.tenon.promptId must be a text");
    }
    const before = session.turnCount;
    try {
      const { stopReason, turn } = await session.prompt(content, this.takenBack(signal), defined({ promptId }));
      const answer = { stopReason, usage: usageOf(session.usage) };
      if (!this.#access.shared) return answer;
      return { ...answer, _meta: sharedMeta({ ...defined({ turn }), seq: session.log.lastSeq }) };
    } finally {
      await relay.caughtUp(before);
    }
  }

  /** Aborts when the client takes its request back, but not when it is gone: then its sessions are closed, which is another end. */
  takenBack(signal: AbortSignal): AbortSignal {
    const controller = new AbortController();
    const onAbort = () => {
      if (!this.#connection?.signal.aborted) controller.abort(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    return controller.signal;
  }

  /** Another set of servers for a session that runs; answers where they stand. */
  async setServers(id: string, given: GivenServers): Promise<McpStatus> {
    const session = this.find(id);
    await session.setServers(given);
    return await mcpStatus(session);
  }

  cancel(id: string): void {
    this.#relays.get(id)?.session.cancel();
  }

  /** By the client's own word, or because it is gone. */
  async leave(id: string, cause: "closed" | "lost"): Promise<void> {
    const relay = this.#relay(id);
    this.#relays.delete(id);
    relay.end?.();
    await this.#access.leave(relay.session, cause);
  }

  /** One that this connection has open. */
  find(id: string): SessionHandle {
    return this.#relay(id).session;
  }

  known(id: string): SessionHandle | undefined {
    return this.#relays.get(id)?.session;
  }

  notify(method: string, params: object): void {
    // A client that left in this moment needs it no more.
    this.#connection?.client.notify(method, params).catch((error: unknown) => {
      this.#access.world.log.debug("acp.notification_lost", { method, error: messageOf(error) });
    });
  }

  #relay(id: string): Relay {
    const relay = this.#relays.get(id);
    if (!relay) throw new TenonError("session.not_found", `there is no open session "${id}"`);
    return relay;
  }

  /** The log of a shared session cannot be read any more: its client loads it again, if it can. */
  #loseAll({ id }: SessionHandle, error: unknown): void {
    const { log } = this.#access.world;
    log.error("acp.log_lost", { session: id, error: messageOf(error) });
    const text = `Updates of this session cannot be read any more: ${messageOf(error)}. Load the session again.`;
    this.#tell(id, "error", text);
    this.#access.shared?.lost();
  }

  #tell(id: string, level: NoticeLevel, text: string): void {
    for (const update of toUpdates({ kind: "notice", level, text }, this.abilities.value ?? abilitiesOf())) {
      handled(Promise.resolve(this.#send(id, update)), this.#access.world.log, "tell of a problem");
    }
  }

  /** One event that cannot be shown costs the client that event: it is told, and the next ones follow. */
  #lose(
    session: SessionHandle,
    event: SessionEvent,
    about: {
      readonly error: unknown;
      readonly send: (update: acp.SessionUpdate) => Promise<void> | undefined;
    },
  ): void {
    const { error, send } = about;
    const { log } = this.#access.world;
    const stack = error instanceof Error ? error.stack : undefined;
    log.error("acp.event_lost", { session: session.id, kind: event.kind, error: messageOf(error), stack });
    const text = `An update of this session ("${event.kind}") could not be shown: ${messageOf(error)}`;
    contained(log, "tell of a lost update", () => {
      const abilities = this.abilities.value ?? abilitiesOf();
      for (const update of toUpdates({ kind: "notice", level: "error", text }, abilities))
        handled(Promise.resolve(send(update)), log, "tell of a lost update");
    });
  }

  #attach(session: SessionHandle, { client }: acp.AgentConnection, abilities: ClientAbilities): void {
    const { world } = this.#access;
    const { messages, calls } = this;
    const terminals = { trust: this.#terminals, tell: (words: string) => session.notice("warning", words) };
    session.attach(sessionPorts(client, { sessionId: session.id, abilities, messages, calls, terminals, world }));
  }

  #send(sessionId: string, update: acp.SessionUpdate): Promise<void> | undefined {
    const { send } = this.#write;
    if (!send) return this.#sendShared(new SharedUpdate({ sessionId, update }));
    if (this.#isOver) return undefined;
    return send({ jsonrpc: "2.0", method: methods.client.session.update, params: { sessionId, update } });
  }

  #sendShared(update: SharedUpdate): Promise<void> | undefined {
    const { sendShared } = this.#write;
    if (!sendShared) return this.#notify(update.message.params);
    return this.#isOver ? undefined : sendShared(update);
  }

  async #notify(params: acp.SessionNotification): Promise<void> {
    try {
      await this.#connection?.client.notify(methods.client.session.update, params);
    } catch (error) {
      this.#access.world.log.warn("acp.update_lost", { session: params.sessionId, error: messageOf(error) });
    }
  }
}

export async function listSessions(
  access: SessionAccess,
  { cwd, cursor, _meta }: Pick<acp.ListSessionsRequest, "cwd" | "cursor" | "_meta">,
): Promise<acp.ListSessionsResponse> {
  const { shared } = access;
  const { label: given } = shared ? tenonMeta({ _meta }) : {};
  const wanted = { cwd: cwd ?? undefined, cursor: cursor ?? undefined, label: given ?? undefined };
  if (wanted.label !== undefined && typeof wanted.label !== "string") {
    throw new TenonError("session.invalid_request", "_meta.tenon.label must be a text");
  }
  const { sessions, nextCursor } = await access.list(defined({ ...wanted, label: wanted.label }));
  const infos = sessions.map((session) => {
    const { id, additionalDirectories: more, updatedMs, cwd, title, label } = session;
    return {
      ...{ sessionId: id, cwd, title },
      ...defined({ _meta: shared && sharedMeta({ ...shared.listed(session), ...defined({ label }) }) }),
      ...defined({ additionalDirectories: more.length > 0 ? [...more] : undefined }),
      updatedAt: new Date(updatedMs).toISOString(),
    };
  });
  return { sessions: infos, ...defined({ nextCursor }) };
}

/** Of the whole session. In ACP the kinds of tokens are apart from each other, and the total is their sum; here input means all of it. */
function usageOf({ inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens }: PromptResult["usage"]): object {
  const cached = (cachedInputTokens ?? 0) + (cacheWriteTokens ?? 0);
  const fresh = Math.max(0, inputTokens - cached);
  return {
    totalTokens: fresh + cached + outputTokens,
    inputTokens: fresh,
    outputTokens,
    ...defined({ cachedReadTokens: cachedInputTokens, cachedWriteTokens: cacheWriteTokens }),
  };
}

export interface ToolSummary {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
}

export interface McpStatus {
  readonly servers: readonly (ServerStatus & { readonly tools: readonly ToolSummary[] })[];
}

/** Waits for the configuration: before it is read, nobody can say which servers there are. */
export async function mcpStatus(session: SessionHandle): Promise<McpStatus> {
  await session.configured;
  const tools = session.tools.list();
  const toolsOf = (server: string) =>
    tools.flatMap(({ id, source, definition: { title, description } }): ToolSummary[] => {
      return source === server ? [{ name: id, ...defined({ title }), description }] : [];
    });
  return { servers: session.servers.map((status) => ({ ...status, tools: toolsOf(status.name) })) };
}
