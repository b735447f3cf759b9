// The limits of `session`, each with its unit in the name and its reason beside it.

export const SESSION_LIMITS = {
  /** Nesting of one record of a journal: what came in from outside, and the record around it. */
  journalMaxDepth: 288,
  /** Pages of one server people were sent to and have not come back from: beyond it the oldest is forgotten. */
  openElicitations: 100,
  /** One operation of a store that the program around Tenon brings: longer, and it counts as failed. */
  storeMs: 10_000,
  /** A session that closes waits so long for calls of its program, which it has cancelled. */
  programCallEndMs: 1_000,
  /** Log lines of a server shown on its running call: the last ones, each cut, and told at a pace a client can draw. */
  callLog: { lines: 20, lineChars: 500, everyMs: 100 },
  /** The end of a server's stderr in its status. */
  shownStderr: { lines: 20, lineChars: 500 },
  /**
   * A turn waits for servers that start: for one whose usual time to be ready is known, that time by `factor`, for
   * others `unknownMs`. They join later at the next model call.
   */
  startWait: { factor: 1.5, mostMs: 5_000, unknownMs: 2_500 },
  /** Servers that start, as the model is told of them: so many by name, each name and what goes on cut. */
  startingNote: { named: 20, chars: 200 },
  /** The same for servers an entry calls required: without them the turn fails. */
  requiredWaitMs: 60_000,
  /** Prompts of one server that become commands: people choose among them in a menu. */
  promptCommands: 100,
  /** A prompt of a server that is typed while its list is still on the way waits this long for it. */
  promptListWaitMs: 3_000,
  /** And while its server is still starting, this long for that. */
  promptServerWaitMs: 30_000,
  /** After a server said that its prompts changed: menus need no haste, and a storm of notices is one. */
  promptRelistMs: 500,
  /** What a server suggests for an argument of its prompt: how long a person waits for that, and how much they read. */
  completionTimeoutMs: 3_000,
  completionsShown: 20,
  /** What a prompt mentions is read and put beside it: how many, how much text of each, and how long all of it may take. */
  mentions: { max: 20, maxChars: 51_200, timeoutMs: 10_000 },
  /** Of a project's AGENTS.md: it is sent with every request. */
  instructionsMaxBytes: 32_768,
  /**
   * Journals. Texts and media from `blobChars` on are written once a session, together up to `blobsBytes`: beyond it a word
   * takes their place. A longer line is damage (a prompt is one ACP message). What is read at a time, how long a look at the
   * lock is good for while words stream (calls and ends of turns always look), what of a journal is read for a listing, and
   * sessions a page of it.
   */
  journal: {
    blobChars: 16_384,
    blobsBytes: 268_435_456,
    maxLineBytes: 134_217_728,
    readBytes: 1_048_576,
    lockLookMs: 100,
    headBytes: 65_536,
    titleChars: 80,
    pageSize: 50,
  },
  /**
   * The log that clients of a session follow: what of it is in memory, what one read of an older part gives, in which steps a
   * file is read for it, long parts that are kept for the next follower, and files whose places are remembered. Notices that
   * are told to clients which come later: the last ones.
   */
  log: {
    items: 512,
    bytes: 1_048_576,
    readRecords: 500,
    readBytes: 4_194_304,
    stepBytes: 262_144,
    blobBytes: 4_194_304,
    indexedFiles: 200,
    notices: 100,
  },
  /**
   * Attempts in a row to go on with a turn that got no further: a turn that ends every process it runs in must not go on for ever. Twice as
   * many owners in a row may be gone: those that were gone before they went on with it say little about it.
   */
  continuedTurn: { attempts: 3, owners: 6 },
  /** Pieces of an answer that come in one turn of the event loop are journaled and told together, up to this many. */
  piecesAtOnce: 64,
  /** Of one argument in the words of a permission question; clients get the whole beside it where they can. */
  questionArgumentChars: 4_000,
  /** What a person may say to the model with a no. */
  refusalChars: 4_000,
  /** Questions about one edit whose file changes while it is asked about: then it is refused. */
  changedFileMaxQuestions: 3,
  /** Words of the model for servers: questions and tokens of one session (a dollar or so), tokens of one answer, messages and text of one request. */
  sampling: { calls: 20, tokens: 200_000, maxTokens: 8_192, messages: 100, maxChars: 1_048_576 },
  /**
   * Clients of one session at a time; its open questions, how long each waits where it may, and ids of ended ones that are
   * remembered; how long a client that failed to answer may take to be reported as gone; how long one of several may take to
   * read or write a file. A client of a gateway that left may return within `awayMs` and finds its servers as they were; one
   * that is about to join is waited for `arriveMs` by its own servers.
   */
  clients: {
    max: 32,
    openQuestions: 64,
    questionMs: 86_400_000,
    endedQuestions: 256,
    leaveGraceMs: 500,
    fileMs: 30_000,
    awayMs: 60_000,
    arriveMs: 5_000,
  },
  /**
   * Tools that clients run themselves: keys of a session and of one client, tools of a key and what they take in memory, how long
   * they stay after their client is gone, what one answer and the arguments of one call may have, and sets that are gone and
   * remembered for their reasons.
   */
  extraTools: {
    keys: 64,
    keysPerClient: 8,

    tools: 128,
    heapBytes: 4_194_304,
    graceMs: 60_000,
    answer: { maxNodes: 200_000, maxBytes: 16_777_216, maxDepth: 256 },
    arguments: { maxNodes: 50_000, maxBytes: 8_388_608, maxDepth: 100 },
    remembered: 32,
  },
  /** Ids of prompts of one session that are remembered, the last ones, and their length. */
  prompts: { remembered: 4_096, idChars: 128 },
} as const;
