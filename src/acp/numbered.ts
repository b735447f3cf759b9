// The numbered updates of a session that several clients share: one relay per client, each text made once for all of them.
import type * as acp from "@agentclientprotocol/sdk";
import { methods } from "@agentclientprotocol/sdk";
import { Cell, type ReadonlyCell } from "../base/async/cell.js";
import { defined } from "../base/json/defined.js";
import type { LogItem, SessionEvent, SettingsView } from "../session/index.js";
import type { SessionHandle } from "./access.js";
import type { ClientAbilities } from "./capabilities.js";
import { sharedMeta } from "./meta.js";
import type { EmittedSettings } from "./options.js";
import { RepeatedFailures, toUpdates } from "./to-client.js";
import { toAcpBlock } from "./tool-call.js";

/** A message with its text, for ways past the SDK. */
export interface SharedMessage {
  readonly message: object;
  readonly bytes: Buffer;
}

/** A `session/update` that several clients get: its bytes are made once. */
export class SharedUpdate implements SharedMessage {
  readonly message: { readonly jsonrpc: "2.0"; readonly method: string; readonly params: acp.SessionNotification };
  #bytes: Buffer | undefined;

  constructor(params: acp.SessionNotification) {
    this.message = { jsonrpc: "2.0", method: methods.client.session.update, params };
  }

  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(JSON.stringify(this.message));
    return this.#bytes;
  }
}

interface SharedEvent {
  readonly event: SessionEvent;
  readonly updates: readonly acp.SessionUpdate[];
  readonly shared: readonly SharedUpdate[];
}

/** Of one item, for each set of abilities that updates depend on. */
const shared = new WeakMap<LogItem, Map<string, readonly SharedEvent[]>>();

function sharedEvents(item: LogItem, sessionId: string, client: ClientAbilities): readonly SharedEvent[] {
  const known = shared.get(item) ?? new Map<string, readonly SharedEvent[]>();
  shared.set(item, known);
  const key = `${client.notices} ${client.compaction}`;
  const made = known.get(key) ?? makeShared(item, sessionId, client);
  known.set(key, made);
  return made;
}

/**
 * The number is on the last update of a record: a client that has it has all of the record. Those before it say which record
 * and which part they are, so that a client which was cut off between them knows what it has.
 */
function makeShared(item: LogItem, sessionId: string, client: ClientAbilities): readonly SharedEvent[] {
  const events = item.kind === "record" ? item.events : [item.event];
  const updates = events.map((event) => updatesOf(event, client));
  let left = updates.reduce((sum, some) => sum + some.length, 0);
  let part = 0;
  const sharedUpdate = (update: acp.SessionUpdate): SharedUpdate => {
    left -= 1;
    if (item.kind === "moment") return new SharedUpdate({ sessionId, update });
    const { seq } = item;
    const tenon = left === 0 ? { seq } : { partOf: seq, part: part++ };
    return new SharedUpdate({ sessionId, update, _meta: sharedMeta(tenon) });
  };
  return events.map((event, index) => {
    const own = updates[index] ?? [];
    return { event, updates: own, shared: own.map(sharedUpdate) };
  });
}

function updatesOf(event: SessionEvent, client: ClientAbilities): readonly acp.SessionUpdate[] {
  if (event.kind !== "user") return toUpdates(event, client);
  const { by, promptId } = event;
  const _meta = by && sharedMeta({ by, ...defined({ promptId }) });
  return event.content.map((block) => {
    return { sessionUpdate: "user_message_chunk", content: toAcpBlock(block), ...defined({ _meta }) };
  });
}

export interface NumberedRelayOptions {
  readonly session: Pick<SessionHandle, "id" | "log">;
  readonly abilities: ClientAbilities;
  /** The id of this client: what it said itself is not sent back to it. */
  readonly client: string;
  /** Of the last record the client has. */
  readonly after: number;
  /** What the client said itself is shown too, until it has everything so far. */
  readonly showsOwn: boolean;
  /** Of this client, under way while it follows already: it would be shown twice what it is shown before they are answered. */
  readonly joins: ReadonlyCell<number>;
  /** For updates that are for this client alone; without it these come from the node that has the session. */
  readonly own?: { readonly told: EmittedSettings; readonly settings: () => SettingsView };
  readonly send: (update: SharedUpdate) => Promise<void> | undefined;
  /** Called for an event that could not be sent. */
  readonly onLost: (event: SessionEvent, error: unknown) => void;
}

/** A client that reads slowly is behind by itself: the log keeps nothing for it, and no turn waits. */
export class NumberedRelay {
  /** Of the last record that was handed to the connection; infinite once no more come. */
  readonly relayed: Cell<number>;
  readonly #options: NumberedRelayOptions;
  readonly #failures = new RepeatedFailures();
  /** What the client was told of the state when it came: the log may have it too. */
  readonly #told = new WeakSet<SessionEvent>();
  #showsOwn: boolean;

  constructor(options: NumberedRelayOptions) {
    this.#options = options;
    this.relayed = new Cell(options.after);
    this.#showsOwn = options.showsOwn;
  }

  /** `onLive`: the client has everything until now; what follows waits for it. */
  async run(signal: AbortSignal, onLive: () => Promise<void>): Promise<void> {
    const { session, abilities, after, joins } = this.#options;
    try {
      for await (const followed of session.log.follow(after, signal)) {
        if (followed.kind === "live") {
          this.#showsOwn = false;
          await onLive();
          continue;
        }
        if (followed.kind === "moment" && this.#told.has(followed.event)) continue;
        for (const made of sharedEvents(followed, session.id, abilities)) {
          if (joins.value > 0) await joins.until((count) => count === 0, signal).catch(() => undefined);
          if (signal.aborted) return; // a client that left gets no rest of a record
          await this.#send(made);
        }
        if (followed.kind === "record") this.relayed.set(followed.seq);
      }
    } finally {
      this.relayed.set(Number.POSITIVE_INFINITY);
    }
  }

  /** The state of everything now, for a client that has just come. */
  async sendCurrent(events: Iterable<SessionEvent>): Promise<void> {
    const { session, abilities } = this.#options;
    for (const event of events) {
      const item: LogItem = { kind: "moment", event };
      this.#told.add(event);
      for (const made of makeShared(item, session.id, abilities)) await this.#send(made);
    }
  }

  async #send(made: SharedEvent): Promise<void> {
    const { event, updates } = made;
    if (event.kind === "user" && !this.#showsOwn && event.by?.client === this.#options.client) return;
    const { own, send, onLost } = this.#options;
    try {
      const all = own ? this.#failures.with(event, updates) : updates;
      for (const update of all.slice(0, all.length - updates.length)) await this.#sendOwn(update);
      for (const one of made.shared) {
        const held = send(one);
        if (held) await held;
      }
      // What a model can do may be known only after it was asked.
      const view = event.kind === "settings" ? event.view : event.kind === "turn_ended" ? own?.settings() : undefined;
      for (const update of (view && own?.told.updates(view)) ?? []) await this.#sendOwn(update);
    } catch (error) {
      onLost(event, error);
    }
  }

  /** For this client alone, and of the moment. */
  #sendOwn(update: acp.SessionUpdate): Promise<void> | undefined {
    const { session, send } = this.#options;
    return send(new SharedUpdate({ sessionId: session.id, update }));
  }
}
