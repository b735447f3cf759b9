// The limits of `engine`, each with its unit in the name and its reason beside it.

export const ENGINE_LIMITS = {
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
  /** A result of at most this many characters is not worth a handle; of others so much of the start stays in sight. */
  putAway: { minChars: 1_024, shownChars: 300 },
  /** The summary of a compacted conversation: what the model reads for it, writes at most, and how long that may take. */
  summary: { inputBytes: 200_000, outputTokens: 4_096, maxChars: 16_000, timeoutMs: 90_000, listedResults: 60 },
} as const;
