// Every default that bounds something in more than one module, with its unit in the name and its reason beside it.

export const LIMITS = {
  /**
   * Nesting of JSON from outside, at every entrance. Real messages stay below 40; `JSON.stringify` and recursive checks
   * overflow the stack from about 4,000 on.
   */
  jsonMaxDepth: 256,
  /** One ACP message: editors embed whole files and images; the SDK's own servers take 32 MiB. */
  acpMaxLineBytes: 33_554_432,
  /**
   * A server that runs through `npx` may download first (16 to 46 s measured), and ending it would begin the download
   * anew. It blocks nobody meanwhile; one that is stuck because of our probe still gets a second start at half of this.
   */
  connectTimeoutMs: 120_000,
  /** Silence after `server/discover`: a modern server answers at once, a legacy one refuses at once, a stuck one must not cost more. */
  probeTimeoutMs: 5_000,
  /** A tool call without a limit of its own, counted anew with each progress notice. */
  callTimeoutMs: 120_000,
  /** A call that keeps reporting progress still ends: two hours cover builds and crawls, not a forgotten job. */
  callMaxMs: 7_200_000,
  /** Calls of one server: a runaway loop must not overload a service. */
  callsPerMinute: 100,
  callsAtOnce: 8,
  /** A call over those limits waits this long for its turn, then says so. */
  limitWaitMs: 10_000,
  /** A tool's name: the protocol advises 128 characters, no model takes more than that. */
  nameMaxChars: 1_024,
  /** Nesting of a result's data: above it, writing it as JSON would end in a stack overflow. */
  dataMaxDepth: 256,
  /** Checking structured output against a schema: what is larger, or takes longer, is not. */
  outputSchema: { maxNodes: 50_000, maxBytes: 1_048_576, maxDepth: 100 },
  /** Arguments of a call, values of results put into them included: long texts are fine, what walks them pays by length. */
  argumentValue: { maxNodes: 50_000, maxBytes: 134_217_728, maxDepth: 100 },
  /** Arguments with results put in, as a person is asked about them: what fits a dialog, not what fits a result. */
  shownArguments: { textChars: 2_000, maxChars: 20_000, maxDepth: 20 },
  /** What is wrong with the arguments of a call: a model corrects a few at a time. */
  argumentMaxProblems: 5,
  outputFuel: 200_000,
  outputCheckMs: 15,
  /** What is kept of a server's stderr: enough for a stack trace in an error message. */
  stderrTailBytes: 4_096,
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
  /** Results of one search by the model, unless it asks for fewer or more. */
  toolSearchResults: { usual: 5, most: 20 },
  /** Text of one tool result given to the model: about 12,000 tokens. */
  resultMaxBytes: 51_200,
  resultMaxLines: 2_000,
  /** An image above this goes to the person only: providers refuse larger ones. */
  resultMaxImageBytes: 3_145_728,
  /**
   * The context window. Unknown, it is taken for a small one. Compaction begins at a share of it, or earlier where the
   * longest answer would not fit any more; what is recent stays, and afterwards there is to be room for a while.
   */
  context: { unknownTokens: 32_768, compactAt: 0.8, keepShare: 0.25, targetShare: 0.5 },
  /** Events waiting for one reader of a session before the producer waits for it. */
  eventBacklog: 1_024,
  /** Idle HTTP sockets: Node servers drop theirs after 5 s, and a request that meets the drop may or may not have arrived. */
  httpIdleSocketMs: 3_500,
  /** Redirects of one request. */
  httpMaxRedirects: 5,
  /** A file named by `{file:…}` holds a token or a certificate. */
  configValueMaxBytes: 65_536,
  /** A lock file: how often it is looked at while another process changes it, and when an empty one counts as abandoned. */
  fileLock: { everyMs: 5, unwrittenMs: 1_000 },
  /** A `!command` or the keyring may have to ask the person; then they are given up. */
  secretTimeoutMs: 60_000,
  /** A glob: more is no glob; `{a,b}` in many places multiplies. */
  glob: { maxChars: 1_000, maxAlternatives: 256, maxExpandedChars: 32_768 },
  /** Names, media types and addresses as they are shown; a description of a tool. Real ones stay far below; marking takes time. */
  shownNameMaxChars: 8_192,
} as const;

