// Medians, and ratios taken per round: a machine that is slow for a moment is slow for both sides of the ratio.

/** The middle value; the mean of the two middle ones for an even count. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error("there is no median of nothing");
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

/** Median of the per-round ratios. Both lists hold one value per round, in the order of the rounds. */
export function medianRatio(values: readonly number[], baselines: readonly number[]): number {
  if (values.length > baselines.length) throw new Error("a round has no baseline");
  return median(values.map((value, round) => value / (baselines[round] ?? Number.NaN)));
}

/** Three significant digits: more is noise, and a diff of two result lines should show what changed. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
