// The limits of `gateway`, each with its unit in the name and its reason beside it.

export const GATEWAY_LIMITS = {
  /** The head of a request, and how long it may take: real ones have 1 KB and come at once. */
  head: { maxBytes: 16_384, maxMs: 5_000 },
  /** One body over HTTP, and how long it may take to arrive. */
  body: { maxBytes: 16_777_216, maxMs: 60_000 },
  /** One WebSocket message: the same as one line over stdio. */
  messageMaxBytes: 33_554_432,
  /**
   * A client that gives no sign of life for two rounds is gone. A message on its way counts as a sign of life when this much of
   * it came since the last round.
   */
  ping: { everyMs: 20_000, maxMissed: 2, minBytes: 65_536 },
  /** Open connections: of all clients at one address, and of one token. Editors and programs of one person have a handful. */
  connections: { inAll: 1_024, perToken: 64 },
  /** A connection that has not sent `initialize` by then does nothing but take a place. */
  initializeMs: 10_000,
  /** A connection over HTTP without any request or stream open is forgotten after this. */
  httpIdleMs: 60_000,
  /** Requests of one connection without an answer yet; a turn is one. */
  requestsAtOnce: 128,
  /** Of one token. Programs that ask more often than this every minute should follow a session instead. */
  requests: { perMinute: 600, burst: 120 },
  /** Messages that are none, in a minute: what sends more is no ACP client. */
  malformedPerMinute: 20,
  /** Refused log-ins of one address in a minute; addresses remembered. */
  failedLogins: { perMinute: 10, addresses: 10_000 },
  /** Sent and not yet taken by the network: a sender that can wait does so above the first; above the second the client is gone. */
  unsent: { waitBytes: 1_048_576, maxBytes: 67_108_864 },
  /** Tokens: how long they are good unless said otherwise, how many there may be, and how often their last use is written. */
  tokens: {
    expireMs: 7_776_000_000,
    max: 1_000,
    usedEveryMs: 60_000,
    keepOldMs: 7_776_000_000,
    /** Browsers come and go. */
    keepOldDeviceMs: 86_400_000,
    maxFileBytes: 4_194_304,
  },
  /** The lock of the token file: a change takes milliseconds. */
  tokenLock: { waitMs: 5_000, everyMs: 20 },
  /**
   * The audit file, and how many before it are kept; lines that wait while one becomes the other. What clients can repeat at will
   * has one line for all of this time, for this many of different clients and methods.
   */
  audit: { maxBytes: 8_388_608, keptFiles: 4, maxWaiting: 1_000, fieldChars: 256, countedMs: 60_000, counted: 4_096 },
  /**
   * Sessions in memory: of all accounts, and of one; clients of one. A session rests after this long without clients and work,
   * and the runtime of a directory after its last session. Turns of a gateway that is gone are continued if they are not older,
   * after waiting a moment for their clients: longer for those that had the environment of one. A stop waits this long for turns.
   */
  sessions: {
    inAll: 1_000,
    perAccount: 200,
    clientsPerSession: 32,
    /** That its clients brought, together. */
    servers: 256,
    restMs: 600_000,
    runtimeIdleMs: 600_000,
    continueWithinMs: 86_400_000,
    awaitClientMs: 2_000,
    awaitEnvironmentMs: 60_000,
    drainMs: 30_000,
    /** For calls that were sent, of a turn that is left to the next gateway. */
    drainCallsMs: 2_000,
    /** Of an account: labels whose session is remembered, and stored sessions of one label that are looked at. */
    labels: 1_000,
    /** Labels and names of clients. */
    textChars: 128,
    /** Of a client: what a shell has, several times over. */
    environment: { names: 2_000, chars: 1_000_000 },
  },
  /**
   * The page: the body of a log-in; browsers that one token is logged in with; the files of the page, and their bytes. A pairing
   * code is good for 5 minutes and one use; five wrong ones in all, and those that wait are void. Devices of `tenon inspect` end
   * on the same day: a browser sends their cookie to other ports of the machine too.
   */
  page: {
    bodyMaxBytes: 4_096,
    loginsPerToken: 8,
    files: 64,
    filesMaxBytes: 8_388_608,
    codes: { goodMs: 300_000, tries: 5, max: 32, rememberMs: 3_600_000 },
    inspectMs: 43_200_000,
  },
  /**
   * Several nodes: sessions that are looked at and opened at once after their node is gone; attempts to open one, a third of the lease
   * apart, and for how long it is left to others then; for the word to the others that this node drains; turns that a drain hands over in
   * one moment: two others open so many within a second, also on slow machines; and how long clients wait that come while sessions of
   * other nodes are opened: less than a translator with several addresses gives each of them.
   */
  nodes: {
    leftAtOnce: 1_000,
    openedAtOnce: 16,
    openAttempts: 5,
    givenUpMs: 60_000,
    announceMs: 1_000,
    handedOverAtOnce: 32,
    clientsWaitMs: 1_500,
  },
  /**
   * Between nodes: one message; links of one client's connection; sessions that it has open at other nodes; messages of a session
   * that wait for its records, and their bytes; how often it is looked whether nodes live, and whether sessions have more records; records
   * that a client missed and that are kept for it when it is the first to follow.
   */
  links: {
    messageMaxBytes: 8_388_608,
    perConnection: 64,
    sessionsPerConnection: 256,
    waiting: { messages: 1_000, bytes: 33_554_432 },
    checkMs: 1_000,
    missedRecords: 256,
  },
  /** For messages under way when the gateway closes. */
  closeMs: 1_000,
  /**
   * Notices to one address of `gateway.notify`: attempts, the wait between them, one request, those that wait, open questions that
   * are watched in all, characters of a question, and how long the configuration is not read again.
   */
  notify: {
    attempts: 3,
    backoff: { firstMs: 1_000, maxMs: 10_000, factor: 4 },
    requestMs: 10_000,
    waiting: 32,
    questions: 4_096,
    textChars: 1_000,
    settingsMs: 5_000,
  },
} as const;
