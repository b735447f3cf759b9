// The log of a session for any number of clients: recent records in memory, older ones from the store.
import type { SessionEvent } from "../events.js";

/** What one record or moment is, once for all followers: a sender may keep the text it made of it. */
export type LogItem =
  | {
      readonly kind: "record";
      readonly seq: number;
      /** None for records that show nothing. */
      readonly events: readonly SessionEvent[];
    }
  /** An event of now, without a number: followers that are not at the end of the log miss it. */
  | { readonly kind: "moment"; readonly event: SessionEvent };

/** `live`: everything until now has been given, once. */
export type Followed = (LogItem & { readonly item: LogItem }) | { readonly kind: "live" };

export interface SessionLog {
  /** Of the last record that is durable. */
  readonly lastSeq: number;
  /**
   * Every record after that number, in order, without a gap or a repeat; moments while it is at the end. Nothing is queued for
   * a follower, and none holds a turn up. Ends when the session is closed, throws `session.invalid_request` for a number
   * beyond the log.
   */
  follow(after: number, signal: AbortSignal): AsyncIterable<Followed>;
}
