// Every default that bounds something, with its unit in the name and its reason beside it.

export const LIMITS = {
  /** One ACP message: editors embed whole files and images; the SDK's own servers take 32 MiB. */
  acpMaxLineBytes: 33_554_432,
  /** One MCP message over stdio: results to 64 MB must arrive, base64 and JSON escapes included. */
  mcpMaxLineBytes: 100_663_296,
  /** A message up to this is parsed where it is: the worst 256 KB of JSON (`[[[[…`) take 20 ms. */
  messagePlainBytes: 262_144,
  /** A longer one is parsed on the main thread if it is likely to take less than this; most are one long text. */
  messageParseMs: 20,
  /** Above this a message goes to a thread in any case: it would be in memory three times over. */
  messageInlineBytes: 8_388_608,
  /** Above this its long parts go to files, and the result says where. */
  messageSpillBytes: 16_777_216,
  /** Text from this length on is a part of its own once a message is taken apart. */
  messageLongTextBytes: 65_536,
  /** What is parsed of such a message in one turn of the event loop. */
  messagePieceBytes: 65_536,
  /** Values of such a message that are kept in memory: 10,000 tools have about 200,000. The rest goes to a file. */
  messageMaxValues: 400_000,
  /** The start of a text in a file that is shown at once. */
  spillPreviewBytes: 51_200,
  /** Bytes on their way to a thread before its source is made to wait. */
  threadBacklogBytes: 2_097_152,
  /** Messages to a server that does not read: beyond this, requests fail instead of piling up. */
  stdinBacklogBytes: 67_108_864,
  /** Handling what one server sent, before others get their turn. */
  serverTurnMs: 15,
  /** The same for an event stream: its chunks are small, so a short turn costs it nothing and others wait less. */
  streamTurnMs: 5,
  /** A server closed this soon after it was initialized gets less time to notice: server-everything asks after 350 ms. */
  youngClose: { afterMs: 1_000, stdinMs: 200 },
  /** On closing, time for answers the server still waits for: some do not notice the end of input before they have them. */
  drainMs: 300,
  /**
   * A server that runs through `npx` may download first (16 to 46 s measured), and ending it would begin the download
   * anew. It blocks nobody meanwhile; one that is stuck because of our probe still gets a second start at half of this.
   */
  connectTimeoutMs: 120_000,
  /** Silence after `server/discover`: a modern server answers at once, a legacy one refuses at once, a stuck one must not cost more. */
  probeTimeoutMs: 5_000,
  /** Before a server that ended at the probe is started again as a legacy one. */
  probeRestartMs: 300,
  /** A tool call without a limit of its own, counted anew with each progress notice. */
  callTimeoutMs: 120_000,
  /** A call that keeps reporting progress still ends: two hours cover builds and crawls, not a forgotten job. */
  callMaxMs: 7_200_000,
  /** Calls of one server: a loop gone wild must not hammer somebody's service. */
  callsPerMinute: 100,
  callsAtOnce: 8,
  /** A call over those limits waits this long for its turn, then says so. */
  limitWaitMs: 10_000,
  /** Attempts in a row after a break, before a server counts as failed. */
  reconnectAttempts: 5,
  /** Ready for this long, a connection has proved itself: the next break starts counting anew. */
  reconnectProvenMs: 60_000,
  /** A modern request that asks for input again and again must end somewhere; the SDKs stop here too. */
  inputMaxRounds: 10,
  /** Questions in one round: more is no form anybody fills in. */
  inputMaxRequests: 32,
  /** Before a server is asked again that wanted nothing from us but patience. */
  inputPauseMs: 250,
  /** Questions of one server to a person or a model at the same time. */
  peerAsksAtOnce: 8,
  /** Pages of one list: a server with a cursor that never ends must end somewhere; so must one whose pages bring nothing. */
  listMaxPages: 2_000,
  listMaxBarrenPages: 10,
  /** Tools of one server: far above any real one (178 seen). */
  listMaxTools: 12_000,
  /** One server's list in memory, by a safe estimate: 10,000 real tools come to 32 MB, and while it changes there are two. */
  listMaxHeapBytes: 33_554_432,
  /** One entry of a list: a schema of 3,000 properties passes, a bomb does not. What passes may be walked recursively. */
  listEntry: { maxNodes: 100_000, maxBytes: 4_194_304, maxDepth: 100 },
  /** Sentences about what is wrong with a list; the rest is only counted. */
  listMaxProblems: 50,
  /** Asking for one page of a list; a server that needs longer has hung. */
  listPageTimeoutMs: 60_000,
  /** After a `list_changed`: time for the rest of a burst to come, and how often at most a list is fetched anew. */
  relist: { quietMs: 50, everyMs: 500, attempts: 3 },
  /** A tool's name: the protocol advises 128 characters, no model takes more than that. */
  nameMaxChars: 1_024,
  uriMaxChars: 65_536,
  /** Nesting of a result's data: above it, writing it as JSON would end in a stack overflow. */
  dataMaxDepth: 500,
  /** Blocks of one result, and values inside blocks of unknown kinds: beyond them they are left out, and it is said. */
  contentMaxBlocks: 10_000,
  contentMaxStrangeNodes: 100_000,
  /** Checking structured output against a schema: what is larger, or takes longer, is not. */
  outputSchema: { maxNodes: 50_000, maxBytes: 1_048_576, maxDepth: 100 },
  outputValue: { maxNodes: 50_000, maxBytes: 1_048_576, maxDepth: 100 },
  outputFuel: 200_000,
  outputCheckMs: 15,
  /** How long the era of a server is remembered: it is probed again now and then, since servers are updated. */
  eraMaxAgeMs: 604_800_000,
  /** The cache of eras and tool lists; one entry is parsed on the main thread, so it stays small. */
  cacheMaxBytes: 67_108_864,
  cacheMaxFiles: 1_000,
  cacheMaxEntryBytes: 4_194_304,
  /** What is kept of a server's stderr: enough for a stack trace in an error message. */
  stderrTailBytes: 4_096,
  /** When a connection breaks, how long its process gets to say why: the pipe often breaks before the exit is known. */
  lastWordsMs: 500,
  /** The same when a long message came right before the end, and is still being read. */
  lastMessageMs: 10_000,
  /** Normal close of a server, each rung: end of input, then TERM, then KILL, within 5 s in all. */
  closeGrace: { stdinMs: 1_000, terminateMs: 3_000 },
  /** The same while Tenon itself ends: an editor waits for us. */
  exitGrace: { stdinMs: 1_000, terminateMs: 1_000 },
  /** After KILL: a large process takes a moment to be taken down; one stuck in the kernel is not waited for. */
  killWaitMs: 500,
  /** Daemons a server left behind get this long after TERM: they hold nothing of ours. */
  strayTermMs: 500,
  /** How often a process group is looked at while it ends: it sends no event of its own. */
  groupPollMs: 20,
  /** The first prompt waits this long for servers still connecting; later ones join at the next model call. */
  firstPromptWaitMs: 5_000,
  /** The same for servers an entry calls required: without them the first turn is of no use. */
  requiredWaitMs: 60_000,
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
  /** Idle HTTP sockets: Node servers drop theirs after 5 s, and a request that meets the drop may or may not have arrived. */
  httpIdleSocketMs: 3_500,
  /** Redirects of one request. */
  httpMaxRedirects: 5,
  /** Bytes of a body that is not a message (error pages, what comes with a 202): enough for its words, no more. */
  httpMaxErrorBytes: 65_536,
  /** A notification or answer of ours that the server takes longer to accept is given up. */
  httpNoticeTimeoutMs: 30_000,
  /** An event stream whose answer has come is left open this long for the server to end it, then cut. */
  httpLingerMs: 2_000,
  /** How long calls wait for the standing GET stream: servers drop what they would ask on it while there is none. */
  httpStreamWaitMs: 1_000,
  /** Reopening event streams that ended: from the second fruitless time on, slower and slower. */
  httpReopen: { firstMs: 1_000, maxMs: 30_000, factor: 2 },
  /** A stream that lived this long was no storm. */
  httpStreamProvenMs: 5_000,
  /** Streams in a row that brought nothing, before the stream is given up for the session. */
  httpReopenAttempts: 8,
  /** A server that had a stream and cannot be reached so many times in a row is gone: then the connection is broken. */
  httpUnreachableAttempts: 3,
  /** The least wait before an event stream is reopened, whatever `retry:` says. */
  httpReopenMinMs: 250,
  /** How long an HTTP+SSE server gets to name its endpoint. */
  sseEndpointMs: 10_000,
  /** The longest `Retry-After` that is waited for by itself; after it the server is tried again all the same. */
  retryAfterMaxMs: 300_000,
  /** A configuration file: real ones have a few KB; a link to something endless must end somewhere. */
  configMaxBytes: 1_048_576,
  /** Nesting of a configuration file: the parser is recursive, and the deepest key there is lies five levels down. */
  configMaxDepth: 64,
  /** Sentences about one broken configuration file; the rest follows from the first ones. */
  configMaxProblems: 20,
  /** After a configuration file changed: editors write in several steps. */
  configQuietMs: 100,
  /** A file named by `{file:…}` holds a token or a certificate. */
  configValueMaxBytes: 65_536,
  /** Editing a configuration file: how often one looks whether another process is done, for how long, and when it must have died. */
  configLock: { everyMs: 50, waitMs: 5_000, staleMs: 10_000 },
  /** A `!command` or the keyring may have to ask the person; then they are given up. */
  secretTimeoutMs: 60_000,
  /** How long the other servers wait for one whose secret is still being fetched. */
  secretPatienceMs: 1_000,
} as const;
