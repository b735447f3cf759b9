// What bounds the servers of all sessions of one process: how long an unused one stays, how many there are, what they take.

export const POOL_LIMITS = {
  /** After its last session has left: people close one conversation and begin another; a server costs 40 to 100 MB meanwhile. */
  idleMs: 60_000,
  /**
   * A question on a shared connection that may be one of several sessions' waits this long for the calls of the others to
   * end, which then tells whose it is. Calls that do not wait for an answer mostly end within it.
   */
  askerWaitMs: 10_000,
  /** How long it is remembered that a server asks something of its client: servers are updated, and may stop. */
  asksMaxAgeMs: 2_592_000_000,
  /** Server processes of one Tenon process, and of one of its sessions. */
  maxProcesses: 128,
  maxSessionProcesses: 64,
  /** Of the machine's memory, what all server processes together may take before no further one is started. */
  memoryShare: 0.5,
  /** What a process that has just been started is taken for at least, and for how long: it has not grown yet. */
  young: { bytes: 67_108_864, forMs: 15_000 },
  /** Measuring reads every process of the machine: servers that start together share one look. */
  measuredForMs: 500,
  /** Servers named in a refusal, the largest first; the rest is counted. */
  namedInRefusal: 5,
  /** The part of a server's limits (calls at once, calls a minute) that one session may use while it is not alone there. */
  sessionShare: 0.75,
} as const;
