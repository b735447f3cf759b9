// Every default that bounds something, with its unit in the name and its reason beside it.

export const LIMITS = {
  /** One ACP message: editors embed whole files and images; the SDK's own servers take 32 MiB. */
  acpMaxLineBytes: 33_554_432,
  /** One MCP message over stdio: results to 64 MB must arrive, base64 and JSON escapes included. */
  mcpMaxLineBytes: 100_663_296,
  /** A server that runs through `npx` may download first (16 to 46 s measured); it blocks nobody meanwhile. */
  connectTimeoutMs: 60_000,
  /** A tool call without a limit of its own. */
  callTimeoutMs: 120_000,
  /** Pages of one list: a server with a cursor that never ends must end somewhere. */
  listMaxPages: 1_000,
  /** Tools of one server: far above any real one (178 seen). */
  listMaxTools: 20_000,
  /** What is kept of a server's stderr: enough for a stack trace in an error message. */
  stderrTailBytes: 4_096,
  /** When a connection breaks, how long its process gets to say why: the pipe often breaks before the exit is known. */
  lastWordsMs: 500,
  /** Normal close of a server, each rung: end of input, then TERM, then KILL, within 5 s in all. */
  closeGrace: { stdinMs: 1_000, terminateMs: 3_000 },
  /** The same while Tenon itself ends: an editor waits for us. */
  exitGrace: { stdinMs: 1_000, terminateMs: 1_000 },
  /** After KILL: a large process takes a moment to be taken down; one stuck in the kernel is not waited for. */
  killWaitMs: 500,
  /** How often a process group is looked at while it ends: it sends no event of its own. */
  groupPollMs: 20,
  /** The first prompt waits this long for servers still connecting; later ones join at the next model call. */
  firstPromptWaitMs: 5_000,
  /** Text of one tool result given to the model: about 12,000 tokens. */
  resultMaxBytes: 51_200,
  resultMaxLines: 2_000,
  /** An image above this goes to the person only: providers refuse larger ones. */
  resultMaxImageBytes: 3_145_728,
  /** Model calls in one turn: far above real tasks, below a runaway bill. */
  turnMaxModelCalls: 100,
  /** Events waiting for one reader of a session before the producer waits for it. */
  eventBacklog: 1_024,
  /** Time from a signal or end of input to the exit of the process. */
  shutdownMs: 3_000,
  /**
   * How long the ACP front leaves the event loop alone after `initialize`. Loading the agent blocks it for up to 100 ms,
   * so it starts right after the first `session/new` was answered, or when a client has been silent for this long.
   */
  frontQuietMs: 2_000,
  /** Reconnecting to a server: quick at first, then out of its way. */
  reconnect: { firstMs: 500, maxMs: 30_000, factor: 2 },
} as const;
