// The limits of `tools`, each with its unit in the name and its reason beside it.

export const TOOL_LIMITS = {
  /** A schema that is shown again in an error, because the tool changed: most have less, and it is paid for once. */
  changedSchemaMaxChars: 8_192,
  /** Servers and tools offered as `always`: models choose worse from more than 30 to 50; the rest is behind search. */
  alwaysMaxServers: 10,
  alwaysMaxTools: 100,
  /** Processes of a session's servers above which the person is warned: each costs 40 to 100 MB. */
  processesWarn: 5,
  /** Tools chosen by the first prompt: ten cover most prompts, and what they cost is paid with every model call. */
  headStart: { tools: 10, tokens: 2_000 },
  /** Tools that each later prompt chooses: the list is never made shorter for them, so they are fewer. */
  laterChoice: { tools: 5, tokens: 1_000 },
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
  /**
   * Embeddings of tools: texts sent at once, requests at the same time, characters of a text, those of one that was refused
   * as too long, vectors kept (1 KB each at 1,024 numbers), how often they are saved, the bytes of all on the disk.
   */
  toolEmbedding: {
    batch: 32,
    parallel: 2,
    textChars: 2_000,
    shortChars: 500,
    vectors: 20_000,
    saveEvery: 1_024,
    cacheBytes: 134_217_728,
  },
  /**
   * How long a prompt or a search waits for embeddings (what is not there by then is ranked by words), and how long words
   * alone count after a failure: this, or what the endpoint says, but at most the third.
   */
  toolEmbeddingMs: { wait: 1_500, pause: 60_000, maxPause: 600_000 },
  /** The index of servers in the system prompt: about 1,000 tokens, and one line of it. */
  serverIndex: { maxChars: 4_000, lineChars: 200 },
  /** Resources named in one answer; the rest is counted. */
  resourcesShown: 200,
  /** Structured content that says more than the text is given as it is up to this; above, a handle takes less room. */
  structuredInlineBytes: 2_048,
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
  /** What is encoded, written or searched of a kept result in one go: about a millisecond. */
  resultPieceBytes: 131_072,
  /** The same of JSON, which is written token by token: a millisecond too, and three before it is compiled. */
  resultJsonPieceChars: 32_768,
  /** Matches of one search in a result, and what is shown of a long line. */
  resultMatches: { max: 200, lineChars: 500 },
  /** Matching one line: more is a pattern that was made to take long. About 20 ms. */
  resultMatchSteps: 400_000,
  /** A search in a result is ended after this, and says where to go on. */
  resultSearchMs: 5_000,
  /** Results put into the arguments of one call: texts in all; a part that has to be parsed, since that holds the event loop. */
  resultInsert: { max: 64, maxBytes: 67_108_864, maxParsedBytes: 2_097_152 },
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
  /** What is shown of a changed definition: a person reads no more; the rest is counted. */
  differenceMaxLines: 200,
  differenceMaxTextChars: 10_000,
  /** Names, media types and addresses as they are shown; a description of a tool. Real ones stay far below; marking takes time. */
  descriptionMaxChars: 65_536,
} as const;
