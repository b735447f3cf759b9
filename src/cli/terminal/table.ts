// Plain tables: columns padded to their widest cell, the last one cut at the edge.
import { clipToWidth, displayWidth } from "./width.js";

const GAP = "  ";

export interface TableOptions {
  readonly columns: number;
  /** Blanks before every row. */
  readonly indent?: number;
}

/** One string per row. Cells must be single lines of visible text. */
export function renderTable(rows: readonly (readonly string[])[], options: TableOptions): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, displayWidth(cell));
    });
  }
  const margin = " ".repeat(options.indent ?? 0);
  return rows.map((row) => {
    const cells = row.map((cell, at) => (at === row.length - 1 ? cell : pad(cell, widths[at] ?? 0)));
    return clipToWidth(margin + cells.join(GAP), options.columns).trimEnd();
  });
}

function pad(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - displayWidth(cell)));
}
