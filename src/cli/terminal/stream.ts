// What can be known of an output stream: whether a person looks at it, how wide it is, and whether it may be coloured.

const DEFAULT_COLUMNS = 80;
/** Lines are not clipped at the edge of a screen nobody has, yet bounded: a log is read by people too. */
const PIPE_COLUMNS = 160;

export function isTerminal(stream: NodeJS.WritableStream | NodeJS.ReadableStream): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}

export function columnsOf(stream: NodeJS.WritableStream): number {
  if (!isTerminal(stream)) return PIPE_COLUMNS;
  return "columns" in stream && typeof stream.columns === "number" && stream.columns > 0
    ? stream.columns
    : DEFAULT_COLUMNS;
}

/** Colours only on a terminal that can show them, and never against NO_COLOR (https://no-color.org). */
export function mayColor(stream: NodeJS.WritableStream, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal(stream) && !env.NO_COLOR && env.TERM !== "dumb";
}
