// Everybody who reads a session's events: each gets all of them, in order.
import { Channel } from "../base/async/channel.js";
import { LIMITS } from "../base/limits.js";
import type { NoticeLevel, SessionEvent } from "./event.js";

export class Audience {
  readonly #notices: SessionEvent[] = [];
  readonly #readers = new Set<Channel<SessionEvent>>();
  #isClosed = false;

  /** First `news`, then what was noticed so far, then everything that follows. */
  join(news: readonly SessionEvent[]): AsyncIterableIterator<SessionEvent> {
    const channel = new Channel<SessionEvent>(LIMITS.eventBacklog);
    if (this.#isClosed) channel.close();
    else this.#readers.add(channel);
    for (const event of [...news, ...this.#notices]) channel.offer(event);
    return channel[Symbol.asyncIterator]();
  }

  /** In order, to everybody. Waits for readers whose backlog is full; undefined when there is none, and all is said. */
  publish(...events: readonly SessionEvent[]): Promise<void> | undefined {
    const waits: Promise<void>[] = [];
    for (const reader of this.#readers) {
      const room = LIMITS.eventBacklog - reader.size;
      for (const event of events.slice(0, Math.max(0, room))) reader.offer(event);
      if (room < events.length) waits.push(sendAll(reader, events.slice(Math.max(0, room))));
    }
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }

  /** For what happens outside of turns, where nobody can wait. */
  tell(event: SessionEvent): void {
    for (const reader of this.#readers) reader.offer(event);
  }

  /** Whoever joins later hears of it too. */
  notice(level: NoticeLevel, text: string): void {
    const event: SessionEvent = { kind: "notice", level, text };
    this.#notices.push(event);
    this.tell(event);
  }

  close(): void {
    this.#isClosed = true;
    for (const reader of this.#readers) reader.close();
    this.#readers.clear();
  }
}

async function sendAll(reader: Channel<SessionEvent>, events: readonly SessionEvent[]): Promise<void> {
  for (const event of events) await reader.send(event);
}
