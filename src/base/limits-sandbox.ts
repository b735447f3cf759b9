// Defaults of the sandbox that bound something, with their units and reasons.

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
  /** A prompt waits this long for the look whether git repositories appeared; a later answer is told when it comes. */
  gitLookMs: 500,
} as const;
