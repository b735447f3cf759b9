// The limits of `builtin`, each with its unit in the name and its reason beside it.

export const BUILTIN_LIMITS = {
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
} as const;
