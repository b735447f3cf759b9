// Limits of starting servers and of what a project may bring, with their units and reasons.

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
