// The limits of `cli`, each with its unit in the name and its reason beside it.

export const CLI_LIMITS = {
  /** Where `tenon mcp serve --http` listens: a port that no well-known program has. */
  servePort: "4712",
  /** One `tenon mcp serve` below another, for servers of their own each; more is a circle through several directories. */
  servingDepth: 4,
  /** The last words of a gateway that could not be started, in the notice about it. */
  gatewayLogChars: 600,
  /** Of the log of local gateways: above this a new file is begun, by the next one and by one that runs; the old one stays beside it. */
  gatewayLogBytes: 8_388_608,
  /** Time from a signal or end of input to the exit of the process. */
  shutdownMs: 3_000,
  /** Servers that a command connects to at the same time: each is a process that starts up. */
  serversAtOnce: 8,
  /** A command waits so long for a server to be ready: npx may have to download it first. */
  connectMs: 30_000,
  /** What is kept of one server's stderr and log; when there is more, the older half goes. */
  logFileBytes: 262_144,
  /** Longer lines are cut: one line of a log is for people. */
  logLineChars: 2_000,
  /** A burst of lines is written at once instead of one by one. */
  logFlushMs: 100,
  /** Lines `tenon mcp logs` shows unless told otherwise. */
  logLines: 50,
  /** How often `--follow` looks for more. */
  followMs: 500,
  /** Sessions `tenon sessions list` shows unless told otherwise. */
  sessionsListed: 20,
  /** A file of arguments for `tenon mcp call`: more than any tool takes. */
  callInputBytes: 8_388_608,
  /** How long `tenon doctor` waits for the keyring: one that is locked waits for a person. */
  keyringMs: 5_000,
  /** How long a command waits for embeddings of all tools: a local model takes a second for about 20. */
  embeddingMs: 60_000,
  /** How long `tenon mcp why` waits for servers that still start. */
  whyMs: 5_000,
  /** How long `tenon doctor` waits for `tenon acp`, which answers in a fraction of a second. */
  editorMs: 15_000,
  /** `tenon replay` waits so long for what was sent in the recording; the longest pause of a run is that for servers at the first prompt. */
  replayStallMs: 20_000,
  /** A gateway on this machine answers at once; one that stops closes its sessions within this after its turns. */
  gatewayAnswerMs: 5_000,
  gatewayStopMs: 8_000,
  /** Of the prompts that earlier chats are remembered by; longer ones are not kept. */
  chatHistory: { entries: 1_000, entryChars: 20_000 },
  /** Two Ctrl-C within this quit the chat. */
  quitMs: 1_500,
  /** Files that the chat offers behind an @, and how long it looks for them. */
  mentions: { files: 20_000, lookMs: 2_000 },
  /** What the chat keeps of a command that the person ran with `!`, for the next prompt. */
  shellOutputBytes: 32_768,
  /** What a command after `!` gets to end by itself once it is stopped, before it is killed. */
  shellEndMs: 2_000,
  /** A picture that goes into a prompt; providers take no larger ones. */
  pictureBytes: 5_242_880,
  /** Piped input that is a prompt or part of one. */
  pipedBytes: 8_388_608,
  /** How long `-p` waits for the first of it. */
  pipedMs: 3_000,
  /** A turn that took longer is worth a notice when it ends. */
  noticeAfterMs: 10_000,
  /** `tenon acp-check` holds agents to this: any answer, `session/new`, telling of a failure, cancelling, their own end, their servers' end. */
  acpCheck: { answerMs: 30_000, newSessionMs: 5_000, toldMs: 5_000, cancelMs: 5_000, exitMs: 3_000, goneMs: 10_000 },
  /** How it acts: a slow server's start, a moment for what may still come, and when its servers end whatever happens. */
  acpCheckActs: { slowMs: 3_000, quietMs: 1_000, serverLifeMs: 600_000 },
} as const;
