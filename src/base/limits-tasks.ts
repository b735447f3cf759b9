// Bounds of long-running calls (MCP tasks), with their unit in the name and their reason beside them.
import type { Backoff } from "./async/backoff.js";

export const TASK_LIMITS: {
  readonly poll: Backoff;
  readonly minPollMs: number;
  readonly maxPollMs: number;
  readonly pollJitter: number;
  readonly pollTimeoutMs: number;
  readonly refusals: number;
  readonly lastLookMs: number;
  readonly cancelMs: number;
  readonly closeMs: number;
  readonly ttlMarginMs: number;
  readonly idMaxChars: number;
  readonly messageMaxChars: number;
} = {
  /** How often a server is asked that does not say how often: soon at first, since many tasks are short. */
  poll: { firstMs: 500, maxMs: 5_000, factor: 1.5 },
  /** Never more often than this, whatever a server suggests and however many notices it sends. */
  minPollMs: 100,
  /** Never less often than this: a person waits, and a server that is gone should be noticed. */
  maxPollMs: 60_000,
  /** Polls come up to this part later than suggested, so that the tasks of many sessions do not ask in step. */
  pollJitter: 0.1,
  /** One question about a task: it is answered from memory or a table, so a server that takes longer has hung. */
  pollTimeoutMs: 30_000,
  /** Answers in a row that make no sense, or say that the server cannot answer, before it counts as lost. */
  refusals: 5,
  /** A task whose time is up is asked for once more, however its server has to be reached. */
  lastLookMs: 30_000,
  /** Telling a server to cancel: it is told in the background, also after a reconnection within this time. */
  cancelMs: 10_000,
  /** A connection that is closed waits this long for a cancellation on its way: over HTTP it would be cut off. */
  closeMs: 500,
  /** Asked for beyond the longest time a call may take, so that the result is still there when it is fetched. */
  ttlMarginMs: 600_000,
  /** Of an id: it goes into the journal and a header. Servers use UUIDs. */
  idMaxChars: 1_024,
  /** Of a status message: one line on a card. */
  messageMaxChars: 500,
};
