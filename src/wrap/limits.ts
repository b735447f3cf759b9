// The limits of `wrap`, each with its unit in the name and its reason beside it.

export const WRAP_LIMITS = {
  /**
   * A wrapped agent that asks a server for its tools is answered within this of the session's opening, with what is known by
   * then: most agents do not open the session before. Servers that take longer announce their tools.
   */
  firstListMs: 2_000,
  /** A prompt waits this long for the agent to ask for tools that have changed, and to have them. */
  listAgainMs: 1_000,
  /** An agent that does not answer `session/close` within this is ended without its answer. */
  closeAnswerMs: 3_000,
  /** A process that was started for a session and does not answer `initialize` within this is ended. */
  initializeMs: 60_000,
  /** Ids of closed sessions that are remembered, so that no other process of the agent takes their prompts. */
  closedSessions: 1_000,
  /** Updates of a session whose id the editor has not been told yet; more are passed on early. */
  earlyUpdates: 1_000,
  /** Lines of one agent that are no messages: so many are logged, each cut. */
  noise: { lines: 20, chars: 200 },
  /** Bytes that wait to be written to an agent that does not read, or to a bridge: above it, that side has hung. */
  unreadBytes: 67_108_864,
  /** Requests of the agent to one server that are under way. */
  requestsAtOnce: 256,
  /** Resources that an agent follows at one server. */
  followedResources: 256,
  /** Of the name of a server, and of server and tool together with what agents put around them: providers take 64 characters. */
  names: { serverChars: 24, togetherChars: 57 },
  /** The socket that bridges connect to: heads are short, and come at once. */
  endpoint: { maxHeadBytes: 8_192, headMs: 10_000, requestMs: 10_000, maxConnections: 2_048 },
} as const;
