// The sessions of one connection: opens them, relays their events in order, and closes them with it.
import {
  type AgentConnection,
  type ListSessionsRequest,
  type ListSessionsResponse,
  methods,
  type SessionConfigOption,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { Cell } from "../base/async/cell.js";
import { contained, handled, Scope } from "../base/async/scope.js";
import { messageOf, TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { ContentBlock } from "../base/text/content.js";
import {
  type GivenServers,
  SETTINGS,
  type Session,
  type SessionEvent,
  type SessionHost,
  type SessionPorts,
  type SessionSummary,
  type SettingsView,
} from "../session/index.js";
import { abilitiesOf, type ClientAbilities } from "./capabilities.js";
import type { SessionRequest, StoredSessionRequest } from "./from-client.js";
import type { FrontStream } from "./front.js";
import { type McpStatus, mcpStatus } from "./mcp-status.js";
import { configOptions, EARLY_SETTINGS, EmittedSettings, settingsAnswer } from "./options.js";
import { McpMessages, sessionPorts } from "./ports.js";
import { type PromptAnswer, toUpdates, usageOf } from "./to-client.js";
import { toAcpBlock } from "./tool-call.js";

interface Taken {
  /** Sends an update of its own, before or between those of the session. */
  readonly send: (update: SessionUpdate) => Promise<void> | undefined;
  readonly begin: () => void;
}

interface Relay extends Pick<Taken, "send"> {
  readonly session: Session;
  /** The last turn whose updates have all been handed to the connection. */
  readonly relayedTurn: Cell<number>;
  readonly told: EmittedSettings;
}

export class OpenSessions {
  readonly #host: SessionHost;
  readonly #write: FrontStream["send"] | undefined;
  readonly #scope: Scope;
  readonly #relays = new Map<string, Relay>();
  readonly #messages = new McpMessages();
  readonly #abilities = new Cell<ClientAbilities | undefined>(undefined);
  #connection: AgentConnection | undefined;
  #isOver = false;

  /** `write`: past the SDK, where there is such a way. */
  constructor(host: SessionHost, write?: FrontStream["send"]) {
    this.#host = host;
    this.#write = write;
    this.#scope = new Scope(host.world.log);
  }

  connected(connection: AgentConnection): void {
    this.#connection = connection;
    this.#scope.run("close with the connection", async () => {
      await connection.closed.catch(() => undefined);
      this.#isOver = true;
      await Promise.all([...this.#relays.keys()].map((id) => this.close(id)));
    });
  }

  /** The client has said what it can show; relaying starts with this. */
  introduced(abilities: ClientAbilities): void {
    this.#abilities.set(abilities);
  }

  /** `promisedId`: it was given out before this agent was loaded, and so were the settings that are certain. */
  open(request: SessionRequest, promisedId?: string): string {
    const session = this.#host.createSession({
      ...request,
      ...defined({ id: promisedId, isPromised: promisedId === undefined ? undefined : true }),
    });
    this.#take(session, promisedId === undefined ? session.settings : EARLY_SETTINGS).begin();
    return session.id;
  }

  /** For the answer that tells the client of a session. */
  settingsOf(id: string): ReturnType<typeof settingsAnswer> {
    return settingsAnswer(this.#find(id).session.settings);
  }

  /** Waits for the configuration, which has a word in what may be chosen. */
  async set(id: string, name: string, value: unknown): Promise<SessionConfigOption[]> {
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
    const { session, history } = await this.#host.loadSession(request);
    const { send, begin } = await this.#takeLate(session);
    const abilities = this.#abilities.value ?? abilitiesOf();
    if (isReplayed) for (const update of replayUpdates(history, abilities)) await send(update);
    begin();
    return session.id;
  }

  async fork(request: StoredSessionRequest): Promise<string> {
    const { session } = await this.#host.forkSession(request);
    (await this.#takeLate(session)).begin();
    return session.id;
  }

  async delete(id: string): Promise<void> {
    this.cancel(id);
    this.#relays.delete(id);
    await this.#host.deleteSession(id);
  }

  /** While the session was being read the client may have gone, and nobody would ever close it. */
  async #takeLate(session: Session): Promise<Taken> {
    if (!this.#isOver) return this.#take(session);
    await session.close();
    throw new TenonError("session.closed", "the client is gone");
  }

  /** From now on the session belongs to this connection; what it tells is relayed from `begin` on. */
  #take(session: Session, told: SettingsView = session.settings): Taken {
    const connection = this.#connection;
    if (!connection) throw new TenonError("internal", "a session was asked for before the connection was up");
    const relay: Relay = {
      session,
      relayedTurn: new Cell(0),
      told: new EmittedSettings(told),
      send: (update) => this.#send(session.id, update),
    };
    this.#relays.set(session.id, relay);
    const known = this.#abilities.value;
    if (known) session.attach(this.#portsOf(session.id, connection, known));
    const events = session.events();
    // On a later turn of the event loop: no update may overtake the answer that tells the client the session's id.
    const begin = () => {
      this.#host.world.after(0, () => {
        this.#scope.run(`relay ${session.id}`, (signal) => this.#relay(relay, events, connection, signal));
      });
    };
    return { send: relay.send, begin };
  }

  async prompt(id: string, content: readonly ContentBlock[], signal: AbortSignal): Promise<PromptAnswer> {
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

  /** A client's word about a request to one of its own servers. */
  heardOfServer(params: unknown): void {
    this.#messages.hear(params);
  }

  cancel(id: string): void {
    this.#relays.get(id)?.session.cancel();
  }

  /** By the client's own word, which takes back what runs; a client that is gone has said nothing of the kind. */
  async end(id: string): Promise<void> {
    this.cancel(id);
    await this.close(id);
  }

  async close(id: string): Promise<void> {
    this.#find(id);
    this.#relays.delete(id);
    await this.#host.closeSession(id);
  }

  #find(id: string): Relay {
    const relay = this.#relays.get(id);
    if (!relay) throw new TenonError("session.not_found", `there is no open session "${id}"`);
    return relay;
  }

  async #relay(
    relay: Relay,
    events: AsyncIterableIterator<SessionEvent>,
    connection: AgentConnection,
    signal: AbortSignal,
  ): Promise<void> {
    const { session, relayedTurn, told, send } = relay;
    const abilities = (await this.#abilities.until((known) => known !== undefined, signal)) ?? abilitiesOf();
    if (!session.isAttached) session.attach(this.#portsOf(session.id, connection, abilities));
    try {
      for await (const event of events) {
        try {
          const updates = event.kind === "settings" ? told.updates(event.view) : toUpdates(event, abilities);
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
    const { log } = this.#host.world;
    const stack = error instanceof Error ? error.stack : undefined;
    log.error("acp.event_lost", { session: session.id, kind: event.kind, error: messageOf(error), stack });
    const text = `An update of this session ("${event.kind}") could not be shown: ${messageOf(error)}`;
    contained(log, "tell of a lost update", () => {
      for (const update of toUpdates({ kind: "notice", level: "error", text }, abilities))
        handled(Promise.resolve(send(update)), log, "tell of a lost update");
    });
  }

  #portsOf(sessionId: string, { client }: AgentConnection, abilities: ClientAbilities): SessionPorts {
    return sessionPorts(client, { sessionId, abilities, messages: this.#messages, world: this.#host.world });
  }

  #send(sessionId: string, update: SessionUpdate): Promise<void> | undefined {
    if (!this.#write) return this.#notify(sessionId, update);
    if (this.#isOver) return undefined;
    const method = methods.client.session.update;
    return this.#write({ jsonrpc: "2.0", method, params: { sessionId, update } });
  }

  async #notify(sessionId: string, update: SessionUpdate): Promise<void> {
    try {
      await this.#connection?.client.notify(methods.client.session.update, { sessionId, update });
    } catch (error) {
      this.#host.world.log.warn("acp.update_lost", { session: sessionId, error: messageOf(error) });
    }
  }
}

type Card = Extract<SessionUpdate, { sessionUpdate: "tool_call" }>;
type CardUpdate = Extract<SessionUpdate, { sessionUpdate: "tool_call_update" }>;

export function* replayUpdates(
  history: Iterable<SessionEvent>,
  client: ClientAbilities,
): Generator<SessionUpdate, void, void> {
  let card: Card | undefined;
  for (const event of history) {
    for (const update of updatesOf(event, client)) {
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

function updatesOf(event: SessionEvent, client: ClientAbilities): SessionUpdate[] {
  if (event.kind !== "user") return toUpdates(event, client);
  return event.content.map((block) => ({ sessionUpdate: "user_message_chunk", content: toAcpBlock(block) }));
}

/** As a client does it: what the update has takes the place of what was there. */
function merged(card: Card, update: CardUpdate): Card {
  const { title, kind, status, content, locations, rawInput, rawOutput } = update;
  return {
    ...card,
    ...defined({
      title: title == null ? undefined : title,
      kind: kind == null ? undefined : kind,
      status: status == null ? undefined : status,
      content: content == null ? undefined : content,
      locations: locations == null ? undefined : locations,
      rawInput,
      rawOutput,
    }),
  };
}

export async function listSessions(
  host: SessionHost,
  { cwd, cursor }: Pick<ListSessionsRequest, "cwd" | "cursor">,
): Promise<ListSessionsResponse> {
  const page = await host.listSessions(
    defined({ cwd: cwd == null ? undefined : cwd, cursor: cursor == null ? undefined : cursor }),
  );
  const { nextCursor } = page;
  return { sessions: page.sessions.map(infoOf), ...defined({ nextCursor }) };
}

function infoOf({
  id,
  cwd,
  additionalDirectories,
  title,
  updatedMs,
}: SessionSummary): ListSessionsResponse["sessions"][number] {
  return {
    sessionId: id,
    cwd,
    ...defined({ additionalDirectories: additionalDirectories.length > 0 ? [...additionalDirectories] : undefined }),
    title,
    updatedAt: new Date(updatedMs).toISOString(),
  };
}
