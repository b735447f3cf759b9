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
} as const;
