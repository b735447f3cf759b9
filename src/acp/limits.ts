// The limits of `acp`, each with its unit in the name and its reason beside it.

export const ACP_LIMITS = {
  /** Characters that wait to be written to the client as one; with a client that does not read, what waits before its agent does. */
  acpWriteChars: 65_536,
  /**
   * How long the ACP front leaves the event loop alone after `initialize`. Loading the agent blocks it for up to 100 ms,
   * so it starts right after the first `session/new` was answered, or when a client has been silent for this long.
   */
  frontQuietMs: 2_000,
  /** Of the arguments in the title of a permission question, which is one line, and of one value; all of it is below the title. */
  questionTitle: { argumentsChars: 160, valueChars: 60 },
  /** Of a notice as the title of a call, for clients that show no notices; the whole is in the call. */
  noticeTitleChars: 160,
  /** How long a client's terminal has for its first, harmless command; one that takes longer is not used. */
  clientTerminalProbeMs: 5_000,
  /** A client that was asked to end a command in its terminal says so within this, or is not waited for. */
  clientTerminalEndMs: 5_000,
  /** Answers that wait for a client which does not read. Updates wait for it by themselves; with more, it is taken for gone. */
  acpMaxPendingChars: 67_108_864,
  /**
   * In one list of a request: more are refused before any of them is looked at. Each server is a process or a connection with
   * state of its own, and editors have a dozen.
   */
  lists: { mcpServers: 128, additionalDirectories: 256, kinds: 64 },
  /** Of one `_tenon/session/records`; a client that wants more asks again. */
  recordsPerRead: 500,
  /**
   * Of `_tenon/session/tools` and `call_tool`: tools in one answer, schemas in all of it, results of a search, a query; the name
   * and the arguments of a call, which become part of the conversation.
   */
  tools: {
    most: 2_000,
    schemaChars: 4_194_304,
    results: 20,
    queryChars: 4_000,
    nameChars: 256,
    argumentsChars: 262_144,
  },
  /** A question of a server to the person: longer words are cut, a larger form is declined. Nobody reads more, and marking takes time. */
  elicitation: { messageChars: 10_000, formChars: 262_144 },
} as const;
