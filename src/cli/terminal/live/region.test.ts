// The changing lines, checked on a small screen that obeys the sequences which the region writes.
import { describe, expect, it } from "vitest";
import { clipStyled, LiveRegion } from "./region.js";

/** Understands cursor movement by rows and columns, clearing and line ends; scrolls. As in tmux, clearing all of the window keeps it. */
class TinyScreen {
  readonly columns: number;
  readonly rows: number;
  lines: string[] = [""];
  row = 0;
  column = 0;
  writes = 0;
  /** What tmux shows to who scrolls back, beside the lines that went out at the top. */
  readonly history: string[] = [];

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): void {
    this.writes += 1;
    for (const [part] of text.matchAll(/\u001b\[\??[0-9;]*[A-Za-z]|\r|\n|[^\u001b\r\n]+/gu)) this.#obey(part);
  }

  #obey(part: string): void {
    const [, count = "", final = ""] = /^\u001b\[\??([0-9;]*)([A-Za-z])$/u.exec(part) ?? [];
    const steps = Number(count || "1");
    if (part === "\r") this.column = 0;
    else if (part === "\n") this.row += 1;
    else if (final === "A") this.row -= Math.min(steps, this.rows - 1);
    else if (final === "B") this.row += steps;
    else if (final === "C") this.column += steps;
    else if (final === "K") this.lines[this.row] = "";
    else if (final === "J") {
      if (this.row === 0 && this.column === 0) this.history.push(...this.lines);
      this.lines.length = this.row + 1;
    } else if (final === "") {
      const line = (this.lines[this.row] ?? "").padEnd(this.column);
      this.lines[this.row] = line.slice(0, this.column) + part + line.slice(this.column + part.length);
      this.column += part.length;
    }
    if (final === "J") this.lines[this.row] = (this.lines[this.row] ?? "").slice(0, this.column);
    while (this.lines.length <= this.row) this.lines.push("");
  }
}

function stage(columns = 20, rows = 6): { readonly screen: TinyScreen; readonly region: LiveRegion } {
  const screen = new TinyScreen(columns, rows);
  return {
    screen,
    region: new LiveRegion(
      (text) => screen.write(text),
      () => screen,
    ),
  };
}

describe("LiveRegion", () => {
  it("keeps finished lines above changing ones, and the cursor where it belongs", () => {
    const { screen, region } = stage();
    region.draw([], { lines: ["> a", "status"], cursor: { row: 0, column: 3 } });
    region.draw(["one"], { lines: ["> ab", "status"], cursor: { row: 0, column: 4 } });
    region.draw([], { lines: ["busy", "> ab", "status"], cursor: { row: 1, column: 4 } });
    region.draw(["two", "three"], { lines: ["> ", "status"], cursor: { row: 0, column: 2 } });
    expect(screen.lines).toEqual(["one", "two", "three", "> ", "status"]);
    expect([screen.row, screen.column]).toEqual([3, 2]);
    region.erase();
    expect(screen.lines.slice(0, 3)).toEqual(["one", "two", "three"]);
  });

  it("leaves nothing of a frame in the history when it begins at the top of the window", () => {
    const { screen, region } = stage();
    region.draw([], { lines: ["starting", "status"] });
    region.draw(["one"], { lines: ["> ", "status"], cursor: { row: 0, column: 2 } });
    expect(screen.lines).toEqual(["one", "> ", "status"]);
    const again = stage();
    again.region.draw([], { lines: ["starting", "status"] });
    again.region.draw([], { lines: [] });
    again.region.draw([], { lines: ["more", "status"] });
    again.region.resized();
    again.region.draw([], { lines: ["most", "status"] });
    again.region.erase();
    expect([...screen.history, ...again.screen.history]).toEqual([]);
    expect(again.screen.lines).toEqual([""]);
  });

  it("writes nothing for a frame that is the same, and one piece for one that is not", () => {
    const { screen, region } = stage();
    const frame = { lines: ["a", "b"], cursor: { row: 1, column: 0 } };
    region.draw([], frame);
    const { writes } = screen;
    region.draw([], frame);
    expect(screen.writes).toBe(writes);
    region.draw([], { ...frame, lines: ["a", "c"] });
    expect(screen.writes).toBe(writes + 1);
  });

  it("leaves out the top of what does not fit the window", () => {
    const { screen, region } = stage(20, 4);
    region.draw([], { lines: ["1", "2", "3", "4", "5"] });
    expect(screen.lines).toEqual(["3", "4", "5"]);
  });
});

describe("clipStyled", () => {
  it("cuts what is seen, and ends styles", () => {
    expect(clipStyled("\u001b[31mabcdef\u001b[39m", 4)).toBe("\u001b[31mabc…\u001b[39m\u001b[0m");
    expect(clipStyled("\u001b[31mabc\u001b[39m", 4)).toBe("\u001b[31mabc\u001b[39m");
  });
});
