// The sessions of one connection: opens them, relays their events in order, and closes them with it.
import { type AgentConnection, methods, type PromptResponse } from "@agentclientprotocol/sdk";
import { Cell } from "../base/cell.js";
import type { ContentBlock } from "../base/content.js";
import { messageOf, TenonError } from "../base/errors.js";
import { Scope } from "../base/scope.js";
import type { Session, SessionEvent, SessionHost } from "../session/index.js";
import type { SessionRequest } from "./lenient.js";
import { permissionPorts } from "./permission.js";
import { type ClientAbilities, toUpdates } from "./to-client.js";

interface Relay {
  readonly session: Session;
  /** The last turn whose updates have all been handed to the connection. */
  readonly relayedTurn: Cell<number>;
}

export class OpenSessions {
  readonly #host: SessionHost;
  readonly #scope: Scope;
  readonly #relays = new Map<string, Relay>();
  readonly #abilities = new Cell<ClientAbilities | undefined>(undefined);
  #connection: AgentConnection | undefined;

  constructor(host: SessionHost) {
    this.#host = host;
    this.#scope = new Scope(host.world.log);
  }

  connected(connection: AgentConnection): void {
    this.#connection = connection;
    this.#scope.run("close with the connection", async () => {
      await connection.closed.catch(() => undefined);
      await Promise.all([...this.#relays.keys()].map((id) => this.close(id)));
    });
  }

  /** The client has said what it can show; relaying starts with this. */
  introduced(abilities: ClientAbilities): void {
    this.#abilities.set(abilities);
  }

  open(request: SessionRequest, promisedId?: string): string {
    const connection = this.#connection;
    if (!connection) throw new TenonError("internal", "a session was asked for before the connection was up");
    const session = this.#host.createSession({ ...request, ...(promisedId === undefined ? {} : { id: promisedId }) });
    const relay: Relay = { session, relayedTurn: new Cell(0) };
    this.#relays.set(session.id, relay);
    session.attach(permissionPorts(connection.client, session.id));
    const events = session.events();
    // On a later turn of the event loop: no update may overtake the answer that tells the client the session's id.
    this.#host.world.after(0, () => {
      this.#scope.run(`relay ${session.id}`, (signal) => this.#relay(relay, events, connection, signal));
    });
    return session.id;
  }

  async prompt(id: string, content: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    const { session, relayedTurn } = this.#find(id);
    const turn = session.turnCount + 1;
    try {
      const { stopReason } = await session.prompt(content, signal);
      return { stopReason };
    } finally {
      // The answer comes after every update of its turn. A prompt that was turned away began no turn.
      if (session.turnCount === turn) await relayedTurn.until((relayed) => relayed >= turn, this.#scope.signal);
    }
  }

  cancel(id: string): void {
    this.#relays.get(id)?.session.cancel();
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
    const { session, relayedTurn } = relay;
    const abilities = await this.#abilities.until((known) => known !== undefined, signal);
    for await (const event of events) {
      for (const update of toUpdates(event, abilities ?? { notices: false })) {
        try {
          await connection.client.notify(methods.client.session.update, { sessionId: session.id, update });
        } catch (error) {
          this.#host.world.log.warn("acp.update_lost", { session: session.id, error: messageOf(error) });
        }
      }
      if (event.kind === "turn_ended") relayedTurn.set(event.turn);
    }
  }
}
