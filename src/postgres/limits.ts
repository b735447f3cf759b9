// The limits of `postgres`, each with its unit in the name and its reason beside it.

export const POSTGRES_LIMITS = {
  /** The oldest PostgreSQL that is served: older ones get no updates any more. */
  minServerVersion: 14,
  /**
   * Connections for reads and small changes, which share them, and for statements that may take seconds. Appends (1), the lease (2) and the
   * inbox (3) have connections of their own.
   */
  connections: { shared: 6, long: 2 },
  /** A database that does not take a connection by then is away. */
  connectMs: 3_000,
  /** The database looks so often, in seconds, whether a silent node is there, and gives it up after so many times without an answer. */
  keepAlive: { idleS: 10, everyS: 5, count: 2 },
  /** One statement at the database: a copy of a large session takes seconds. */
  statementMs: 60_000,
  /** Without an answer by then a connection counts as broken; what an append did is looked for on another one. Most take milliseconds. */
  answerMs: 10_000,
  /** An append without an answer is waited for so much longer, only to count whether it was refused: networks send again for as long. */
  lateMs: 30_000,
  /** A node's lease unless another is given: it is renewed three times in this time, and given up after two thirds without. */
  leaseMs: 3_000,
  /**
   * One statement of appends: more waits for the next. Above the second the answer takes longer than a person notices. So long it waits for
   * a session's row that somebody keeps locked: then that session alone waits.
   */
  append: { maxLines: 2_000, maxChars: 4_194_304, lockMs: 1_000 },
  /** Between attempts of what the database did not take. */
  retry: { firstMs: 25, maxMs: 500, factor: 2 },
  /** A database that is away this long is told to people: a restart of it takes less. */
  failingMs: 2_000,
  /** Turns that were left longer ago are left alone, as a gateway on files does. */
  leftWithinMs: 86_400_000,
  /** Records of one page when a whole session is read. */
  readRecords: 500,
  /** Statements under way that read records, so that a long one does not hold up the others; and ranges of records in one. */
  reads: { statements: 2, ranges: 64 },
  /**
   * Messages between nodes: in one statement, and waiting here before all links are given up; attempts to write them; one statement;
   * how often the table is looked at, and cleaned of dead nodes' messages; hints are joined for this long, so many to a
   * notification, which has at most 8,000 bytes, with ids of 128 characters; and a connection that does not answer by then gets no hints any more.
   */
  inbox: {
    batch: { messages: 500, bytes: 16_777_216 },
    unsent: { messages: 20_000, bytes: 67_108_864 },
    attempts: 3,
    retryMs: 100,
    statementMs: 5_000,
    pollMs: 1_000,
    cleanEvery: 10,
    hintEveryMs: 5,
    hintItems: 40,
    probeMs: 1_000,
    /** For messages and hints that are not sent yet when the node ends. */
    closeMs: 1_000,
  },
  /** For another node that brings the tables up to date; then this one gives up and says so. */
  migrateMs: 60_000,
  /** Of a kept result, in one row: a range of it is read in one go. */
  keptPartBytes: 1_048_576,
  /** A result waits so long for a database that is away, and looks again every so often; then it is kept in memory. */
  keptWaitMs: 5_000,
  keptRetryMs: 200,
  /** How often each node looks whether tokens changed: connections of a revoked one end within a second. */
  tokenPollMs: 400,
  /** To open a session whose owner's lease ends just then. */
  acquireTries: 3,
  /** Changes of tokens or codes that others made first, in a row. */
  changeTries: 50,
} as const;
