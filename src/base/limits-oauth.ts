// The bounds of logging in to servers, with their units and reasons, as in `limits.ts`.

export const OAUTH_LIMITS = {
  /** One request of a log-in (metadata, registration, token); nobody's call waits longer for a refresh. */
  requestMs: 15_000,
  /** One answer to it: the longest metadata seen has 10 KB. */
  maxBytes: 262_144,
  /** How long closing a connection waits for a renewal under way: a process that ends with it would lose the log-in. */
  closeMs: 2_000,
  /** A log-in as a whole: the person may have to find a password and a second factor first. */
  loginMs: 600_000,
  /** How often one call is sent again after the server refused its token: renewed, logged in anew, more scope. */
  roundsPerCall: 3,
  /** How often a connection asks a person for more scope by itself: a server that always wants more is not one to please. */
  stepUps: 3,
  /** A scope that is asked for or remembered: the longest lists seen have 1,500 characters. */
  scopeChars: 4_000,
  /**
   * A token is renewed this long before it expires, or in the last part of a short life: calls must not race the clock.
   * Meanwhile they go with the token there is; only in the last part of that time they wait for the new one.
   */
  renewAhead: { ms: 60_000, share: 0.2, waitShare: 0.2 },
  /** The device flow: how often one asks where the server does not say, at most, and by how much slower when told to. */
  device: { everyMs: 5_000, leastMs: 1_000, slowerMs: 5_000 },
  /** How long a signed assertion of ours is good for. */
  assertionSeconds: 120,
  /** A server's own words in our messages. */
  wordsChars: 300,
} as const;
