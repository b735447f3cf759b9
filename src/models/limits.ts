// The limits of `models`, each with its unit in the name and its reason beside it.

export const MODEL_LIMITS = {
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
  /**
   * Embeddings: one request (a local server may load its model first), one answer (32 vectors of 4,096 numbers as JSON
   * are 3 MB), and the numbers of a vector: no known model gives more.
   */
  embedding: { requestMs: 30_000, answerMaxBytes: 16_777_216, maxDimensions: 4_096 },
  /**
   * Turning a tool's schema into a provider's form. Fuel is schemas read, merged or written: 3,000 properties take 7,000,
   * and all of it is burnt in about 50 ms. Past `maxInlined` references are named instead of followed.
   */
  dialect: { fuel: 10_000, readDepth: 64, maxInlined: 2_000 },
} as const;
