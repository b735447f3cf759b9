// The limits of `mcp`, each with its unit in the name and its reason beside it.

export const MCP_LIMITS = {
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
  /** Before a server that ended at the probe is started again as a legacy one. */
  probeRestartMs: 300,
  /** Attempts in a row after a break, before a server counts as failed; one elsewhere that was reached before is tried on. */
  reconnectAttempts: 5,
  /** Ready for this long, a connection has proved itself: the next break starts counting anew. Proxies cut idle event streams after 55 s. */
  reconnectProvenMs: 30_000,
  /** A call made while its server restarts waits this long, within its own limit: starting takes 0.2 to 3 s. */
  restartWaitMs: 10_000,
  /** Starting servers, before others get their turn. */
  startTurnMs: 10,
  /** Servers start in their order: one waits this long at most for the one before it to be launched. */
  launchOrderMs: 250,
  /** A modern request that asks for input again and again must end somewhere; the SDKs stop here too. */
  inputMaxRounds: 10,
  /** Questions in one round: more is no form anybody fills in. */
  inputMaxRequests: 32,
  /** Before a server is asked again that wanted nothing from us but patience. */
  inputPauseMs: 250,
  /** Telling a client that a call it holds is given up. */
  releaseMs: 10_000,
  /** Questions of one server to a person or a model at the same time. */
  peerAsksAtOnce: 8,
  /** Progress notices of one call: told at once, then the latest per interval, each message cut. A server may send any number. */
  callProgress: { burst: 20, everyMs: 100, messageChars: 500 },
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
  uriMaxChars: 65_536,
  /** Blocks of one result, and values inside blocks of unknown kinds: beyond them they are left out, and it is said. */
  contentMaxBlocks: 10_000,
  contentMaxStrangeNodes: 100_000,
  /** Checking structured output against a schema: what is larger, or takes longer, is not. */
  outputValue: { maxNodes: 50_000, maxBytes: 1_048_576, maxDepth: 100 },
  /** How long the era of a server is remembered: it is probed again now and then, since servers are updated. */
  eraMaxAgeMs: 604_800_000,
  /** The cache of eras and tool lists; one entry is parsed on the main thread, so it stays small. */
  cacheMaxBytes: 67_108_864,
  cacheMaxFiles: 1_000,
  cacheMaxEntryBytes: 4_194_304,
  /** Of the words of one error of a server: people read less, and no more is searched for secrets. */
  errorMaxChars: 16_384,
  /** When a connection breaks, how long its process gets to say why: the pipe often breaks before the exit is known. */
  lastWordsMs: 500,
  /** The same when a long message came right before the end, and is still being read. */
  lastMessageMs: 10_000,
  /** Reconnecting to a server: quick at first, then out of its way. */
  reconnect: { firstMs: 500, maxMs: 30_000, factor: 2 },
  /** Bytes of a body that is not a message (error pages, what comes with a 202): enough for its words, no more. */
  httpMaxErrorBytes: 65_536,
  /** A notification or answer of ours that the server takes longer to accept is given up. */
  httpNoticeTimeoutMs: 30_000,
  /** Such messages on their way at once, each with a connection of its own, and in line: a server may ask without end and take no answer. */
  httpNotices: { atOnce: 64, waiting: 1_000 },
  /** An event stream whose answer has come is left open this long for the server to end it, then cut. */
  httpLingerMs: 2_000,
  /** How long calls wait for the standing GET stream: servers drop what they would ask on it while there is none. */
  httpStreamWaitMs: 1_000,
  /** A session is lost: what else is under way hears the same within this, or nobody can say what became of it. */
  httpSessionLossMs: 500,
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
} as const;

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
  /** How often a queue of starts is looked at besides when a process ends: memory becomes free without an event. */
  queueCheckMs: 2_000,
  /** Servers named in a refusal, the largest first; the rest is counted. */
  namedInRefusal: 5,
  /** The part of a server's limits (calls at once, calls a minute) that one session may use while it is not alone there. */
  sessionShare: 0.75,
} as const;

export const TASK_LIMITS = {
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
} as const;

/** Servers of a client that a gateway on another machine uses. */
export const PROVIDE_LIMITS = {
  /** Calls that wait for answers of a person or a model, and how long each of them does. */
  heldCalls: 32,
  heldMs: 600_000,
  /** Requests of the gateway to one server at a time: more than its connection there would ever send. */
  requestsAtOnce: 128,
  /** Resources that are followed for one subscription; the rest is not acknowledged. */
  followedResources: 256,
  /** A server of the older era is asked to report a resource: one that takes longer has hung. */
  subscribeMs: 30_000,
} as const;
