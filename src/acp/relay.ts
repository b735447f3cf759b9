// Relays the events of a session to the one client it has, in order; and shows a client a conversation again.
import type * as acp from "@agentclientprotocol/sdk";
import { Cell } from "../base/async/cell.js";
import type { SessionEvent } from "../session/index.js";
import type { SessionHandle } from "./access.js";
import type { ClientAbilities } from "./capabilities.js";
import type { EmittedSettings } from "./options.js";
import { RepeatedFailures, toUpdates } from "./to-client.js";
import { toAcpBlock } from "./tool-call.js";

export interface EventRelayOptions {
  readonly session: SessionHandle;
  readonly told: EmittedSettings;
  readonly send: (update: acp.SessionUpdate) => Promise<void> | undefined;
  /** Called for an event that could not be sent. */
  readonly onLost: (event: SessionEvent, error: unknown) => void;
}

export class EventRelay {
  readonly #options: EventRelayOptions;
  readonly #events: AsyncIterableIterator<SessionEvent>;
  /** The last turn whose updates have all been handed to the connection. */
  readonly #relayedTurn = new Cell(0);

  constructor(options: EventRelayOptions) {
    this.#options = options;
    this.#events = options.session.events();
  }

  /** The answer to a prompt comes after every update of its turn. A prompt that was turned away began no turn. */
  async caughtUp(before: number, signal: AbortSignal): Promise<void> {
    const turn = before + 1;
    if (this.#options.session.turnCount !== turn) return;
    await this.#relayedTurn.until((relayed) => relayed >= turn, signal);
  }

  async run(abilities: ClientAbilities): Promise<void> {
    const { session, told, send, onLost } = this.#options;
    const failures = new RepeatedFailures();
    try {
      for await (const event of this.#events) {
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
          onLost(event, error);
        }
        if (event.kind === "turn_ended") this.#relayedTurn.set(event.turn);
      }
    } finally {
      this.#relayedTurn.set(Number.POSITIVE_INFINITY); // nothing waits for updates any longer
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