export const FOREIGN_LIMITS = {
  /** `~/.claude.json` keeps what was done in every project: 10 MB and more have been seen. */
  fileMaxBytes: 67_108_864,
  /** A lock of 10,000 tools with definitions of 1 KB is 15 MB; real ones have a few hundred KB. */
  lockMaxBytes: 33_554_432,
  /** A locked definition longer than this is kept as its hash only: a difference then shows the new one. */
  lockedDefinitionMaxBytes: 65_536,
  /** Tools put to the person in a row because they are not as locked; the others stay held back, with a notice. */
  lockMaxReviews: 5,
} as const;

export const LAUNCH_LIMITS = {
  /** `python --version` takes 5 to 200 ms; a program that does not answer by then is treated as an old one. */
  versionMs: 5_000,
  /** What is read of its answer. */
  versionBytes: 4_096,
  /** Of a program or script that lies in a project: what an approval covers. Of a longer one, the first part and the size. */
  pinnedBytes: 16_777_216,
  /** Servers of one project file: real ones have a handful, and each must be read before it is approved. */
  projectServers: 20,
  /** Permission rules of one project file: every call is held against each. */
  projectRules: 200,
  /** Names of servers in one sentence; the rest is counted. */
  namedServers: 5,
} as const;

export const LOGIN_LIMITS = {
  /** A turn waits this long for its person to log in; after that the log-in goes on beside it. */
  turnWaitMs: 120_000,
  /** The holder of a grant refreshes it over the network: it may take its deadlines, and the next in line waits for it. */
  lockWaitMs: 90_000,
  /** How often a held lock is looked at: a refresh takes 100 ms and more. */
  lockEveryMs: 25,
  /** The system may first ask the person to unlock the keyring. */
  keyringMs: 60_000,
  /** Of a grant on the disk: tokens of 64 KB have been seen, and there are two of them. */
  grantMaxBytes: 1_048_576,
  /** What is pasted: an address with a code in it. */
  pastedMaxChars: 16_384,
} as const;

export const OAUTH_LIMITS = {
  /** One request of a log-in (metadata, registration, token); nobody's call waits longer for a refresh. */
  requestMs: 15_000,
  /** One answer to it: the longest metadata seen has 10 KB. */
  maxBytes: 262_144,
  /** How long closing a connection waits for a renewal under way: a process that ends with it would lose the log-in. */
  closeMs: 2_000,
  /** A log-in as a whole: the person may have to find a password and a second factor first. */
  loginMs: 600_000,
  /** How often one call is sent again after the server refused its token: renewed, logged in anew, more scope. */
  roundsPerCall: 3,
  /** How often a connection asks a person for more scope by itself: a server that always wants more is not one to please. */
  stepUps: 3,
  /** A scope that is asked for or remembered: the longest lists seen have 1,500 characters. */
  scopeChars: 4_000,
  /**
   * A token is renewed this long before it expires, or in the last part of a short life: calls must not race the clock.
   * Meanwhile they go with the token there is; only in the last part of that time they wait for the new one.
   */
  renewAhead: { ms: 60_000, share: 0.2, waitShare: 0.2 },
  /** The device flow: how often one asks where the server does not say, at most, and by how much slower when told to. */
  device: { everyMs: 5_000, leastMs: 1_000, slowerMs: 5_000 },
  /** How long a signed assertion of ours is good for. */
  assertionSeconds: 120,
  /** A server's own words in our messages. */
  wordsChars: 300,
} as const;

export const SANDBOX_LIMITS = {
  /** bubblewrap needs 5 to 15 ms to show that it works; on a machine that is busy, or stuck, it is not waited for longer. */
  probeMs: 5_000,
  /** The first line of a script, as far as the kernel itself looks at it. */
  shebangBytes: 256,
  /** Scripts that are run by scripts: real ones stop at two. */
  interpreters: 4,
  /** Folders above a script that are looked through for the one that makes it a package. */
  packageLevels: 6,
  /**
   * Looking for git repositories in a folder that a server may write: folders read (about 20 us each, several at a time), levels
   * below the folder, repositories that are guarded. What lies deeper is not guarded; submodules lie at one to three levels.
   * Folders whose first search is remembered: as many as one process has sessions open, and more.
   */
  git: { maxFolders: 2_000, maxDepth: 5, maxPlaces: 200, maxSearched: 200 },
  /** A prompt waits this long for the look whether git repositories appeared; a later answer is reported when it comes. */
  gitLookMs: 500,
} as const;
