// The limits of `world`, each with its unit in the name and its reason beside it.

export const WORLD_LIMITS = {
  /** The wire trace: what a line holds before it is cut (text in all and at a time, values, nesting), and lines that wait for the disk. */
  trace: { lineChars: 4_194_304, textChars: 2_097_152, nodes: 200_000, depth: 200, backlogBytes: 67_108_864 },
} as const;
