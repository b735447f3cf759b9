// Every default that bounds something, with its unit in the name and its reason beside it.

export const LIMITS = {
  /**
   * Nesting of JSON from outside, at every entrance. Real messages stay below 40; `JSON.stringify` and recursive checks
   * overflow the stack from about 4,000 on.
   */
  jsonMaxDepth: 256,
  /** Nesting of one record of a journal: what came in from outside, and the record around it. */
  journalMaxDepth: 288,
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
  /** Attempts in a row after a break, before a server counts as failed; one elsewhere that was reached before is tried on. */
  reconnectAttempts: 5,
  /** Ready for this long, a connection has proved itself: the next break starts counting anew. Proxies cut idle event streams after 55 s. */
  reconnectProvenMs: 30_000,
  /** A modern request that asks for input again and again must end somewhere; the SDKs stop here too. */
  inputMaxRounds: 10,
  /** Questions in one round: more is no form anybody fills in. */
  inputMaxRequests: 32,
  /** Before a server is asked again that wanted nothing from us but patience. */
  inputPauseMs: 250,
  /** Questions of one server to a person or a model at the same time. */
  peerAsksAtOnce: 8,
  /** Pages of one server people were sent to and have not come back from: beyond it the oldest is forgotten. */
  openElicitations: 100,
  /** Log lines of a server shown on its running call: the last ones, each cut, and told at a pace a client can draw. */
  callLog: { lines: 20, lineChars: 500, everyMs: 100 },
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
  nameMaxChars: 1_024,
  uriMaxChars: 65_536,
  /** Nesting of a result's data: above it, writing it as JSON would end in a stack overflow. */
  dataMaxDepth: 256,
  /** Blocks of one result, and values inside blocks of unknown kinds: beyond them they are left out, and it is said. */
  contentMaxBlocks: 10_000,
  contentMaxStrangeNodes: 100_000,
  /** Checking structured output against a schema: what is larger, or takes longer, is not. */
  outputSchema: { maxNodes: 50_000, maxBytes: 1_048_576, maxDepth: 100 },
  outputValue: { maxNodes: 50_000, maxBytes: 1_048_576, maxDepth: 100 },
  /** Arguments of a call, values of results put into them included: long texts are fine, what walks them pays by length. */
  argumentValue: { maxNodes: 50_000, maxBytes: 134_217_728, maxDepth: 100 },
  /** Arguments with results put in, as a person is asked about them: what fits a dialog, not what fits a result. */
  shownArguments: { textChars: 2_000, maxChars: 20_000, maxDepth: 20 },
  /** A schema that is shown again in an error, because the tool changed: most have less, and it is paid for once. */
  changedSchemaMaxChars: 8_192,
  /** What is wrong with the arguments of a call: a model corrects a few at a time. */
  argumentMaxProblems: 5,
  outputFuel: 200_000,
  outputCheckMs: 15,
  /** How long the era of a server is remembered: it is probed again now and then, since servers are updated. */
  eraMaxAgeMs: 604_800_000,
  /** The cache of eras and tool lists; one entry is parsed on the main thread, so it stays small. */
  cacheMaxBytes: 67_108_864,
  cacheMaxFiles: 1_000,
  cacheMaxEntryBytes: 4_194_304,
  /** Of the words of one error of a server: people read less, and no more is searched for secrets. */
  errorMaxChars: 16_384,
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
  /** Servers and tools offered as `always`: models choose worse from more than 30 to 50; the rest is behind search. */
  alwaysMaxServers: 10,
  alwaysMaxTools: 100,
  /** Processes of a session's servers above which the person is told: each costs 40 to 100 MB. */
  processesWarn: 5,
  /** Tools chosen by the first prompt: ten cover most prompts, and what they cost is paid with every model call. */
  headStart: { tools: 10, tokens: 2_000 },
  /** Results of one search by the model, unless it asks for fewer or more. */
  toolSearchResults: { usual: 5, most: 20 },
  /** A schema shown in a search result; of a longer one only the names of its properties. */
  searchSchemaMaxChars: 12_000,
  /** What counts of one tool in the search: descriptions come from strangers, and nothing true needs more words. */
  toolSearchField: { nameChars: 512, nameWords: 32, textChars: 16_384, textWords: 512, schemaNodes: 512 },
  /**
   * What counts of a prompt in the search, beginning and end: requests stand there, pasted logs between. Terms are those
   * that differ. All of it costs a few milliseconds at most.
   */
  toolSearchQuery: {
    headChars: 12_000,
    tailChars: 4_000,
    headTerms: 96,
    tailTerms: 32,
    headClauses: 8,
    tailClauses: 4,
    names: 32,
  },
  /** Of the results, what one server may have while others have something that fits, and the least. */
  toolSearchServer: { share: 0.8, least: 1 },
  /** Which prompts led to which tool: more prompts a tool than this gain next to nothing; long words may be secrets. */
  toolUsage: { promptsPerTool: 10, prompts: 2_000, termsPerPrompt: 32, termChars: 24, bytes: 1_048_576 },
  /** Embeddings of tools: texts sent at once, characters of each, vectors kept in memory (4 KB each at 1,024 numbers). */
  toolEmbedding: { batch: 64, textChars: 2_000, vectors: 20_000 },
  /** The index of servers in the system prompt: about 1,000 tokens, and one line of it. */
  serverIndex: { maxChars: 4_000, lineChars: 200 },
  /** Resources named in one answer; the rest is counted. */
  resourcesShown: 200,
  /** Prompts of one server that become commands: people choose among them in a menu. */
  promptCommands: 100,
  /** A prompt of a server that is typed while its list is still on the way waits this long for it. */
  promptListWaitMs: 3_000,
  /** After a server said that its prompts changed: menus need no haste, and a storm of notices is one. */
  promptRelistMs: 500,
  /** What a server suggests for an argument of its prompt: how long a person waits for that, and how much they read. */
  completionTimeoutMs: 3_000,
  completionsShown: 20,
  /** What a prompt mentions is read and put beside it: how many, how much text of each, and how long all of it may take. */
  mentions: { max: 20, maxChars: 51_200, timeoutMs: 10_000 },
  /** Of a project's AGENTS.md: it is sent with every request. */
  instructionsMaxBytes: 32_768,
  /** Text of one tool result given to the model: about 12,000 tokens. */
  resultMaxBytes: 51_200,
  resultMaxLines: 2_000,
  /** Structured content that says more than the text is given as it is up to this; above, a handle takes less room. */
  structuredInlineBytes: 2_048,
  /** An image above this goes to the person only: providers refuse larger ones. */
  resultMaxImageBytes: 3_145_728,
  /** After a cancel, how long a tool gets to say itself how it ended: all of a cancel is to take less than 100 ms. */
  cancelGraceMs: 50,
  /** Read-only calls of one answer that run together at a source that names no limit of its own. */
  callsInParallel: 8,
  /** Images, sounds and documents of one result given to the model, and their bytes in all; the rest goes to the person only. */
  resultMedia: { max: 20, maxBytes: 10_485_760 },
  /** Lines that name what a clipped result held besides text; the rest is counted. */
  resultMaxLabels: 50,
  /** A block of unknown kind is written out up to this. */
  resultMaxStrangeBytes: 65_536,
  /** Kept results of one session on the disk, and in memory where there is no disk. The oldest go first. */
  resultStore: { maxBytes: 536_870_912, maxMemoryBytes: 67_108_864, maxResults: 10_000 },
  /**
   * Journals. Texts and media from `blobChars` on are written once a session, together up to `blobsBytes`: beyond it a word
   * takes their place. A longer line is damage (a prompt is one ACP message). What is read at a time, what of a journal is
   * read for a listing, and sessions a page of it.
   */
  journal: {
    blobChars: 16_384,
    blobsBytes: 268_435_456,
    maxLineBytes: 134_217_728,
    readBytes: 1_048_576,
    headBytes: 65_536,
    titleChars: 80,
    pageSize: 50,
  },
  /** What is encoded, written or searched of a kept result in one go: about a millisecond. */
  resultPieceBytes: 131_072,
  /** Matches of one search in a result, and what is shown of a long line. */
  resultMatches: { max: 200, lineChars: 500 },
  /** Matching one line: more is a pattern that was made to take long. About 20 ms. */
  resultMatchSteps: 400_000,
  /** A search in a result is ended after this, and says where to go on. */
  resultSearchMs: 5_000,
  /** Results put into the arguments of one call: texts in all; a part that has to be parsed, since that holds the event loop. */
  resultInsert: { max: 64, maxBytes: 67_108_864, maxParsedBytes: 2_097_152 },
  /** What is asked of providers beside answers, and what is kept of their errors. */
  model: {
    /**
     * How long a provider may send no byte, before and within an answer. The longest known silence is a model that thinks
     * without telling, two to three minutes; the setting `silenceMs` of a model changes it.
     */
    silenceMs: 300_000,
    /** Asking a provider for its models: the first prompt with an unknown model waits for it. */
    listTimeoutMs: 3_000,
    /** One answer to it: the longest known has 1 MB; and how many pages are followed. */
    listMaxBytes: 16_777_216,
    listMaxPages: 10,
    /** What is shown of a provider's error: it echoes whole requests and HTML pages; people need the beginning only. */
    errorMaxChars: 500,
    /** What is looked at of one: the words that tell what it is about stand near the start. */
    errorMaxBodyChars: 65_536,
  },
  /** Model calls in one turn: far above real tasks, below a runaway bill. */
  turnMaxModelCalls: 100,
  /** A model call that failed before it began to answer: attempts in all, and the waits between them where the provider names none. */
  modelRetry: { attempts: 5, firstMs: 1_000, maxMs: 30_000, factor: 2 },
  /** The longest single wait for a provider; one that asks for more is an error at once, which says when to come back. */
  modelWaitMaxMs: 120_000,
  /** Finding the tools a provider refuses without naming them: requests of one turn, and what each may answer. One bad tool of 100 takes 10. */
  toolProbes: { max: 48, outputTokens: 64 },
  /** The same calls with the same results in a row, alone or in turn with so many others: when the model is told, and when the turn ends. */
  repetition: { hintAt: 3, stopAt: 6, maxPeriod: 3 },
  /** Answers in a row whose last call was cut by the output limit: the model is told to write less, then the turn ends. */
  truncatedAnswers: 3,
  /**
   * The context window. Unknown, it is taken for a small one. Compaction begins at a share of it, or earlier where the
   * longest answer would not fit any more; what is recent stays, and afterwards there is to be room for a while.
   */
  context: { unknownTokens: 32_768, compactAt: 0.8, keepShare: 0.25, targetShare: 0.5 },
  /** A result of at most this many characters is not worth a handle; of others so much of the start stays in sight. */
  putAway: { minChars: 1_024, shownChars: 300 },
  /** The summary of a compacted conversation: what the model reads for it, writes at most, and how long that may take. */
  summary: { inputBytes: 200_000, outputTokens: 4_096, maxChars: 16_000, timeoutMs: 90_000, listedResults: 60 },
  /** Pieces of an answer that come in one turn of the event loop are journaled and told together, up to this many. */
  piecesAtOnce: 64,
  /** Characters that wait to be written to the client as one; with a client that does not read, what waits before its agent does. */
  acpWriteChars: 65_536,
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
  /** Holding the arguments of one call against all rules: more is a rule or a text made to take long, and is asked about. About 20 ms. */
  policyMatchSteps: 4_000_000,
  /** Paths in the arguments of one call that are looked up for `under` rules; what has more is asked about. */
  policyMaxPaths: 100,
  /** Values in the arguments of one call that are looked through for protected paths; a call with more is asked about. */
  policyMaxTexts: 50_000,
  /** A configuration of git that is read to find its hooks: real ones have less than 10 KB. */
  gitConfigMaxBytes: 65_536,
  /** Links on the way of one path: systems stop at 40 too. */
  pathMaxLinks: 40,
  /** What is kept of an approved definition to show what changed: real ones have 1 to 10 KB. */
  approvalMaxDefinitionBytes: 65_536,
  /** One remembered decision, all tools of a server included; it is parsed on the main thread. */
  approvalMaxFileBytes: 1_048_576,
  /** Of one argument in the words of a permission question; the whole is in the raw input beside it. */
  permissionMaxArgumentChars: 4_000,
  /** What is shown of a changed definition: a person reads no more; the rest is counted. */
  differenceMaxLines: 200,
  differenceMaxTextChars: 10_000,
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
  /** A lock file: how often it is looked at while another process changes it, and when an empty one counts as abandoned. */
  fileLock: { everyMs: 5, unwrittenMs: 1_000 },
  /** Editing a configuration file: how often one looks whether another process is done, and for how long. */
  configLock: { everyMs: 50, waitMs: 5_000 },
  /** A `!command` or the keyring may have to ask the person; then they are given up. */
  secretTimeoutMs: 60_000,
  /** How long the other servers wait for one whose secret is still being fetched. */
  secretPatienceMs: 1_000,
  /** One line of a file or of a search shown to the model: minified code would fill the window. */
  lineMaxChars: 2_000,
  /** How far into a file one reads to reach a line: half a second of disk. */
  readMaxScanBytes: 268_435_456,
  /** A file up to this is read to its end, to say how many lines it has. */
  readMaxCountBytes: 16_777_216,
  /** How much of a file decides whether it is text. */
  sniffBytes: 8_192,
  /** A file that is edited or written as a whole: more is data, not source. */
  editMaxBytes: 5_242_880,
  editMaxEdits: 100,
  /** Questions about one edit whose file changes while it is asked about: then it is refused. */
  changedFileMaxQuestions: 3,
  /** Old and new text of a change shown in full to an editor; above it the change is only described. */
  diffMaxBytes: 1_048_576,
  /**
   * Diffs of texts. Edited lines before two texts count as wholly different (the search for the shortest way is quadratic
   * in them), the product of edits with lines and with characters (they are what it costs: 30 ms), lines of a text that are
   * looked at, and what is shown.
   */
  diff: {
    maxLines: 140_000,
    maxEdits: 1_000,
    maxComparedLines: 4_000_000,
    maxComparedChars: 67_108_864,
    maxShownBytes: 262_144,
  },
  /** Entries of one folder that are listed. */
  folderMaxEntries: 1_000,
  /** Looking through folders: entries seen, levels, time. A home directory ends somewhere. */
  walk: { maxEntries: 200_000, maxDepth: 64, maxMs: 20_000 },
  /** Results of a search without a limit of its own, and the highest limit. */
  searchResults: { usual: 200, max: 2_000 },
  /** A file whose text is searched: longer ones are data. */
  grepMaxFileBytes: 8_388_608,
  /** What ripgrep says of one line: it is parsed at once, and all places in it that match are named. */
  grepMaxRecordBytes: 2_097_152,
  /** A glob: more is no glob; `{a,b}` in many places multiplies. */
  glob: { maxChars: 1_000, maxAlternatives: 256, maxExpandedChars: 32_768 },
  /**
   * Rules of `.gitignore` files: bytes read of one file, rules and characters of all files that apply to one folder. Real
   * ones have a few hundred lines; each path is held against all of them, which takes 20 ms at most with these.
   */
  ignoreRules: { maxFileBytes: 65_536, maxRules: 1_000, maxChars: 16_384 },
  /** A command without a limit of its own, and the longest limit: builds take long, a forgotten job must end. */
  commandTimeoutMs: 120_000,
  commandMaxMs: 7_200_000,
  /** What is kept of a command's output, start and end; together they fit one result. */
  commandOutput: { headChars: 16_384, tailChars: 32_768 },
  /** A command that prints more than this prints for ever, and reading it holds everybody else up. */
  commandMaxBytes: 268_435_456,
  /** How often a running command's output is shown. */
  commandProgressMs: 200,
  /** After the end of a command, time for the rest of its output; what it left behind may hold the pipe open. */
  commandDrainMs: 200,
  /** Ending a command: its input has ended long ago, so TERM comes at once. */
  commandGrace: { stdinMs: 1, terminateMs: 2_000 },
  /** Commands in the background at once, and finished ones whose output is still kept. */
  commandsAtOnce: 16,
  commandsKept: 32,
  /** The longest that one look at a command in the background waits for its end. */
  commandWaitMs: 600_000,
  /** Fetching a page for the model: time in all, and bytes once unpacked. */
  fetchTimeoutMs: 30_000,
  fetchMaxBytes: 5_242_880,
  /** The text made of a page (long links make it longer than the page), its nesting (each closing tag looks through it), title and links. */
  fetchPage: { maxTextChars: 2_097_152, maxDepth: 1_000, maxTitleChars: 1_000, maxLinkChars: 8_192 },
  /** A plan people read at a glance. */
  plan: { maxEntries: 100, maxChars: 1_000 },
  /** A question people answer at a glance. */
  ask: { maxOptions: 10, maxChars: 4_000 },
  /**
   * Turning a tool's schema into a provider's form. Fuel is schemas read, merged or written: 3,000 properties take 7,000,
   * and all of it is burnt in about 50 ms. Past `maxInlined` references are named instead of followed.
   */
  dialect: { fuel: 10_000, readDepth: 64, maxInlined: 2_000 },
  /** The wire trace: what a line holds before it is cut (text in all and at a time, values, nesting), and lines that wait for the disk. */
  trace: { lineChars: 4_194_304, textChars: 2_097_152, nodes: 200_000, depth: 200, backlogBytes: 67_108_864 },
  /** A client that was asked to end a command in its terminal says so within this, or is not waited for. */
  clientTerminalEndMs: 5_000,
  /** Words of the model for servers: questions and tokens of one session (a dollar or so), tokens of one answer, messages and text of one request. */
  sampling: { calls: 20, tokens: 200_000, maxTokens: 8_192, messages: 100, maxChars: 1_048_576 },
  /** Names, media types and addresses as they are shown; a description of a tool. Real ones stay far below; marking takes time. */
  shownNameMaxChars: 8_192,
  descriptionMaxChars: 65_536,
  /** Answers that wait for a client which does not read. Updates wait for it by themselves; with more, it is taken for gone. */
  acpMaxPendingChars: 67_108_864,
  /** A question of a server to the person: longer words are cut, a larger form is declined. Nobody reads more, and marking takes time. */
  elicitation: { messageChars: 10_000, formChars: 262_144 },
} as const;
