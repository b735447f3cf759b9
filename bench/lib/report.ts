// How a bench tells its result: a table for people on stderr, one JSON line for programs on stdout.

/** Columns are as wide as their widest cell; the first is text, the others are numbers and stand to the right. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines) {
    const cells = line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    process.stderr.write(`${cells.join("  ").trimEnd()}\n`);
  }
}

export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function printResult(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
