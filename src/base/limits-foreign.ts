// What bounds reading what other programs wrote: their configuration, and the lock of tool definitions.

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
