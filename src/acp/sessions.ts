// The sessions of one connection: opens them, relays their events in order, and closes them with it.
import type * as acp from "@agentclientprotocol/sdk";
import { methods } from "@agentclientprotocol/sdk";
import { Cell } from "../base/async/cell.js";
import { contained, handled, Scope } from "../base/async/scope.js";
import { messageOf, TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { ContentBlock } from "../base/text/content.js";
import {
  type GivenServers,
  type PromptResult,
  SETTINGS,
  type ServerStatus,
  type SessionEvent,
  type SettingsView,
} from "../session/index.js";
import type { SessionAccess, SessionHandle } from "./access.js";
import { abilitiesOf, type ClientAbilities } from "./capabilities.js";
import type { SessionRequest, StoredSessionRequest } from "./from-client.js";
import type { FrontStream } from "./front.js";
import { configOptions, EARLY_SETTINGS, EmittedSettings, settingsAnswer } from "./options.js";
import { McpMessages, sessionPorts, TerminalTrust } from "./ports.js";
import { RepeatedFailures, toUpdates } from "./to-client.js";
import { toAcpBlock } from "./tool-call.js";

interface Relay {
  readonly session: SessionHandle;
  /** Sends an update of its own, before or between those of the session. */
  readonly send: (update: acp.SessionUpdate) => Promise<void> | undefined;
  /** What the session tells is relayed from now on. */
  readonly begin: () => void;
  /** The last turn whose updates have all been handed to the connection. */
  readonly relayedTurn: Cell<number>;
  readonly told: EmittedSettings;
}

export class OpenSessions {
  /** What the client can show; relaying starts once it has said so. */
  readonly abilities: Cell<ClientAbilities | undefined> = new Cell<ClientAbilities | undefined>(undefined);
  /** Requests to the client's own servers. */
  readonly messages: McpMessages = new McpMessages();
  readonly #terminals: TerminalTrust;
  readonly #access: SessionAccess;
  readonly #write: FrontStream["send"] | undefined;
  readonly #scope: Scope;
  readonly #relays = new Map<string, Relay>();
  #connection: acp.AgentConnection | undefined;
  #isOver = false;

  /** `write`: past the SDK, where there is such a way. */
  constructor(access: SessionAccess, write?: FrontStream["send"]) {
    this.#access = access;
    this.#write = write;
    this.#scope = new Scope(access.world.log);
    this.#terminals = new TerminalTrust(access.world);
  }

  connected(connection: acp.AgentConnection): void {
    this.#connection = connection;
    this.#scope.run("close with the connection", async () => {
      await connection.closed.catch(() => undefined);
      this.#isOver = true;
      await Promise.all([...this.#relays.keys()].map((id) => this.leave(id, "lost")));
    });
  }

  /** `promisedId`: it was given out before this agent was loaded, and so were the settings that are certain. */
  async open(request: SessionRequest, promisedId?: string): Promise<string> {
    const session = await this.#access.create({
      ...request,
      ...defined({ id: promisedId, isPromised: promisedId === undefined ? undefined : true }),
    });
    (await this.#take(session, promisedId === undefined ? session.settings : EARLY_SETTINGS)).begin();
    return session.id;
  }

  /** For the answer that tells the client of a session. */
  settingsOf(id: string): ReturnType<typeof settingsAnswer> {
    return settingsAnswer(this.#find(id).session.settings);
  }

  /** Waits for the configuration, which has a word in what may be chosen. */
  async set(id: string, name: string, value: unknown): Promise<acp.SessionConfigOption[]> {
    const { session } = this.#find(id);
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
  async load(request: StoredSessionRequest, { isReplayed }: { readonly isReplayed: boolean }): Promise<string> {
    const { session, history } = await this.#access.load(request);
    const { send, begin } = await this.#take(session);
    const abilities = this.abilities.value ?? abilitiesOf();
    if (isReplayed) for (const update of replayUpdates(history, abilities)) await send(update);
    begin();
    return session.id;
  }

  async fork(request: StoredSessionRequest): Promise<string> {
    const session = await this.#access.fork(request);
    (await this.#take(session)).begin();
    return session.id;
  }

  async delete(id: string): Promise<void> {
    this.cancel(id);
    this.#relays.delete(id);
    await this.#access.delete(id);
  }

  /** From now on the session is this connection's. While it was opened the client may have gone: nobody would ever leave it. */
  async #take(session: SessionHandle, told: SettingsView = session.settings): Promise<Relay> {
    const connection = this.#connection;
    if (!connection) throw new TenonError("internal", "a session was asked for before the connection was up");
    if (this.#isOver) {
      await this.#access.leave(session, "lost");
      throw new TenonError("session.closed", "the client is gone");
    }
    const known = this.abilities.value;
    if (known) this.#attach(session, connection, known);
    const events = session.events();
    const relay: Relay = {
      session,
      relayedTurn: new Cell(0),
      told: new EmittedSettings(told),
      send: (update) => this.#send(session.id, update),
      // On a later turn of the event loop: no update may overtake the answer that tells the client the session's id.
      begin: () => {
        this.#access.world.after(0, () => {
          this.#scope.run(`relay ${session.id}`, (signal) => this.#relay(relay, events, connection, signal));
        });
      },
    };
    this.#relays.set(session.id, relay);
    return relay;
  }

  async prompt(
    id: string,
    content: readonly ContentBlock[],
    signal: AbortSignal,
  ): Promise<acp.PromptResponse & { usage: object }> {
    const { session, relayedTurn } = this.#find(id);
    const turn = session.turnCount + 1;
    try {
      const { stopReason } = await session.prompt(content, this.#takenBack(signal));
      return { stopReason, usage: usageOf(session.usage) };
    } finally {
      // The answer comes after every update of its turn. A prompt that was turned away began no turn.
      if (session.turnCount === turn) await relayedTurn.until((relayed) => relayed >= turn, this.#scope.signal);
    }
  }

  /** Aborts when the client takes the prompt back, but not when it is gone: then its sessions are closed, which is another end. */
  #takenBack(signal: AbortSignal): AbortSignal {
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
    const { session } = this.#find(id);
    await session.setServers(given);
    return await mcpStatus(session);
  }

  cancel(id: string): void {
    this.#relays.get(id)?.session.cancel();
  }

  /** By the client's own word, or because it is gone. */
  async leave(id: string, cause: "closed" | "lost"): Promise<void> {
    const { session } = this.#find(id);
    this.#relays.delete(id);
    await this.#access.leave(session, cause);
  }

  /** Where the servers of an open session stand. */
  async status(id: string): Promise<McpStatus> {
    return await mcpStatus(this.#find(id).session);
  }

  #find(id: string): Relay {
    const relay = this.#relays.get(id);
    if (!relay) throw new TenonError("session.not_found", `there is no open session "${id}"`);
    return relay;
  }

  async #relay(
    relay: Relay,
    events: AsyncIterableIterator<SessionEvent>,
    connection: acp.AgentConnection,
    signal: AbortSignal,
  ): Promise<void> {
    const { session, relayedTurn, told, send } = relay;
    const failures = new RepeatedFailures();
    const abilities = (await this.abilities.until((known) => known !== undefined, signal)) ?? abilitiesOf();
    if (!session.isAttached) this.#attach(session, connection, abilities);
    try {
      for await (const event of events) {
        try {
          const own = event.kind === "settings" ? told.updates(event.view) : toUpdates(event, abilities);
          const updates = failures.with(event, own);
          // What a model can do may be known only after it was asked.
          const late = event.kind === "turn_ended" ? told.updates(session.settings) : [];
          for (const update of updates) {
            const held = send(update);
            if (held) await held;
          }
          for (const update of late) await send(update);
        } catch (error) {
          this.#lose(relay, event, { error, abilities });
        }
        if (event.kind === "turn_ended") relayedTurn.set(event.turn);
      }
    } finally {
      relayedTurn.set(Number.POSITIVE_INFINITY); // nothing waits for updates any longer
    }
  }

  /** One event that cannot be shown costs the client that event: it is told, and the next ones follow. */
  #lose(
    { session, send }: Relay,
    event: SessionEvent,
    { error, abilities }: { readonly error: unknown; readonly abilities: ClientAbilities },
  ): void {
    const { log } = this.#access.world;
    const stack = error instanceof Error ? error.stack : undefined;
    log.error("acp.event_lost", { session: session.id, kind: event.kind, error: messageOf(error), stack });
    const text = `An update of this session ("${event.kind}") could not be shown: ${messageOf(error)}`;
    contained(log, "tell of a lost update", () => {
      for (const update of toUpdates({ kind: "notice", level: "error", text }, abilities))
        handled(Promise.resolve(send(update)), log, "tell of a lost update");
    });
  }

  #attach(session: SessionHandle, { client }: acp.AgentConnection, abilities: ClientAbilities): void {
    const { world } = this.#access;
    const { messages } = this;
    const terminals = { trust: this.#terminals, tell: (words: string) => session.notice("warning", words) };
    session.attach(sessionPorts(client, { sessionId: session.id, abilities, messages, terminals, world }));
  }

  #send(sessionId: string, update: acp.SessionUpdate): Promise<void> | undefined {
    if (!this.#write) return this.#notify(sessionId, update);
    if (this.#isOver) return undefined;
    const method = methods.client.session.update;
    return this.#write({ jsonrpc: "2.0", method, params: { sessionId, update } });
  }

  async #notify(sessionId: string, update: acp.SessionUpdate): Promise<void> {
    try {
      await this.#connection?.client.notify(methods.client.session.update, { sessionId, update });
    } catch (error) {
      this.#access.world.log.warn("acp.update_lost", { session: sessionId, error: messageOf(error) });
    }
  }
}

