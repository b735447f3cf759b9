// What bounds logging in: waiting for people, for other processes and for the keyring.

export const LOGIN_LIMITS = {
  /** A turn waits this long for its person to log in; after that the log-in goes on beside it. */
  turnWaitMs: 120_000,
  /** Whoever holds a grant refreshes it over the network: it may take its deadlines, and the next in line waits for it. */
  lockWaitMs: 90_000,
  /** How often a held lock is looked at: a refresh takes 100 ms and more. */
  lockEveryMs: 25,
  /** The system may first ask the person to unlock the keyring. */
  keyringMs: 60_000,
  /** Of a grant on the disk: tokens of 64 KB have been seen, and there are two of them. */
  grantMaxBytes: 1_048_576,
  /** What is pasted: an address with a code in it. */
  pastedMaxChars: 16_384,
} as const;
