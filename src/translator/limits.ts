// The limits of `translator`, each with its unit in the name and its reason beside it.

export const TRANSLATOR_LIMITS = {
  /** Between two attempts to reach the gateway again: at first it restarts, later the network is away. */
  retry: { firstMs: 100, maxMs: 5_000, factor: 2 },
  /** The person hears of a lost connection after this; most are back by then. */
  noticeMs: 3_000,
  /** Connecting and `initialize`, each. A local gateway takes milliseconds, one behind a slow network seconds. */
  connectMs: 10_000,
  /** How often the gateway is asked for a sign of life: a laptop that slept finds out within two of these. */
  pingMs: 20_000,
  /** One message of the gateway: as long as the longest it takes itself. */
  messageMaxBytes: 33_554_432,
  /** Messages to a gateway that does not read: with more, the connection counts as lost. */
  pendingMaxBytes: 67_108_864,
  /** Requests of the editor that wait for the gateway: a turn has one, an editor asks for a few lists besides. */
  waitingRequests: { count: 256, chars: 67_108_864 },
  /** Answers of the editor that are kept for questions the gateway may ask again. */
  keptAnswers: 256,
  /** A local gateway that was started listens by then, or the agent runs without it. It takes less than 1 s, on a busy machine 3. */
  startMs: 8_000,
  /** How often a gateway that starts is looked for, by the translator that started it. */
  startEveryMs: 25,
  /** By those that wait for it: looking takes a millisecond of the machine that the gateway needs to start, for each of them. */
  startWait: { firstMs: 25, maxMs: 200, factor: 2 },
  /** An older gateway that was asked to end is gone by then, or it is used as it is. */
  replaceMs: 5_000,
  /** What an editor sent just before its end still reaches the gateway, for this long. */
  leaveMs: 2_500,
  /**
   * Progress and log lines of the editor's servers to a gateway on another machine, which counts them with the requests of the
   * token: those beyond are dropped, so that the editor's own requests are not refused.
   */
  notices: { perSecond: 4, burst: 40 },
  /** Finding out whether the name of a server leads to a private address; if that takes longer the gateway tries it. */
  lookupMs: 2_000,
  /** Reasons why a server of the editor cannot be used that are remembered, so that each is told once. */
  toldReasons: 1_000,
  /** Of the nodes of one gateway. */
  addresses: 16,
  /** Over which the clients of a node that is gone spread themselves when they come to the other nodes. */
  spreadMs: 1_000,
  /** Of a configuration file that is searched for names of variables. */
  configMaxBytes: 1_048_576,
} as const;