type Card = Extract<acp.SessionUpdate, { sessionUpdate: "tool_call" }>;

export function* replayUpdates(
  history: Iterable<SessionEvent>,
  client: ClientAbilities,
): Generator<acp.SessionUpdate, void, void> {
  let card: Card | undefined;
  for (const event of history) {
    const updates: acp.SessionUpdate[] =
      event.kind === "user"
        ? event.content.map((block) => ({ sessionUpdate: "user_message_chunk", content: toAcpBlock(block) }))
        : toUpdates(event, client);
    for (const update of updates) {
      if (card && update.sessionUpdate === "tool_call_update" && update.toolCallId === card.toolCallId) {
        card = merged(card, update);
        continue;
      }
      if (card) yield card;
      card = update.sessionUpdate === "tool_call" ? update : undefined;
      if (!card) yield update;
    }
  }
  if (card) yield card;
}

/** As a client does it: what the update has takes the place of what was there. */
function merged(
  { sessionUpdate, ...card }: Card,
  update: Extract<acp.SessionUpdate, { sessionUpdate: "tool_call_update" }>,
): Card {
  const given = Object.entries(update).filter(([name, value]) => name !== "_meta" && value != null);
  return { ...card, ...Object.fromEntries(given), sessionUpdate };
}

export async function listSessions(
  access: SessionAccess,
  { cwd, cursor }: Pick<acp.ListSessionsRequest, "cwd" | "cursor">,
): Promise<acp.ListSessionsResponse> {
  const { sessions, nextCursor } = await access.list(defined({ cwd: cwd ?? undefined, cursor: cursor ?? undefined }));
  const infos = sessions.map(({ id, additionalDirectories: more, updatedMs, ...shown }) => ({
    sessionId: id,
    ...shown,
    ...defined({ additionalDirectories: more.length > 0 ? [...more] : undefined }),
    updatedAt: new Date(updatedMs).toISOString(),
  }));
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
async function mcpStatus(session: SessionHandle): Promise<McpStatus> {
  await session.configured;
  const tools = session.tools.list();
  const toolsOf = (server: string) =>
    tools.flatMap(({ id, source, definition: { title, description } }): ToolSummary[] => {
      return source === server ? [{ name: id, ...defined({ title }), description }] : [];
    });
  return { servers: session.servers.map((status) => ({ ...status, tools: toolsOf(status.name) })) };
}
